#pragma once

#include "cuda/scopes.hpp"

#include <cuda_runtime_api.h>

namespace refrain::cuda {

/// Copies host memory to the device and waits for it, on a stream of its own: `cudaMemcpy` would go through the legacy
/// stream, which disturbs captures on blocking streams.
inline void upload(int device, void* target, const void* source, std::size_t bytes) {
  const DeviceScope current(device);
  const CallScope call;
  cudaStream_t stream = nullptr;
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaError_t status = cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  ignore(cudaStreamDestroy(stream));
  check(status, "cudaMemcpyAsync");
}

}  // namespace refrain::cuda
