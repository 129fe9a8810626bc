#pragma once

#include "cuda/check.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

// Functions of the driver, found while running: nothing links it.

namespace refrain::cuda {

/// The function of this name as CUDA 12.0 has it.
/// @throws Error when the driver has none
void* driver_function(const char* name);

/// Kernel nodes as the driver knows them: kernels of libraries are unknown to our runtime.
struct DriverGraphs {
  CUresult (*get_kernel_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
  CUresult (*add_kernel)(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_KERNEL_NODE_PARAMS*);
  CUresult (*set_kernel_params)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*);
  CUresult (*function_name)(const char**, CUfunction);
  CUresult (*kernel_name)(const char**, CUkernel);

  static const DriverGraphs& get();
};

/// The device of a stream, which may be capturing: `cudaStreamGetDevice` would invalidate that. Of the legacy stream
/// the current one.
int stream_device(cudaStream_t stream);

/// Results of the driver have the runtime's numbers.
inline void check(CUresult status, const char* expression, SourceLocation where = SourceLocation::current()) {
  check(static_cast<cudaError_t>(status), expression, where);
}

}  // namespace refrain::cuda
