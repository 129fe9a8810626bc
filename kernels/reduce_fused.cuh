#pragma once

#include "kernels/reduce_choices.hpp"
#include "kernels/reduce_threads.cuh"

// What generated kernels do with rows (src/jit/cuda_rows.cpp): a warp has a row of reduce_lanes elements or fewer, a
// block one of a chunk, a cluster of blocks one of as many chunks. Element (k * threads + t) * vector_width + j of the
// row, or of the block's chunk of it, is number [k][j] of thread t. NVRTC takes this file.

namespace refrain::kernels {

/// A row's place among threads.
struct RowSpot {
  int thread;    ///< of those that have a part of the row's chunk
  int count;     ///< elements of the chunk
  bool vectors;  ///< loaded and stored as such
};

/// Turn k of a thread's elements. Those that are not there are zeros.
template <int threads, bool is_whole, bool is_dense, class T>
__device__ __forceinline__ void load_turn(const T* first, i64 stride, const RowSpot& spot, int k,
                                          T (&x)[vector_width]) {
  const int i = (k * threads + spot.thread) * vector_width;
  if (is_dense) first += spot.thread * vector_width;  // so that turns are a constant apart
  const int turn = k * threads * vector_width;
  if (is_dense && spot.vectors) {
    Elements<T> loaded{};
    if (is_whole || i < spot.count) loaded = *reinterpret_cast<const Elements<T>*>(first + turn);
#pragma unroll
    for (int j = 0; j < vector_width; ++j) x[j] = loaded.at[j];
  } else {
#pragma unroll
    for (int j = 0; j < vector_width; ++j) {
      x[j] = T{};
      if (is_whole || i + j < spot.count) x[j] = is_dense ? first[turn + j] : first[(i + j) * stride];
    }
  }
}

template <int threads, bool is_whole, bool is_dense, class T>
__device__ __forceinline__ void store_turn(T* first, i64 stride, const RowSpot& spot, int k,
                                           const T (&y)[vector_width]) {
  const int i = (k * threads + spot.thread) * vector_width;
  if (is_dense) first += spot.thread * vector_width;
  const int turn = k * threads * vector_width;
  if (is_dense && spot.vectors) {
    Elements<T> stored;
#pragma unroll
    for (int j = 0; j < vector_width; ++j) stored.at[j] = y[j];
    if (is_whole || i < spot.count) *reinterpret_cast<Elements<T>*>(first + turn) = stored;
  } else {
#pragma unroll
    for (int j = 0; j < vector_width; ++j) {
      if (is_whole || i + j < spot.count) first[is_dense ? turn + j : (i + j) * stride] = y[j];
    }
  }
}

/// All turns.
template <int threads, bool is_whole, bool is_dense, class T, int turns>
__device__ __forceinline__ void load_row(const T* first, i64 stride, const RowSpot& spot, T (&x)[turns][vector_width]) {
#pragma unroll
  for (int k = 0; k < turns; ++k) load_turn<threads, is_whole, is_dense>(first, stride, spot, k, x[k]);
}

/// A lane that has one element.
template <class F>
__device__ __forceinline__ typename F::Acc lane_of(const F& fold, typename F::In x) {
  if constexpr (requires { fold.begin_with(x, 0); }) {
    return fold.begin_with(x, 0);
  } else {
    return fold.take(F::identity(), x, 0);
  }
}

/// The result of lanes of one element.
template <class F>
__device__ __forceinline__ typename F::Acc settled(const F& fold, typename F::Acc acc) {
  if constexpr (requires(typename F::In x) { fold.begin_with(x, 0); }) {
    return fold.combine(F::identity(), acc);
  } else {
    return acc;
  }
}

/// What lane j of each of a warp's turns has: lanes of their own, combined by halves.
template <int turns, class F>
__device__ __forceinline__ typename F::Acc combine_turns(const F& fold, typename F::Acc (&acc)[turns]) {
#pragma unroll
  for (int half = 1 << 2; half > 0; half /= 2) {
#pragma unroll
    for (int k = 0; k < half; ++k) {
      if (k + half < turns) acc[k] = fold.combine(acc[k], acc[k + half]);
    }
  }
  return acc[0];
}

// A cluster -----------------------------------------------------------------------------------------------------

__device__ inline void arrive_at_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// The row's result, for all threads of its cluster, from what thread 0 of each block has. `slots`: shared memory of
/// the block's for this one use. The cluster's blocks must have begun.
template <int blocks, class F>
__device__ __forceinline__ typename F::Acc combine_cluster(const F& fold, typename F::Acc acc, u64 (&slots)[blocks]) {
  using Acc = typename F::Acc;
  using Bits = BitsLike<Acc>;
  if (threadIdx.x == 0) {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const auto own = static_cast<u32>(__cvta_generic_to_shared(&slots[rank]));
    const u64 bits = __builtin_bit_cast(Bits, acc);
#pragma unroll
    for (u32 block = 0; block < blocks; ++block) {
      u32 there;
      asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(block));
      asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(there), "l"(bits) : "memory");
    }
  }
  arrive_at_cluster();
  wait_for_cluster();
  Acc results[blocks];
#pragma unroll
  for (int block = 0; block < blocks; ++block) {
    results[block] = __builtin_bit_cast(Acc, static_cast<Bits>(slots[block]));
  }
#pragma unroll
  for (int half = blocks / 2; half > 0; half /= 2) {
#pragma unroll
    for (int k = 0; k < half; ++k) results[k] = fold.combine(results[k], results[k + half]);
  }
  return results[0];
}

/// What a fold makes of a result: as it would be stored.
template <class Out, class F>
__device__ __forceinline__ Out stored_result(const F& fold, ReduceArgs args, typename F::Acc acc) {
  Out result;
  args.out = &result;
  fold.store(args, 0, acc);
  return result;
}

}  // namespace refrain::kernels
