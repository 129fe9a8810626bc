#pragma once

// Sums over warps and blocks: in float32, or in float64 and Refrain's order.

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

/// The sum of a row of a warp's, of 1024 elements in quads a warp apart, by halves: element i and i + 512, then i and
/// i + 256, and so on. What `value` makes of an element is summed. For all threads of the warp alike.
template <class Value>
__device__ double sum_in_order(const float4 (&x)[8], const Value& value) {
  const auto column = [&](const auto& element) {
    double sums[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) sums[k] = value(element(x[k]));
#pragma unroll
    for (int half = 4; half > 0; half /= 2) {
#pragma unroll
      for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
    }
    return sums[0];
  };
  const double a = column([](const float4& quad) { return quad.x; });
  const double b = column([](const float4& quad) { return quad.y; });
  const double c = column([](const float4& quad) { return quad.z; });
  const double d = column([](const float4& quad) { return quad.w; });
  const auto from = [](double sum, int distance) { return __shfl_xor_sync(~0U, sum, distance); };
  // Of the four columns a thread goes on with two, then with one, and its partner with the others.
  const bool is_upper = threadIdx.x % warp >= 16;
  const double left = (is_upper ? c : a) + from(is_upper ? a : c, 16);
  const double right = (is_upper ? d : b) + from(is_upper ? b : d, 16);
  const bool is_right = (threadIdx.x & 8) != 0;
  double sum = (is_right ? right : left) + from(is_right ? left : right, 8);
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) sum += from(sum, distance);
  sum += from(sum, 16);
  return sum + from(sum, 8);
}

}  // namespace
}  // namespace refrain::bench
