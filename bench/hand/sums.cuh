#pragma once

// Sums in float32 over warps and blocks.

namespace refrain::bench {
namespace {

constexpr int warp = 32;

/// The sum of a warp's values, for all its threads alike.
__device__ float sum_warp(float value) {
#pragma unroll
  for (int distance = warp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(~0U, value, distance);
  return value;
}

/// The same of a block of so many warps. `parts`, shared memory, is for this sum alone.
template <int warps>
__device__ float sum_block(float value, float (&parts)[warps]) {
  value = sum_warp(value);
  if constexpr (warps > 1) {
    if (threadIdx.x % warp == 0) parts[threadIdx.x / warp] = value;
    __syncthreads();
    value = parts[0];
#pragma unroll
    for (int k = 1; k < warps; ++k) value += parts[k];
  }
  return value;
}

}  // namespace
}  // namespace refrain::bench
