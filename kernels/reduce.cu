#include "kernels/reduce.hpp"

#include "kernels/cuda.cuh"
#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

template <class In>
__device__ In read(const Stored<In>* x, i64 at) {
  if constexpr (is_same<In, bool>) {
    return x[at] != 0;
  } else {
    return x[at];
  }
}

template <class T>
__device__ T shuffle_down(T value, int lanes) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, __shfl_down_sync(~0u, __builtin_bit_cast(u64, value), lanes));
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, __shfl_down_sync(~0u, __builtin_bit_cast(u32, value), lanes));
  } else {
    using Bits = typename BitsOf<sizeof(T)>::type;
    const u32 bits = __builtin_bit_cast(Bits, value);
    return __builtin_bit_cast(T, static_cast<Bits>(__shfl_down_sync(~0u, bits, lanes)));
  }
}

/// Combines what a warp's threads have: the lanes 16, 8, ..., 1 further.
template <class R>
__device__ typename R::Acc combine_warp(typename R::Acc acc) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) acc = R::combine(acc, shuffle_down(acc, half));
  return acc;
}

/// Where element i of a row is, from the row's first element on.
__device__ i64 position_of(const ReduceArgs& args, i64 i) {
  if (args.reduced_ndim == 1) return i * args.reduced_strides[0];
  return offset_along(args.reduced_ndim, args.reduced_extents, args.reduced_strides, i);
}

template <class R>
__device__ const Stored<typename R::In>* row_of(const ReduceArgs& args, i64 row) {
  return static_cast<const Stored<typename R::In>*>(args.in) +
         offset_along(args.kept_ndim, args.kept_extents, args.kept_strides, row);
}

// Chunks ----------------------------------------------------------------------------------------------

constexpr int chunk_threads = 256;
constexpr int lanes_a_thread = reduce_lanes / chunk_threads;

template <class T>
struct alignas(lanes_a_thread * sizeof(T) < 16 ? lanes_a_thread * sizeof(T) : 16) Elements {
  T at[lanes_a_thread];
};

/// A block of chunk_threads threads a chunk; thread t has the lanes from lanes_a_thread * t on. Reads each element
/// once, as vectors where a row's elements lie side by side and are aligned to them.
template <class R>
__global__ void __launch_bounds__(chunk_threads) reduce_chunks(const __grid_constant__ ReduceArgs args) {
  using Acc = typename R::Acc;
  using Element = Stored<typename R::In>;
  __shared__ Acc handed[lanes_a_thread][chunk_threads / 2];
  const i64 row = blockIdx.x / args.chunks;
  const i64 position = (blockIdx.x - row * args.chunks) * reduce_chunk;
  const i64 count = args.n - position < reduce_chunk ? args.n - position : reduce_chunk;
  const Element* x = row_of<R>(args, row);
  const int thread = static_cast<int>(threadIdx.x);
  Acc acc[lanes_a_thread];
#pragma unroll
  for (Acc& lane : acc) lane = R::identity();
  const bool is_dense = args.reduced_ndim == 1 && args.reduced_strides[0] == 1;
  const bool is_aligned = reinterpret_cast<u64>(x + position) % alignof(Elements<Element>) == 0;
  if (is_dense && is_aligned && count == reduce_chunk) {
#pragma unroll
    for (int turn = 0; turn < reduce_chunk / reduce_lanes; ++turn) {
      const i64 i = turn * reduce_lanes + thread * lanes_a_thread;
      const auto elements = *reinterpret_cast<const Elements<Element>*>(x + position + i);
#pragma unroll
      for (int lane = 0; lane < lanes_a_thread; ++lane) {
        acc[lane] = R::take(acc[lane], read<typename R::In>(elements.at, lane), position + i + lane);
      }
    }
  } else {
    for (i64 begin = 0; begin < count; begin += reduce_lanes) {
#pragma unroll
      for (int lane = 0; lane < lanes_a_thread; ++lane) {
        const i64 i = begin + thread * lanes_a_thread + lane;
        if (i >= count) continue;
        acc[lane] = R::take(acc[lane], read<typename R::In>(x, position_of(args, position + i)), position + i);
      }
    }
  }
#pragma unroll
  for (int half = chunk_threads / 2; half >= 32; half /= 2) {
    if (thread >= half && thread < 2 * half) {
#pragma unroll
      for (int lane = 0; lane < lanes_a_thread; ++lane) handed[lane][thread - half] = acc[lane];
    }
    __syncthreads();
    if (thread < half) {
#pragma unroll
      for (int lane = 0; lane < lanes_a_thread; ++lane) acc[lane] = R::combine(acc[lane], handed[lane][thread]);
    }
    __syncthreads();
  }
  if (thread >= 32) return;
#pragma unroll
  for (Acc& lane : acc) lane = combine_warp<R>(lane);
#pragma unroll
  for (int half = lanes_a_thread / 2; half > 0; half /= 2) {
#pragma unroll
    for (int lane = 0; lane < half; ++lane) acc[lane] = R::combine(acc[lane], acc[lane + half]);
  }
  if (thread == 0) store_result(args, blockIdx.x, acc[0]);
}

// Rows and columns of one chunk -------------------------------------------------------------------------

/// Combines the lanes first, first + 32, ... of a chunk: by halves, as reduce.hpp has it, but depth first, so that few
/// results are kept at a time. `at(i)` is where element i of the chunk is.
template <class R, class At>
__device__ typename R::Acc reduce_lanes_of(const Stored<typename R::In>* x, i64 first, i64 count, i64 position, At at) {
  using Acc = typename R::Acc;
  constexpr int depth = 5;  // of 32 lanes
  Acc left[depth];          // results that wait for their other half, by their size
  int bits = 0;             // lanes of which all are empty are left out
  while (32 << bits < count && bits < depth) ++bits;
  Acc acc = R::identity();
#pragma unroll 4
  for (int turn = 0; turn < 1 << bits; ++turn) {
    // The lane whose number has the turn's bits in reverse.
    const int lane = bits == 0 ? 0 : static_cast<int>(__brev(static_cast<unsigned>(turn)) >> (32 - bits));
    acc = R::identity();
#pragma unroll 8
    for (i64 i = first + 32 * lane; i < count; i += reduce_lanes) {
      acc = R::take(acc, read<typename R::In>(x, at(i)), position + i);
    }
    int size = 0;
    for (; (turn >> size & 1) != 0; ++size) acc = R::combine(left[size], acc);
    if (size < depth) left[size] = acc;
  }
  return acc;
}

constexpr int warps_a_block = 8;

/// A warp a row of one chunk, warps_a_block warps a block.
template <class R>
__global__ void __launch_bounds__(32 * warps_a_block) reduce_rows(const __grid_constant__ ReduceArgs args) {
  const i64 row = static_cast<i64>(blockIdx.x) * warps_a_block + threadIdx.x / 32;
  if (row >= args.rows) return;
  const auto* x = row_of<R>(args, row);
  const auto at = [&](i64 i) { return position_of(args, i); };
  const auto acc = combine_warp<R>(reduce_lanes_of<R>(x, threadIdx.x % 32, args.n, 0, at));
  if (threadIdx.x % 32 == 0) store_result(args, row, acc);
}

/// 32 rows that lie side by side a block, 32 threads a row; `tiles` such blocks a line of rows, and a block a chunk.
template <class R>
__global__ void __launch_bounds__(1024) reduce_columns(const __grid_constant__ ReduceArgs args) {
  using Acc = typename R::Acc;
  __shared__ Acc handed[16][32];
  const i64 extent = args.kept_extents[args.kept_ndim - 1];
  const i64 tiles = (extent + 31) / 32;
  const i64 chunk = blockIdx.x % args.chunks;
  const i64 rest = blockIdx.x / args.chunks;
  const i64 column = rest % tiles * 32 + threadIdx.x;
  const i64 row = rest / tiles * extent + column;
  const int y = static_cast<int>(threadIdx.y);
  const i64 position = chunk * reduce_chunk;
  const i64 count = args.n - position < reduce_chunk ? args.n - position : reduce_chunk;
  Acc acc = R::identity();
  if (column < extent) {
    const i64 step = args.reduced_strides[0];
    const auto* x = row_of<R>(args, row) + position * step;
    acc = reduce_lanes_of<R>(x, y, count, position, [=](i64 i) { return i * step; });
  }
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    if (y >= half && y < 2 * half) handed[y - half][threadIdx.x] = acc;
    __syncthreads();
    if (y < half) acc = R::combine(acc, handed[y][threadIdx.x]);
    __syncthreads();
  }
  if (y == 0 && column < extent) store_result(args, row * args.chunks + chunk, acc);
}

// Launches ----------------------------------------------------------------------------------------------

struct ReduceKernels {
  void (*chunks)(ReduceArgs);
  void (*rows)(ReduceArgs);
  void (*columns)(ReduceArgs);
};

template <class R>
struct KernelsOfReduction {
  static ReduceKernels make() { return {reduce_chunks<R>, reduce_rows<R>, reduce_columns<R>}; }
};

}  // namespace

cudaError_t launch_reduce(const ReduceArgs& args, const Target& target) {
  const ReduceKernels kernels = find_reduction<KernelsOfReduction>(args.op, args.in_type, args.acc_type);
  const i64 extent = args.kept_ndim > 0 ? args.kept_extents[args.kept_ndim - 1] : 1;
  const bool are_columns = args.reduced_ndim == 1 && args.reduced_strides[0] != 1 && extent > 1 &&
                           args.kept_strides[args.kept_ndim - 1] == 1;
  if (are_columns) {
    const i64 tiles = (extent + 31) / 32;
    return launch(kernels.columns, args.rows / extent * tiles * args.chunks, dim3(32, 32), args, target);
  }
  if (args.n <= reduce_lanes) {
    return launch(kernels.rows, (args.rows + warps_a_block - 1) / warps_a_block, 32 * warps_a_block, args, target);
  }
  return launch(kernels.chunks, args.rows * args.chunks, chunk_threads, args, target);
}

}  // namespace refrain::kernels
