#pragma once

// Reductions in float32 by blocks of one size.

namespace refrain::bench {

inline constexpr int reduce_threads = 256;

namespace {

constexpr int warp = 32;

struct Larger {
  static constexpr float identity = -3.402823466e38F;
  __device__ float operator()(float x, float y) const { return fmaxf(x, y); }
};
struct Sum {
  static constexpr float identity = 0;
  __device__ float operator()(float x, float y) const { return x + y; }
};

template <class Op>
__device__ float reduce_warp(Op op, float value) {
  for (int distance = warp / 2; distance > 0; distance /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffff, value, distance));
  }
  return value;
}

/// The result for all threads of a block.
template <class Op>
__device__ float reduce_block(Op op, float value) {
  __shared__ float of_warps[reduce_threads / warp];
  const int lane = static_cast<int>(threadIdx.x) % warp;
  value = reduce_warp(op, value);
  __syncthreads();  // an earlier reduction's readers
  if (lane == 0) of_warps[threadIdx.x / warp] = value;
  __syncthreads();
  return reduce_warp(op, lane < reduce_threads / warp ? of_warps[lane] : Op::identity);
}

template <class Op>
__device__ float reduce_four(Op op, float4 x) {
  return op(op(x.x, x.y), op(x.z, x.w));
}

}  // namespace
}  // namespace refrain::bench
