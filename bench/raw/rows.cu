// softmax_4096x1024 and layernorm_gelu, a kernel for each op: a block takes a row, a thread four neighbours of it.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"
#include "raw/reduce.cuh"

namespace refrain::bench {
namespace {

constexpr int rows = static_cast<int>(matrix_rows);
constexpr int columns = static_cast<int>(matrix_columns);
constexpr int elements = rows * columns;
constexpr int block = reduce_threads;
static_assert(columns == 4 * block);
constexpr std::size_t bytes = elements * sizeof(float);

__device__ int place() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

template <class Op>
__global__ void reduce_rows(Op op, const float4* in, float scale, float* out) {
  const float result = reduce_block(op, reduce_four(op, in[place()]));
  if (threadIdx.x == 0) out[blockIdx.x] = result * scale;
}

/// The variance of each row: squares of distances from its mean.
__global__ void variance_rows(const float4* in, float* out) {
  const float4 x = in[place()];
  const float mean = reduce_block(Sum{}, reduce_four(Sum{}, x)) / columns;
  const float4 d{x.x - mean, x.y - mean, x.z - mean, x.w - mean};
  const float squares = reduce_block(Sum{}, (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w));
  if (threadIdx.x == 0) out[blockIdx.x] = squares / columns;
}

/// Each row with its own number.
template <class Op>
__global__ void map_rows(Op op, const float4* in, const float* of_rows, float4* out) {
  const float4 x = in[place()];
  const float y = of_rows[blockIdx.x];
  out[place()] = {op(x.x, y), op(x.y, y), op(x.z, y), op(x.w, y)};
}

/// Each row with the same row.
template <class Op>
__global__ void map_columns(Op op, const float4* in, const float4* row, float4* out) {
  const float4 x = in[place()];
  const float4 y = row[threadIdx.x];
  out[place()] = {op(x.x, y.x), op(x.y, y.y), op(x.z, y.z), op(x.w, y.w)};
}

struct ReciprocalRoot {
  __device__ float operator()(float x) const { return rsqrtf(x); }
};
struct Gelu {
  __device__ float operator()(float x) const { return x * 0.5F * (1 + erff(x * 0.70710678F)); }
};

/// Ops on a matrix, in the order of their calls.
class RowOps {
 public:
  explicit RowOps(cudaStream_t stream) : stream_(stream) {}

  template <class Op>
  void reduce(Op op, const float* in, float scale, float* out) const {
    launch(reduce_rows<Op>, rows, block, stream_, op, quads_of(in), float{scale}, out);
  }
  void variance(const float* in, float* out) const { launch(variance_rows, rows, block, stream_, quads_of(in), out); }
  template <class Op>
  void with_rows(Op op, const float* in, const float* of_rows, float* out) const {
    launch(map_rows<Op>, rows, block, stream_, op, quads_of(in), of_rows, quads_of(out));
  }
  template <class Op>
  void with_columns(Op op, const float* in, const float* row, float* out) const {
    launch(map_columns<Op>, rows, block, stream_, op, quads_of(in), quads_of(row), quads_of(out));
  }

 private:
  cudaStream_t stream_;
};

RawProgram softmax(int) {
  std::vector<float> values = numbers(elements);
  for (float& value : values) value *= 8;
  const auto result = make_device_array<float>(elements);
  return {.step =
              [x = make_device_copy(values), result, of_rows = make_device_array<float>(rows)](cudaStream_t stream) {
                const RowOps ops(stream);
                ops.reduce(Larger{}, x.get(), 1, of_rows.get());
                ops.with_rows(Subtract{}, x.get(), of_rows.get(), result.get());
                map(stream, Exp{}, result.get(), result.get(), elements);
                ops.reduce(Sum{}, result.get(), 1, of_rows.get());
                ops.with_rows(Divide{}, result.get(), of_rows.get(), result.get());
              },
          .results = {{result.get(), bytes}},
          .is_stateless = true,
          .has_nodes_of_its_own = true,
          .tolerance = 2e-6};
}

RawProgram layernorm_gelu(int) {
  const auto result = make_device_array<float>(elements);
  return {.step =
              [x = make_device_copy(numbers(elements)), scale = make_device_copy(norm_scale()),
               shift = make_device_copy(norm_shift()), result,
               of_rows = make_device_array<float>(rows)](cudaStream_t stream) {
                const RowOps ops(stream);
                ops.reduce(Sum{}, x.get(), 1.0F / columns, of_rows.get());
                ops.with_rows(Subtract{}, x.get(), of_rows.get(), result.get());
                ops.variance(x.get(), of_rows.get());
                map(stream, Shift{norm_epsilon}, of_rows.get(), of_rows.get(), rows);
                map(stream, ReciprocalRoot{}, of_rows.get(), of_rows.get(), rows);
                ops.with_rows(Multiply{}, result.get(), of_rows.get(), result.get());
                ops.with_columns(Multiply{}, result.get(), scale.get(), result.get());
                ops.with_columns(Add{}, result.get(), shift.get(), result.get());
                map(stream, Gelu{}, result.get(), result.get(), elements);
              },
          .results = {{result.get(), bytes}},
          .is_stateless = true,
          .has_nodes_of_its_own = true,
          .tolerance = 1e-5};
}

}  // namespace

std::vector<Baseline> raw_rows() {
  return {raw_graph("softmax_4096x1024", softmax), raw_graph("layernorm_gelu", layernorm_gelu)};
}

}  // namespace refrain::bench
