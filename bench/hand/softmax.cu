// softmax_4096x1024: a warp a row, which it keeps in registers from the one read to the one write.

#include "hand/hand.hpp"
#include "hand/sums.cuh"
#include "inputs.hpp"

#include <cmath>

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

constexpr int rows = static_cast<int>(matrix_rows);
constexpr int columns = static_cast<int>(matrix_columns);
constexpr int block = 256;
constexpr int rows_a_block = block / warp;
constexpr int grid = rows / rows_a_block;
constexpr int vectors = columns / (warp * 4);  // a thread
constexpr int elements = rows * columns;
constexpr std::size_t bytes = elements * sizeof(float);

static_assert(rows % rows_a_block == 0 && columns % (warp * 4) == 0);

template <bool is_in_order>
__global__ void __launch_bounds__(block) softmax(const float4* in, float4* out) {
  const int row = static_cast<int>(blockIdx.x) * rows_a_block + static_cast<int>(threadIdx.x) / warp;
  const int begin = row * (columns / 4) + static_cast<int>(threadIdx.x) % warp;
  float4 x[vectors];
#pragma unroll
  for (int k = 0; k < vectors; ++k) x[k] = in[begin + warp * k];
  float largest = -INFINITY;
#pragma unroll
  for (const float4& v : x) largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
#pragma unroll
  for (int half = 16; half > 0; half /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, half));
#pragma unroll
  for (float4& v : x) {
    v = {expf(v.x - largest), expf(v.y - largest), expf(v.z - largest), expf(v.w - largest)};
  }
  float total = 0;
  if constexpr (is_in_order) {
    total = static_cast<float>(sum_in_order(x, [](float power) { return static_cast<double>(power); }));
  } else {
#pragma unroll
    for (const float4& v : x) total += (v.x + v.y) + (v.z + v.w);
    total = sum_warp(total);
  }
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
    out[begin + warp * k] = {x[k].x / total, x[k].y / total, x[k].z / total, x[k].w / total};
  }
}

template <bool is_in_order>
RawProgram shares(int) {
  std::vector<float> values = numbers(elements);
  for (float& value : values) value *= 8;
  const auto in = make_device_array<float4>(elements / 4);
  const auto out = make_device_array<float4>(elements / 4);
  check(cudaMemcpy(in.get(), values.data(), bytes, cudaMemcpyHostToDevice));
  return {.step =
              [in, out](cudaStream_t stream) {
                launch(softmax<is_in_order>, grid, block, stream, static_cast<const float4*>(in.get()), out.get());
              },
          .results = {{out.get(), bytes}},
          .is_stateless = true,
          .tolerance = is_in_order ? rounding : 2e-6};
}

}  // namespace

std::vector<Baseline> hand_softmax() {
  return {hand_row("softmax_4096x1024", shares<false>),
          hand_row("softmax_4096x1024", shares<true>, "-order", in_order)};
}

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
