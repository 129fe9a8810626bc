#include "cuda/check.hpp"

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

}  // namespace

void check(cudaError_t status, const char* expression, SourceLocation where) {
  if (status == cudaSuccess) return;
  // Handled here: a later, unrelated cudaGetLastError of foreign code must not see it.
  ignore(cudaGetLastError());
  throw Error(code_of(status), "cuda", expression,
              std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status), where);
}

}  // namespace refrain::cuda
