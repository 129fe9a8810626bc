#pragma once

// CUDA calls whose signatures differ between 12.5 and 13.

#include "cuda/check.hpp"

#include <cuda_runtime_api.h>

#include <span>

namespace refrain::cuda {

/// The nodes that the next work of a capturing stream depends on. Valid until the stream's next call.
inline std::span<const cudaGraphNode_t> capture_dependencies(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count));
#else
  REFRAIN_CUDA_CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &nodes, &count));
#endif
  // An invalidated capture has no nodes to depend on, and says so here only by its status.
  if (status != cudaStreamCaptureStatusActive) check(cudaErrorStreamCaptureInvalidated, "cudaStreamGetCaptureInfo");
  return {nodes, count};
}

/// Adds to those nodes, or replaces them.
inline void update_capture_dependencies(cudaStream_t stream, std::span<cudaGraphNode_t> nodes, unsigned flags) {
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nullptr, nodes.size(), flags));
#else
  REFRAIN_CUDA_CHECK(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nodes.size(), flags));
#endif
}

}  // namespace refrain::cuda
