#pragma once

#include <cuda_runtime_api.h>

#include "kernels/args.hpp"
#include "kernels/cuda.cuh"

namespace refrain::kernels {

/// Launches a kernel of one parameter on a stream, adds it to a graph, or changes an executable's node.
template <class Params>
cudaError_t launch(void (*kernel)(Params), i64 grid, dim3 threads, Params params, const Target& target) {
  constexpr i64 most = 0x7fffffff;  // what a grid can have: more would be another number
  if (grid > most) return cudaErrorInvalidConfiguration;
  void* arguments[] = {&params};
  const void* function = reinterpret_cast<const void*>(kernel);
  const dim3 blocks(static_cast<unsigned>(grid));
  if (target.graph == nullptr && target.exec == nullptr) {
    return cudaLaunchKernel(function, blocks, threads, arguments, 0, target.stream);
  }
  cudaKernelNodeParams node{};
  node.func = const_cast<void*>(function);
  node.gridDim = blocks;
  node.blockDim = threads;
  node.kernelParams = arguments;
  if (target.exec != nullptr) return target.setter->set(target.exec, target.in, node);
  return cudaGraphAddKernelNode(target.node, target.graph, target.before, target.before_count, &node);
}

}  // namespace refrain::kernels
