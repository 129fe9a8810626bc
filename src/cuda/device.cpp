#include "cuda/device.hpp"

#include "cuda/check.hpp"
#include "cuda/process_end.hpp"
#include "cuda/scopes.hpp"

#include <cuda_runtime_api.h>

namespace refrain::cuda {

namespace {

Devices find_devices() {
  Devices found;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    ignore(cudaGetLastError());
    found.why_none = status == cudaErrorInsufficientDriver ? "there is no CUDA driver, or it is older than the toolkit"
                     : status == cudaErrorNoDevice         ? "there is no GPU"
                                                           : std::string("CUDA says ") + cudaGetErrorString(status);
    return found;
  }
  if (count == 0) found.why_none = "there is no GPU";
  watch_process_end();
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    REFRAIN_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    found.properties.push_back({properties.name, properties.multiProcessorCount, properties.maxThreadsPerMultiProcessor,
                                properties.totalGlobalMem});
  }
  return found;
}

}  // namespace

const Devices& cuda_devices() {
  static const Devices& devices = *new Devices(find_devices());
  return devices;
}

int compute_capability(int device) {
  int major = 0;
  int minor = 0;
  REFRAIN_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  REFRAIN_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

std::pair<int, int> stream_priorities(int device) {
  const DeviceScope current(device);
  std::pair<int, int> range;
  REFRAIN_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&range.first, &range.second));
  return range;
}

bool has_several_devices() noexcept {
  static const bool several = [] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 1;
  }();
  return several;
}

std::atomic<bool>& has_exposed_streams() noexcept {
  static std::atomic<bool> any{false};
  return any;
}

int& strict_captures() noexcept {
  static thread_local int count = 0;
  return count;
}

}  // namespace refrain::cuda
