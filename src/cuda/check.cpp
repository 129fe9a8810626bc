#include "cuda/check.hpp"

#include "runtime/debugging.hpp"

#include <refrain/error.hpp>

#include <string>

namespace refrain::cuda {

namespace {

Errc code_of(cudaError_t status) noexcept {
  switch (status) {
    case cudaErrorMemoryAllocation: return Errc::out_of_memory;
    case cudaErrorNotReady: return Errc::not_ready;
    case cudaErrorInvalidValue: return Errc::invalid_value;
    case cudaErrorIllegalState: return Errc::illegal_state;
    case cudaErrorNotPermitted: return Errc::not_permitted;
    case cudaErrorNotSupported: return Errc::not_supported;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver: return Errc::no_device;
    case cudaErrorCudartUnloading: return Errc::shutting_down;
    // Sticky: the context is gone.
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorContained: return Errc::device_lost;
    default: break;
  }
  const int number = static_cast<int>(status);
  const bool is_capture_code = (number >= 900 && number <= 908) || status == cudaErrorGraphExecUpdateFailure;
  return is_capture_code ? static_cast<Errc>(number) : Errc::backend;
}

/// A kernel that was submitted earlier has failed, and CUDA says neither which nor anything else from now on.
std::string what_is_lost() {
  const bool is_known = runtime::synchronises_each();
  return "; the device is lost to this process, other devices go on. Submitted last: " +
         runtime::last_submissions(DeviceKind::cuda, is_known ? 1 : 4) +
         (is_known && runtime::replays_eagerly()
              ? ". That is the command that failed, or foreign work before it"
              : "; run again with REFRAIN_SYNC=1 and REFRAIN_EXECUTION=eager to learn which command failed");
}

}  // namespace

void check(cudaError_t status, const char* expression, SourceLocation where) {
  if (status == cudaSuccess) return;
  // Handled here: a later, unrelated cudaGetLastError of foreign code must not see it.
  ignore(cudaGetLastError());
  const Errc code = code_of(status);
  std::string reason = std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
  if (code == Errc::device_lost) reason += what_is_lost();
  throw Error(code, "cuda", expression, reason, where);
}

}  // namespace refrain::cuda
