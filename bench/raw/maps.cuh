#pragma once

// Elementwise ops by hand, each a kernel: a thread reads and writes 16 bytes an array. One rounding an op, so that
// results are those of Refrain's ops bit for bit where the function is exact.

#include "raw/handles.hpp"

namespace refrain::bench {

inline constexpr int map_block = 256;

namespace {

struct Scale {
  float by;
  __device__ float operator()(float x) const { return x * by; }
};
struct Shift {
  float by;
  __device__ float operator()(float x) const { return x + by; }
};
struct Negate {
  __device__ float operator()(float x) const { return -x; }
};
struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};
struct Sqrt {
  __device__ float operator()(float x) const { return sqrtf(x); }
};
struct Erf {
  __device__ float operator()(float x) const { return erff(x); }
};
/// By one number that lies on the device.
struct DivideByElement {
  const float* divisor;
  __device__ float operator()(float x) const { return x / *divisor; }
};

struct Add {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Subtract {
  __device__ float operator()(float x, float y) const { return x - y; }
};
struct Multiply {
  __device__ float operator()(float x, float y) const { return x * y; }
};
struct Divide {
  __device__ float operator()(float x, float y) const { return x / y; }
};

template <class Op>
__global__ void map_one(Op op, const float4* in, float4* out, int quads) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= quads) return;
  const float4 x = in[i];
  out[i] = {op(x.x), op(x.y), op(x.z), op(x.w)};
}

template <class Op>
__global__ void map_two(Op op, const float4* left, const float4* right, float4* out, int quads) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= quads) return;
  const float4 x = left[i];
  const float4 y = right[i];
  out[i] = {op(x.x, y.x), op(x.y, y.y), op(x.z, y.z), op(x.w, y.w)};
}

/// `size`, a multiple of 4, elements that begin at multiples of 16 bytes; `out` may be `in`.
template <class Op>
void map(cudaStream_t stream, Op op, const float* in, float* out, int size) {
  const int quads = size / 4;
  launch(map_one<Op>, (quads + map_block - 1) / map_block, map_block, stream, op, quads_of(in), quads_of(out), quads);
}
template <class Op>
void map(cudaStream_t stream, Op op, const float* left, const float* right, float* out, int size) {
  const int quads = size / 4;
  launch(map_two<Op>, (quads + map_block - 1) / map_block, map_block, stream, op, quads_of(left), quads_of(right),
         quads_of(out), quads);
}

}  // namespace
}  // namespace refrain::bench
