#include "raw/handles.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace refrain::bench {

void check(cudaError_t status, SourceLocation where) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(cudaGetErrorName(status)) + " at " + where.str() + ": " +
                           cudaGetErrorString(status));
}

StreamHandle make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return {stream, [](cudaStream_t handle) { cudaStreamDestroy(handle); }};
}

EventHandle make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return {event, [](cudaEvent_t handle) { cudaEventDestroy(handle); }};
}

PoolHandle make_pool(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties));
  PoolHandle handle(pool, [](cudaMemPool_t owned) { cudaMemPoolDestroy(owned); });
  std::uint64_t threshold = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return handle;
}

std::shared_ptr<std::byte> make_device_bytes(std::size_t bytes) {
  void* address = nullptr;
  check(cudaMalloc(&address, bytes));
  return {static_cast<std::byte*>(address), [](std::byte* owned) { cudaFree(owned); }};
}

}  // namespace refrain::bench
