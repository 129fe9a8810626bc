// layernorm_gelu: a block takes a row, which it keeps in registers from the one read to the one write.

#include "hand/hand.hpp"
#include "hand/sums.cuh"
#include "inputs.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

constexpr int rows = static_cast<int>(matrix_rows);
constexpr int columns = static_cast<int>(matrix_columns);
constexpr int elements = rows * columns;

// Few elements a thread, so that the reads of one row overlap with the arithmetic of others, of which there is as much
// as of memory traffic.
constexpr int row_warps = 4;
constexpr int block = row_warps * warp;
constexpr int quads = columns / (4 * block);  // a thread
static_assert(columns % (4 * block) == 0);

__device__ float gelu(float x) { return 0.5F * x * (1 + erff(x * 0.70710678118654752F)); }

__global__ void __launch_bounds__(block)
    normalise(const float4* in, const float4* scale, const float4* shift, float4* out) {
  __shared__ float of_sum[row_warps];
  __shared__ float of_squares[row_warps];
  const int first = static_cast<int>(blockIdx.x) * (columns / 4) + static_cast<int>(threadIdx.x);
  float4 x[quads];
#pragma unroll
  for (int k = 0; k < quads; ++k) x[k] = in[first + k * block];

  float sum = 0;
#pragma unroll
  for (const float4& v : x) sum += (v.x + v.y) + (v.z + v.w);
  const float mean = sum_block(sum, of_sum) / columns;
  float squares = 0;
#pragma unroll
  for (float4& v : x) {
    v = {v.x - mean, v.y - mean, v.z - mean, v.w - mean};
    squares += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
  }
  const float inverse = rsqrtf(sum_block(squares, of_squares) / columns + norm_epsilon);

#pragma unroll
  for (int k = 0; k < quads; ++k) {
    const float4 a = scale[threadIdx.x + k * block];
    const float4 b = shift[threadIdx.x + k * block];
    const float4 v = x[k];
    out[first + k * block] = {gelu(v.x * inverse * a.x + b.x), gelu(v.y * inverse * a.y + b.y),
                              gelu(v.z * inverse * a.z + b.z), gelu(v.w * inverse * a.w + b.w)};
  }
}

// The same in Refrain's order, a warp a row.
constexpr int rows_a_block = 4;
static_assert(columns == 1024 && rows % rows_a_block == 0);

__global__ void __launch_bounds__(rows_a_block* warp)
    normalise_in_order(const float4* in, const float4* scale, const float4* shift, float4* out) {
  const int row = static_cast<int>(blockIdx.x) * rows_a_block + static_cast<int>(threadIdx.x) / warp;
  const int lane = static_cast<int>(threadIdx.x) % warp;
  const int first = row * (columns / 4) + lane;
  float4 x[columns / (4 * warp)];
#pragma unroll
  for (int k = 0; k < columns / (4 * warp); ++k) x[k] = in[first + k * warp];
  const double total = sum_in_order(x, [](float element) { return static_cast<double>(element); });
  const auto mean = static_cast<float>(total / columns);
  const double squares = sum_in_order(x, [mean](float element) {
    const double distance = static_cast<double>(element) - static_cast<double>(mean);
    return distance * distance;
  });
  const float inverse = 1 / sqrtf(static_cast<float>(squares / columns) + norm_epsilon);
#pragma unroll
  for (int k = 0; k < columns / (4 * warp); ++k) {
    const float4 a = scale[lane + k * warp];
    const float4 b = shift[lane + k * warp];
    const float4 v = x[k];
    out[first + k * warp] = {gelu((v.x - mean) * inverse * a.x + b.x), gelu((v.y - mean) * inverse * a.y + b.y),
                             gelu((v.z - mean) * inverse * a.z + b.z), gelu((v.w - mean) * inverse * a.w + b.w)};
  }
}

template <bool is_in_order>
RawProgram layernorm_gelu(int) {
  const auto out = make_device_array<float>(elements);
  return {.step =
              [x = make_device_copy(numbers(elements)), scale = make_device_copy(norm_scale()),
               shift = make_device_copy(norm_shift()), out](cudaStream_t stream) {
                launch(is_in_order ? normalise_in_order : normalise, is_in_order ? rows / rows_a_block : rows,
                       is_in_order ? rows_a_block * warp : block, stream, quads_of(static_cast<const float*>(x.get())),
                       quads_of(static_cast<const float*>(scale.get())),
                       quads_of(static_cast<const float*>(shift.get())), quads_of(out.get()));
              },
          .results = {{out.get(), elements * sizeof(float)}},
          .is_stateless = true,
          .tolerance = is_in_order ? rounding : 2e-6};
}

}  // namespace

std::vector<Baseline> hand_layernorm_gelu() {
  return {hand_row("layernorm_gelu", layernorm_gelu<false>),
          hand_row("layernorm_gelu", layernorm_gelu<true>, "-order", in_order)};
}

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
