#pragma once

// What workloads/ launches through Refrain and raw/ by plain CUDA: the same code in both.

namespace refrain::bench {

inline constexpr int own_block = 256;
constexpr int own_grid(int size) { return (size + own_block - 1) / own_block; }

namespace {

/// Reads and writes `size` float32 each.
__global__ void scale(const float* in, float factor, float* out, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) out[i] = in[i] * factor;
}

}  // namespace
}  // namespace refrain::bench
