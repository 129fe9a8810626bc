#pragma once

#include "kernels/reduce_threads.cuh"

// A block of chunk_threads threads reduces a chunk, or one chunk of a row after another.

namespace refrain::kernels {

/// A thread loads so many vectors before it takes them: 64 bytes where it can have 64 registers.
template <class F>
inline constexpr int vectors_ahead = sizeof(typename F::Element) > 4 ? 2 : 4;
inline constexpr int blocks_a_multiprocessor = 4;

/// Elements [position, position + count) of a row, of one chunk. Thread 0 has the result.
template <class F>
__device__ typename F::Acc reduce_chunk_of(const F& fold, const ReduceArgs& args, const Stored<typename F::In>* first,
                                           i64 position, int count, bool vectors) {
  constexpr int ahead = vectors_ahead<F>;
  typename F::Acc acc[vector_width];
#pragma unroll
  for (auto& lane : acc) lane = F::identity();
  if (vectors && count == reduce_chunk) {  // without a bounds check all loads are under way at once
#pragma unroll
    for (int turn = 0; turn < reduce_chunk / reduce_lanes; ++turn) {
      const i64 at = position + turn * reduce_lanes + static_cast<i64>(threadIdx.x) * vector_width;
      typename F::Element elements[vector_width];
      load_vector(fold, first, at, at, elements);
#pragma unroll
      for (int lane = 0; lane < vector_width; ++lane) acc[lane] = fold.take(acc[lane], elements[lane], at + lane);
    }
    return combine_block(fold, acc);
  }
  for (int begin = static_cast<int>(threadIdx.x) * vector_width; begin < count;
       begin += ahead * static_cast<int>(reduce_lanes)) {
    typename F::Element elements[ahead][vector_width];
#pragma unroll
    for (int turn = 0; turn < ahead; ++turn) {
      const int i = begin + turn * static_cast<int>(reduce_lanes);
      if (vectors && i + vector_width <= count) {
        load_vector(fold, first, position + i, position + i, elements[turn]);
      } else {
#pragma unroll
        for (int lane = 0; lane < vector_width; ++lane) {
          const i64 at = position + i + lane;
          if (i + lane < count) elements[turn][lane] = fold.load(first, element_offset(args, at), at);
        }
      }
    }
#pragma unroll
    for (int turn = 0; turn < ahead; ++turn) {
#pragma unroll
      for (int lane = 0; lane < vector_width; ++lane) {
        const int i = begin + turn * static_cast<int>(reduce_lanes) + lane;
        if (i < count) acc[lane] = fold.take(acc[lane], elements[turn][lane], position + i);
      }
    }
  }
  return combine_block(fold, acc);
}

/// Elements [begin, end) of a row, of as many chunks as there are lanes at most. Thread 0 has the result.
template <class F>
__device__ typename F::Acc reduce_span(const F& fold, const ReduceArgs& args, const Stored<typename F::In>* first,
                                       i64 begin, i64 end) {
  __shared__ typename F::Acc left[11];  // thread 0's: results that wait for their other half, by their size
  const i64 chunks = (end - begin - 1) / reduce_chunk + 1;
  const int bits = exponent_above(chunks);
  const bool vectors = has_vectors(fold, args, first);
  auto acc = F::identity();
  for (int turn = 0; turn < 1 << bits; ++turn) {
    const i64 position = begin + reversed(turn, bits) * reduce_chunk;
    acc = F::identity();
    if (position < end) {
      const i64 count = end - position < reduce_chunk ? end - position : reduce_chunk;
      acc = reduce_chunk_of(fold, args, first, position, static_cast<int>(count), vectors);
    }
    if (threadIdx.x != 0) continue;
    int size = 0;
    for (; (turn >> size & 1) != 0; ++size) acc = fold.combine(left[size], acc);
    left[size] = acc;
  }
  return acc;
}

/// A block a chunk, or a row if there is one result for it. Reads each element once a pass, as vectors where a row's
/// elements lie side by side and are aligned to them.
template <class P>
__global__ void __launch_bounds__(chunk_threads, blocks_a_multiprocessor)
    reduce_blocks(const __grid_constant__ ReduceArgs args) {
  const i64 row = blockIdx.x / args.chunks;
  const i64 begin = (blockIdx.x - row * args.chunks) * reduce_chunk;
  const i64 end = args.chunks == 1 || args.n - begin < reduce_chunk ? args.n : begin + reduce_chunk;
  const auto* first = static_cast<const Stored<typename P::In>*>(args.in) + row_offset(args, row);
  if constexpr (P::passes == 1) {
    const P fold(args);
    const auto acc = reduce_span(fold, args, first, begin, end);
    if (threadIdx.x == 0) fold.store(args, blockIdx.x, acc);
  } else {
    const auto fold =
        args.other != nullptr
            ? P::known(args, row)
            : P::second(args, block_broadcast(reduce_span(typename P::First(args), args, first, 0, args.n)));
    const auto acc = reduce_span(fold, args, first, begin, end);
    if (threadIdx.x == 0) fold.store(args, blockIdx.x, acc);
  }
}

/// A block a chunk, of rows whose elements lie side by side and are aligned to vectors. Reads each element once. It has
/// so few registers that more blocks are on a multiprocessor than of reduce_blocks: 2^26 float32 in 66 us in place of
/// 100 on an H200.
template <class P>
__global__ void __launch_bounds__(chunk_threads) reduce_dense_chunks(const __grid_constant__ ReduceArgs args) {
  const i64 row = blockIdx.x / args.chunks;
  const i64 position = (blockIdx.x - row * args.chunks) * reduce_chunk;
  const i64 count = args.n - position < reduce_chunk ? args.n - position : reduce_chunk;
  const auto* first = static_cast<const Stored<typename P::In>*>(args.in) + row_offset(args, row);
  const P fold(args);
  const i64 begin = position + static_cast<i64>(threadIdx.x) * vector_width;
  typename P::Acc acc[vector_width];
#pragma unroll
  for (auto& lane : acc) lane = P::identity();
  if (count == reduce_chunk) {
#pragma unroll
    for (int turn = 0; turn < reduce_chunk / reduce_lanes; ++turn) {
      const i64 at = begin + turn * reduce_lanes;
      typename P::Element elements[vector_width];
      load_vector(fold, first, at, at, elements);
#pragma unroll
      for (int lane = 0; lane < vector_width; ++lane) acc[lane] = fold.take(acc[lane], elements[lane], at + lane);
    }
  } else {
    for (i64 at = begin; at < position + count; at += reduce_lanes) {
#pragma unroll
      for (int lane = 0; lane < vector_width; ++lane) {
        if (at + lane < position + count)
          acc[lane] = fold.take(acc[lane], fold.load(first, at + lane, at + lane), at + lane);
      }
    }
  }
  const auto result = combine_block(fold, acc);
  if (threadIdx.x == 0) fold.store(args, blockIdx.x, result);
}

/// Whether reduce_dense_chunks takes them.
inline bool are_dense_chunks(const ReduceArgs& args) {
  if (!are_dense(args) || (args.chunks == 1 && args.n > reduce_chunk)) return false;
  const auto is_aligned = [](const void* data) { return reinterpret_cast<u64>(data) % (4 * vector_width) == 0; };
  bool all = is_aligned(args.in) && (args.other == nullptr || (args.other_stride == 1 && is_aligned(args.other)));
  for (int axis = 0; axis < args.kept_ndim; ++axis) {
    all = all && (args.kept_extents[axis] == 1 || args.kept_strides[axis] % vector_width == 0);
  }
  return all;
}

}  // namespace refrain::kernels
