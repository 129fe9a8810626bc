#pragma once

#include "kernels/config.hpp"

namespace refrain::kernels {

/// The sum of what the block's threads have, whole warps of them, for thread 0. NVRTC takes this file.
__device__ inline u64 block_sum(u64 value) {
  __shared__ u64 of_warps[32];
  for (int half = 16; half > 0; half /= 2) value += __shfl_down_sync(~0u, value, half);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  u64 total = 0;
  if (threadIdx.x == 0) {
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) total += of_warps[warp];
  }
  __syncthreads();
  return total;
}

}  // namespace refrain::kernels
