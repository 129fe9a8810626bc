#pragma once

#include "kernels/reduce_threads.cuh"

// A block reduces several rows of one chunk, or chunks of rows that lie side by side: a thread has some lanes of one.

namespace refrain::kernels {

inline constexpr int row_threads = 256;
inline constexpr int column_threads = 1024;

/// Rows of a block, and threads of a row: powers of two. A thread has the lanes y, y + lanes, ....
struct LaneParams {
  ReduceArgs args;
  int rows;
  int lanes;
  i64 tiles;  ///< of columns: blocks that the innermost kept axis takes
};

/// Where the threads of a block's rows are.
enum class Rows {
  apart,        ///< a row's threads are neighbours, in one warp
  side_by_side  ///< rows lie side by side, and so do their threads: columns
};

/// What a thread works at. Threads that have none work at the last one, and do not store.
struct LaneSpot {
  i64 row;
  i64 chunk;
  int x;  ///< the row's number in the block
  int y;
  bool is_own;
};

template <Rows rows>
__device__ LaneSpot lane_spot(const LaneParams& params) {
  const int thread = static_cast<int>(threadIdx.x);
  const ReduceArgs& args = params.args;
  if constexpr (rows == Rows::apart) {
    const int x = thread / params.lanes;
    const i64 row = static_cast<i64>(blockIdx.x) * params.rows + x;
    return {row < args.rows ? row : args.rows - 1, 0, x, thread - x * params.lanes, row < args.rows};
  } else {
    const int y = thread / params.rows;
    const int x = thread - y * params.rows;
    const i64 extent = args.kept_extents[args.kept_ndim - 1];
    const i64 rest = divide(blockIdx.x, args.chunks);
    const i64 line = divide(rest, params.tiles);
    const i64 column = (rest - line * params.tiles) * params.rows + x;
    const bool is_own = column < extent;
    return {line * extent + (is_own ? column : extent - 1), static_cast<i64>(blockIdx.x) - rest * args.chunks, x, y,
            is_own};
  }
}

/// Lanes of which a thread has one after another: 32, where a row has 32 threads.
inline constexpr int own_lanes_depth = 5;

/// What the thread's lanes of a whole chunk of a column give, a lane at a time, all of whose elements are loaded before
/// they are taken: 8192 columns of 8192 float32 take 310 us on an H200 where each element is asked whether it is there.
template <class F>
__device__ typename F::Acc reduce_whole_lanes(const F& fold, const ReduceArgs& args,
                                              const Stored<typename F::In>* first, i64 begin, int y, int lanes) {
  constexpr int turns = static_cast<int>(reduce_chunk / reduce_lanes);
  Halves<F, own_lanes_depth> halves;
  const int bits = exponent_above(reduce_lanes / lanes);
  auto acc = F::identity();
#pragma unroll 1
  for (int step = 0; step < 1 << bits; ++step) {
    const i64 position = begin + y + lanes * reversed(step, bits);
    typename F::Element elements[turns];
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const i64 at = position + turn * reduce_lanes;
      elements[turn] = fold.load(first, at * args.reduced_strides[0], at);
    }
    acc = F::identity();
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) acc = fold.take(acc, elements[turn], position + turn * reduce_lanes);
    acc = halves.add(fold, step, acc);
  }
  return acc;
}

/// What the thread's lanes of elements [begin, begin + count) of a row give: by halves, as reduce.hpp has it, but depth
/// first. So many elements are loaded before they are taken.
template <Rows rows, class F>
__device__ typename F::Acc reduce_own_lanes(const F& fold, const ReduceArgs& args, const Stored<typename F::In>* first,
                                            i64 begin, int count, int y, int lanes) {
  if constexpr (rows == Rows::side_by_side) {
    if (count == reduce_chunk) return reduce_whole_lanes(fold, args, first, begin, y, lanes);
  }
  constexpr int ahead = sizeof(typename F::Element) > 8 ? 4 : 8;
  Halves<F, own_lanes_depth> halves;
  int bits = 0;  // lanes of which all are empty are left out
  while (lanes << bits < count && lanes << bits < reduce_lanes) ++bits;
  const int turn_bits = exponent_above((count + reduce_lanes - 1) / reduce_lanes);
  const int last_turn = (1 << turn_bits) - 1;
  const int steps = 1 << (bits + turn_bits);
  const auto element_of = [&](int step) {
    return y + lanes * reversed(step >> turn_bits, bits) + static_cast<int>(reduce_lanes) * (step & last_turn);
  };
  auto acc = F::identity();
  for (int step = 0; step < steps; step += ahead) {
    typename F::Element elements[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const int i = element_of(step + k);
      if (step + k < steps && i < count) {
        elements[k] = fold.load(first, element_offset(args, begin + i), begin + i);
      }
    }
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (step + k < steps) {
        const int i = element_of(step + k);
        const int turn = (step + k) & last_turn;
        if (turn == 0) acc = F::identity();
        if (i < count) acc = fold.take(acc, elements[k], begin + i);
        if (turn == last_turn) acc = halves.add(fold, (step + k) >> turn_bits, acc);
      }
    }
  }
  return acc;
}

/// Vectors that a warp's threads have of a row of reduce_lanes elements.
inline constexpr int row_vectors = static_cast<int>(reduce_lanes) / (32 * vector_width);

/// Lane j of vectors first, first + step, ..., by halves: a lane an element, or none.
template <int first, int step, class F>
__device__ __forceinline__ typename F::Acc combine_vectors(const F& fold,
                                                           const typename F::Element (&x)[row_vectors][vector_width],
                                                           int j, int begin, int count) {
  if constexpr (step >= row_vectors) {
    const int i = begin + 32 * vector_width * first;
    return i < count ? fold.take(F::identity(), x[first][j], i + j) : F::identity();
  } else {
    return fold.combine(combine_vectors<first, 2 * step>(fold, x, j, begin, count),
                        combine_vectors<first + step, 2 * step>(fold, x, j, begin, count));
  }
}

/// A row of `count` elements, whole vectors and reduce_lanes at most, by a warp: thread t has elements 4 t + j + 128 k.
/// The first thread has the result.
template <class F>
__device__ typename F::Acc reduce_vector_row(const F& fold, const Stored<typename F::In>* first, int count) {
  const int begin = static_cast<int>(threadIdx.x) % 32 * vector_width;
  typename F::Element x[row_vectors][vector_width];
#pragma unroll
  for (int k = 0; k < row_vectors; ++k) {
    const int i = begin + 32 * vector_width * k;
    if (i < count) load_vector(fold, first, i, i, x[k]);
  }
  typename F::Acc lanes[vector_width];
#pragma unroll
  for (int j = 0; j < vector_width; ++j) lanes[j] = combine_vectors<0, 1>(fold, x, j, begin, count);
  return combine_warp(fold, lanes);
}

/// Combines what a row's threads have. The first of them has the result.
template <Rows rows, class F>
__device__ typename F::Acc combine_row(const F& fold, const LaneParams& params, const LaneSpot& spot,
                                       typename F::Acc acc) {
  if constexpr (rows == Rows::apart) {
    return combine_group(fold, acc, params.lanes);
  } else {
    __shared__ typename F::Acc handed[column_threads / 2];
    for (int half = params.lanes / 2; half > 0; half /= 2) {
      if (spot.y >= half && spot.y < 2 * half) handed[(spot.y - half) * params.rows + spot.x] = acc;
      __syncthreads();
      if (spot.y < half) acc = fold.combine(acc, handed[spot.y * params.rows + spot.x]);
      __syncthreads();
    }
    return acc;
  }
}

/// What a row's first thread has, for all of the row's.
template <Rows rows, class T>
__device__ T row_broadcast(const LaneParams& params, const LaneSpot& spot, T value) {
  if constexpr (rows == Rows::apart) {
    return shuffle_from(value, static_cast<int>(threadIdx.x) % 32 - spot.y);
  } else {
    __shared__ T handed[column_threads];
    if (spot.y == 0) handed[spot.x] = value;
    __syncthreads();
    value = handed[spot.x];
    __syncthreads();
    return value;
  }
}

/// Reads each element once a pass. Rows that lie apart and columns are kernels of their own: what either needs of
/// registers, the other would go without.
template <class P, Rows rows>
__global__ void __launch_bounds__(rows == Rows::apart ? row_threads : column_threads)
    reduce_lanes_kernel(const __grid_constant__ LaneParams params) {
  const ReduceArgs& args = params.args;
  const LaneSpot spot = lane_spot<rows>(params);
  const i64 begin = spot.chunk * reduce_chunk;
  const int count = static_cast<int>(args.n - begin < reduce_chunk ? args.n - begin : reduce_chunk);
  const auto* first = static_cast<const Stored<typename P::In>*>(args.in) + row_offset(args, spot.row);
  const auto reduce = [&](const auto& fold, i64 from, int elements) {
    if constexpr (rows == Rows::apart) {
      const bool is_warps = params.lanes == 32 && elements % vector_width == 0;
      if (is_warps && has_vectors(fold, args, first)) return reduce_vector_row(fold, first, elements);
    }
    const auto own = reduce_own_lanes<rows>(fold, args, first, from, elements, spot.y, params.lanes);
    return combine_row<rows>(fold, params, spot, own);
  };
  const i64 at = spot.row * args.chunks + spot.chunk;
  if constexpr (P::passes == 1) {
    const P fold(args);
    const auto acc = reduce(fold, begin, count);
    if (spot.y == 0 && spot.is_own) fold.store(args, at, acc);
  } else {
    // Without `other` there is one chunk.
    const auto fold =
        args.other != nullptr
            ? P::known(args, spot.row)
            : P::second(args, row_broadcast<rows>(params, spot, reduce(typename P::First(args), 0, count)));
    const auto acc = reduce(fold, begin, count);
    if (spot.y == 0 && spot.is_own) fold.store(args, at, acc);
  }
}

/// For rows that lie side by side: 32 of them a block, so that a warp reads whole cache lines; more where they are so
/// short that 32 would not fill it, fewer where there are no more.
inline LaneParams column_params(const ReduceArgs& args) {
  const i64 extent = args.kept_extents[args.kept_ndim - 1];
  const int lanes = 1 << exponent_above(args.n < reduce_lanes ? args.n : reduce_lanes);
  const int widest = column_threads / lanes > 32 ? column_threads / lanes : 32;
  const int rows = extent < widest ? 1 << exponent_above(extent) : widest;
  const int room = column_threads / rows;
  return {args, rows, lanes < room ? lanes : room, (extent + rows - 1) / rows};
}

/// For rows of reduce_lanes elements at most: a warp a row, or several rows a warp.
inline LaneParams row_params(const ReduceArgs& args) {
  const int lanes = args.n < 32 ? 1 << exponent_above(args.n) : 32;
  return {args, row_threads / lanes, lanes, 0};
}

inline i64 row_blocks(const LaneParams& params) { return (params.args.rows + params.rows - 1) / params.rows; }
inline i64 column_blocks(const LaneParams& params) {
  const ReduceArgs& args = params.args;
  return args.rows / args.kept_extents[args.kept_ndim - 1] * params.tiles * args.chunks;
}

}  // namespace refrain::kernels
