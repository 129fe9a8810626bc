#pragma once

#include <cuda_runtime_api.h>

#include "kernels/args.hpp"

namespace refrain::kernels {

/// Launches a kernel of one parameter.
template <class Params>
cudaError_t launch(void (*kernel)(Params), i64 grid, int block, Params params, cudaStream_t stream) {
  void* arguments[] = {&params};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(grid)),
                          dim3(static_cast<unsigned>(block)), arguments, 0, stream);
}

}  // namespace refrain::kernels
