#include "kernels/reduce.cuh"

// softmax: one kernel for each way to lay rows out. The maximum is that of any order, as it is exact.

namespace refrain::kernels {
namespace {

/// A row's first elements, in and out.
template <class In>
struct SoftmaxRow {
  const In* in;
  In* out;

  __device__ SoftmaxRow(const ReduceArgs& args, i64 row)
      : in(static_cast<const In*>(args.in) + row_offset(args, row)),
        out(static_cast<In*>(args.out) + offset_along(args.kept_ndim, args.kept_extents, args.out_kept_strides, row)) {}
};

template <class In>
__device__ void load_wide(const SoftmaxRow<In>& row, const ReduceArgs& args, int i, bool vectors,
                          Wide<In> (&x)[vector_width]) {
  const int n = static_cast<int>(args.n);
  if (vectors && i + vector_width <= n) {
    const auto loaded = *reinterpret_cast<const Elements<In>*>(row.in + i);
#pragma unroll
    for (int j = 0; j < vector_width; ++j) x[j] = convert<Wide<In>>(loaded.at[j]);
    return;
  }
#pragma unroll
  for (int j = 0; j < vector_width; ++j) {
    x[j] = i + j < n ? convert<Wide<In>>(row.in[element_offset(args, i + j)]) : least_value<Wide<In>>();
  }
}

template <class In>
__device__ void store_shares(const SoftmaxRow<In>& row, const ReduceArgs& args, int i, bool vectors,
                             const Wide<In> (&powers)[vector_width], double total) {
  const int n = static_cast<int>(args.n);
  if (vectors && i + vector_width <= n) {
    Elements<In> shares;
#pragma unroll
    for (int j = 0; j < vector_width; ++j) shares.at[j] = Softmax<In>::share(powers[j], total);
    *reinterpret_cast<Elements<In>*>(row.out + i) = shares;
    return;
  }
#pragma unroll
  for (int j = 0; j < vector_width; ++j) {
    if (i + j < n) row.out[(i + j) * args.out_stride] = Softmax<In>::share(powers[j], total);
  }
}

/// The largest of a group of threads, for all of them.
template <class T>
__device__ T group_maximum(T largest, int group) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    if (half < group) largest = math::maximum(largest, shuffle_xor(largest, half));
  }
  return largest;
}

/// Sums, for all threads of a group, a part of a warp, lanes of which thread t has the four from 4 t on.
__device__ double group_total(double (&lanes)[vector_width], int group) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    if (half >= group) continue;
#pragma unroll
    for (double& lane : lanes) lane += shuffle_xor(lane, half);
  }
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// Element j of vectors first, first + step, ...: their sum by halves.
template <int first, int step, class T, int vectors>
__device__ __forceinline__ double sum_of_vectors(const T (&x)[vectors][vector_width], int j) {
  if constexpr (step >= vectors) {
    return static_cast<double>(x[first][j]);
  } else {
    return sum_of_vectors<first, 2 * step>(x, j) + sum_of_vectors<first + step, 2 * step>(x, j);
  }
}

/// How many threads do a row of n elements, four each.
__host__ __device__ inline int group_of(i64 n) { return 1 << exponent_above((n + vector_width - 1) / vector_width); }

/// A warp, or less of it, a row; thread t has elements 4 t + j + 128 k, k < vectors. Reads and writes each element
/// once. Enough of them fit that 4096 rows of 1024 float32 are done in one turn by 132 multiprocessors.
template <class In, int vectors>
__global__ void __launch_bounds__(row_threads, sizeof(Wide<In>) == 4 ? 4 : 2)
    softmax_rows(const __grid_constant__ ReduceArgs args) {
  using T = Wide<In>;
  const int group = vectors > 1 ? 32 : group_of(args.n);
  const i64 number = (static_cast<i64>(blockIdx.x) * row_threads + threadIdx.x) / group;
  const bool is_own = number < args.rows;
  const SoftmaxRow<In> row(args, is_own ? number : args.rows - 1);
  const int begin = static_cast<int>(threadIdx.x) % group * vector_width;
  const bool from_vectors = are_dense(args) && is_vector(row.in);
  T x[vectors][vector_width];
#pragma unroll
  for (int k = 0; k < vectors; ++k) load_wide(row, args, begin + 128 * k, from_vectors, x[k]);
  T largest = least_value<T>();
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
#pragma unroll
    for (const T each : x[k]) largest = math::maximum(largest, each);
  }
  const auto fold = Softmax<In>::second(group_maximum(largest, group));
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
#pragma unroll
    for (int j = 0; j < vector_width; ++j) {
      const bool is_there = begin + 128 * k + j < args.n;
      x[k][j] = is_there ? math::exp(x[k][j] - fold.shift) : T{0};
    }
  }
  double sums[vector_width];
#pragma unroll
  for (int j = 0; j < vector_width; ++j) sums[j] = sum_of_vectors<0, 1>(x, j);
  const double total = vectors > 1 ? combine_warp(fold, sums) : group_total(sums, group);
  if (!is_own) return;
  const bool to_vectors = args.out_stride == 1 && is_vector(row.out);
#pragma unroll
  for (int k = 0; k < vectors; ++k) store_shares(row, args, begin + 128 * k, to_vectors, x[k], total);
}

/// Elements of a row that a warp has at a time.
constexpr int warp_step = 32 * vector_width;

/// The larger, but not NaN where the other is not: its power, which is NaN, makes the row NaN anyway.
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline double larger(double a, double b) { return fmax(a, b); }

/// As softmax_rows, of rows of `vectors` whole steps, dense and aligned: no bounds, so that all is in registers.
template <class In, int vectors>
__global__ void __launch_bounds__(row_threads, sizeof(Wide<In>) == 4 ? 4 : 2)
    softmax_whole_rows(const __grid_constant__ ReduceArgs args) {
  using T = Wide<In>;
  const i64 number = (static_cast<i64>(blockIdx.x) * row_threads + threadIdx.x) / 32;
  if (number >= args.rows) return;
  const SoftmaxRow<In> row(args, number);
  const int begin = static_cast<int>(threadIdx.x) % 32 * vector_width;
  T x[vectors][vector_width];
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
    const auto loaded = *reinterpret_cast<const Elements<In>*>(row.in + begin + warp_step * k);
#pragma unroll
    for (int j = 0; j < vector_width; ++j) x[k][j] = convert<T>(loaded.at[j]);
  }
  T largest = least_value<T>();
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
#pragma unroll
    for (const T each : x[k]) largest = larger(largest, each);
  }
#pragma unroll
  for (int half = 16; half > 0; half /= 2) largest = larger(largest, shuffle_xor(largest, half));
  const auto fold = Softmax<In>::second(largest);
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
#pragma unroll
    for (T& each : x[k]) each = math::exp(each - fold.shift);
  }
  double sums[vector_width];
#pragma unroll
  for (int j = 0; j < vector_width; ++j) sums[j] = sum_of_vectors<0, 1>(x, j);
  const double total = combine_warp(fold, sums);
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
    Elements<In> shares;
#pragma unroll
    for (int j = 0; j < vector_width; ++j) shares.at[j] = Softmax<In>::share(x[k][j], total);
    *reinterpret_cast<Elements<In>*>(row.out + begin + warp_step * k) = shares;
  }
}

/// Whether softmax_whole_rows takes them.
bool are_whole(const ReduceArgs& args) {
  if (!are_dense(args) || args.out_stride != 1) return false;
  const i64 bytes = element_size(args.in_type) * vector_width < 16 ? element_size(args.in_type) * vector_width : 16;
  bool all = reinterpret_cast<u64>(args.in) % static_cast<u64>(bytes) == 0 &&
             reinterpret_cast<u64>(args.out) % static_cast<u64>(bytes) == 0;
  for (int axis = 0; axis < args.kept_ndim; ++axis) {
    all = all && args.kept_strides[axis] % vector_width == 0 && args.out_kept_strides[axis] % vector_width == 0;
  }
  return all;
}

/// A block a row of one chunk; a thread has what it has in reduce_blocks. Reads and writes each element once.
template <class In>
__global__ void __launch_bounds__(chunk_threads) softmax_chunks(const __grid_constant__ ReduceArgs args) {
  using T = Wide<In>;
  constexpr int turns = reduce_chunk / reduce_lanes;
  constexpr int stride = static_cast<int>(reduce_lanes);
  const SoftmaxRow<In> row(args, blockIdx.x);
  const int begin = static_cast<int>(threadIdx.x) * vector_width;
  const int n = static_cast<int>(args.n);
  const bool from_vectors = are_dense(args) && is_vector(row.in);
  T x[turns][vector_width];
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) load_wide(row, args, begin + stride * turn, from_vectors, x[turn]);
  T largest = least_value<T>();
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (const T each : x[turn]) largest = math::maximum(largest, each);
  }
  __shared__ T of_warps[chunk_threads / 32];
  largest = group_maximum(largest, 32);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = largest;
  __syncthreads();
#pragma unroll
  for (const T each : of_warps) largest = math::maximum(largest, each);

  const auto fold = Softmax<In>::second(largest);
  double lanes[vector_width] = {};
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int j = 0; j < vector_width; ++j) {
      if (begin + stride * turn + j >= n) continue;
      x[turn][j] = math::exp(x[turn][j] - fold.shift);
      lanes[j] += static_cast<double>(x[turn][j]);
    }
  }
  const double total = combine_block(fold, lanes);
  const bool to_vectors = args.out_stride == 1 && is_vector(row.out);
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) store_shares(row, args, begin + stride * turn, to_vectors, x[turn], total);
}

/// Elements first, first + step, ... of a row, by the powers' fold and their sum.
template <class In>
__device__ void write_shares(const SoftmaxRow<In>& row, const ReduceArgs& args, const Powers<In>& fold, double total,
                             i64 first, i64 step) {
#pragma unroll 4
  for (i64 i = first; i < args.n; i += step) {
    row.out[i * args.out_stride] = Softmax<In>::share(fold.power(row.in[element_offset(args, i)]), total);
  }
}

/// A block a row of more chunks. Reads each element three times.
template <class In>
__global__ void __launch_bounds__(chunk_threads) softmax_long_rows(const __grid_constant__ ReduceArgs args) {
  const SoftmaxRow<In> row(args, blockIdx.x);
  const auto fold = Softmax<In>::second(block_broadcast(reduce_span(Extreme<In>(args), args, row.in, 0, args.n)));
  const double total = block_broadcast(reduce_span(fold, args, row.in, 0, args.n));
  write_shares(row, args, fold, total, threadIdx.x, chunk_threads);
}

/// Rows of one chunk that lie side by side, as in reduce_lanes_kernel. Reads each element three times.
template <class In>
__global__ void __launch_bounds__(column_threads) softmax_columns(const __grid_constant__ LaneParams params) {
  const ReduceArgs& args = params.args;
  const LaneSpot spot = lane_spot<Rows::side_by_side>(params);
  const SoftmaxRow<In> row(args, spot.row);
  const auto reduce = [&](const auto& fold) {
    const auto own =
        reduce_own_lanes<Rows::side_by_side>(fold, args, row.in, 0, static_cast<int>(args.n), spot.y, params.lanes);
    return row_broadcast<Rows::side_by_side>(params, spot, combine_row<Rows::side_by_side>(fold, params, spot, own));
  };
  const auto fold = Softmax<In>::second(reduce(Extreme<In>(args)));
  const double total = reduce(fold);
  if (spot.is_own) write_shares(row, args, fold, total, spot.y, params.lanes);
}

struct SoftmaxKernels {
  void (*short_rows)(ReduceArgs);
  void (*rows)(ReduceArgs);
  void (*whole_rows[3])(ReduceArgs);  ///< of 256, 512 and 1024 elements
  void (*chunks)(ReduceArgs);
  void (*long_rows)(ReduceArgs);
  void (*columns)(LaneParams);
};

template <class In>
SoftmaxKernels kernels_of() {
  return {softmax_rows<In, 1>,
          softmax_rows<In, 8>,
          {softmax_whole_rows<In, 2>, softmax_whole_rows<In, 4>, softmax_whole_rows<In, 8>},
          softmax_chunks<In>,
          softmax_long_rows<In>,
          softmax_columns<In>};
}

SoftmaxKernels find_kernels(Type type) {
  switch (type) {
    case Type::float16: return kernels_of<Half>();
    case Type::bfloat16: return kernels_of<BFloat>();
    case Type::float32: return kernels_of<float>();
    default: return kernels_of<double>();
  }
}

}  // namespace

cudaError_t launch_softmax(const ReduceArgs& args, const Target& target) {
  const SoftmaxKernels kernels = find_kernels(args.in_type);
  constexpr i64 short_row = 32 * vector_width;
  if (are_columns(args)) {
    const LaneParams params = column_params(args);
    return launch(kernels.columns, column_blocks(params), params.rows * params.lanes, params, target);
  }
  if (args.n <= short_row) {
    const i64 rows = row_threads / group_of(args.n);
    return launch(kernels.short_rows, (args.rows + rows - 1) / rows, row_threads, args, target);
  }
  if (args.n <= reduce_lanes) {
    constexpr i64 rows = row_threads / 32;
    auto* kernel = kernels.rows;
    for (int i = 0; i < 3; ++i) {
      if (args.n == i64{2 * warp_step} << i && are_whole(args)) kernel = kernels.whole_rows[i];
    }
    return launch(kernel, (args.rows + rows - 1) / rows, row_threads, args, target);
  }
  return launch(args.n <= reduce_chunk ? kernels.chunks : kernels.long_rows, args.rows, chunk_threads, args, target);
}

}  // namespace refrain::kernels
