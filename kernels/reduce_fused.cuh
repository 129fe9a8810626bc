#pragma once

#include "kernels/reduce_choices.hpp"
#include "kernels/reduce_threads.cuh"

// What generated kernels do with rows (src/jit/cuda_rows.cpp): a warp has a row of reduce_lanes elements or fewer, a
// block one of a chunk, a cluster of blocks one of several chunks, a block each or some blocks each. Element
// first + k * step + j of the row, or of the block's chunk of it, is number [k][j] of a thread. NVRTC takes this file.

namespace refrain::kernels {

/// A row's place among threads.
struct RowSpot {
  int first;     ///< of the thread's elements in the row's chunk
  int count;     ///< elements of the chunk
  bool vectors;  ///< loaded and stored as such
};

/// Turn k of a thread's elements, `first` being the row's first one, or where they are dense the thread's. Those that
/// are not there are zeros.
template <int step, bool is_whole, bool is_dense, class T, int width>
__device__ __forceinline__ void load_turn(const T* first, i64 stride, const RowSpot& spot, int k, T (&x)[width]) {
  const int i = k * step + spot.first;
  const int turn = k * step;
  if (width == vector_width && is_dense && spot.vectors) {
    Elements<T> loaded{};
    if (is_whole || i < spot.count) loaded = *reinterpret_cast<const Elements<T>*>(first + turn);
#pragma unroll
    for (int j = 0; j < width; ++j) x[j] = loaded.at[j];
  } else {
#pragma unroll
    for (int j = 0; j < width; ++j) {
      x[j] = T{};
      if (is_whole || i + j < spot.count) x[j] = is_dense ? first[turn + j] : first[(i + j) * stride];
    }
  }
}

template <int step, bool is_whole, bool is_dense, class T, int width>
__device__ __forceinline__ void store_turn(T* first, i64 stride, const RowSpot& spot, int k, const T (&y)[width]) {
  const int i = k * step + spot.first;
  const int turn = k * step;
  if (width == vector_width && is_dense && spot.vectors) {
    Elements<T> stored;
#pragma unroll
    for (int j = 0; j < width; ++j) stored.at[j] = y[j];
    if (is_whole || i < spot.count) *reinterpret_cast<Elements<T>*>(first + turn) = stored;
  } else {
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if (is_whole || i + j < spot.count) first[is_dense ? turn + j : (i + j) * stride] = y[j];
    }
  }
}

/// All turns.
template <int step, bool is_whole, bool is_dense, class T, int turns, int width>
__device__ __forceinline__ void load_row(const T* first, i64 stride, const RowSpot& spot, T (&x)[turns][width]) {
#pragma unroll
  for (int k = 0; k < turns; ++k) load_turn<step, is_whole, is_dense>(first, stride, spot, k, x[k]);
}

/// An address of the device's memory that stays in registers: where many accesses go on from it, each would compute it
/// again, in three instructions.
template <class T>
__device__ __forceinline__ T* kept(T* first) {
  u64 address = __cvta_generic_to_global(first);
  asm volatile("" : "+l"(address));
  return static_cast<T*>(__cvta_global_to_generic(address));
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
//
// Blocks send each other results, and each waits for as many bytes as it is sent: without a barrier of all of them,
// whose release would wait for all of the threads' memory accesses. Results of one exchange and the next have slots and
// a count of bytes of their own: a block that goes on with the next one may be faster than one that still reads. The
// one after that begins only when all have got what that block sends in between.

__device__ inline u32 shared_address(const void* shared) { return static_cast<u32>(__cvta_generic_to_shared(shared)); }

__device__ inline void arrive_at_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// First of all: wait_for_cluster then waits until all blocks of it can be sent to.
__device__ inline void begin_cluster(u64 (&counts)[2]) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&counts[0])) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&counts[1])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ inline u32 block_in_cluster() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// To the same place in another block's shared memory, whose bytes are counted there.
__device__ inline void send_word(const u64& place, u64 word, const u64& count, u32 block) {
  u32 place_there;
  u32 count_there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place_there) : "r"(shared_address(&place)), "r"(block));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(count_there) : "r"(shared_address(&count)), "r"(block));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(place_there),
               "l"(word), "r"(count_there)
               : "memory");
}

/// How many bytes the block is sent; one thread says it.
__device__ inline void expect_bytes(const u64& count, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&count)), "r"(bytes)
               : "memory");
}

/// Until they are there; `parity`: of how often the count has been waited for.
/// The wait's scope is the block, for it is the block's own memory that is read next: with the cluster's the
/// first-level cache would be emptied, each time.
__device__ inline void wait_for_bytes(const u64& count, u32 parity) {
  u32 are_there = 0;
  while (are_there == 0) {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(are_there)
                 : "r"(shared_address(&count)), "r"(parity)
                 : "memory");
  }
}

// The lanes of a chunk are cut among `cut` blocks so that runs of `run_lanes` neighbours stay together: what a block
// has of each run is combined first, down to one run, then a cluster's runs. The blocks of a chunk are neighbours.

/// Of float32 a sector of the caches, which no two blocks read then.
inline constexpr int run_lanes = 8;

/// The shape of a cluster's row: each thread has `width` lanes side by side.
template <int blocks_, int cut_, int threads_, int width_>
struct Cluster {
  static constexpr int blocks = blocks_;
  static constexpr int cut = cut_;
  static constexpr int threads = threads_;
  static constexpr int width = width_;
  static constexpr int chunks = blocks / cut;
  static constexpr int values = cut > 1 ? run_lanes : 1;  ///< that a block leaves of its lanes
  static constexpr int slots = blocks * values;           ///< for a reduction, in each block
  static constexpr int handed = threads * width;          ///< likewise
  static_assert(handed * cut == reduce_lanes && (width == vector_width ? cut == 1 : width == 1));
};

/// The first lane of a thread of one of a chunk's blocks.
template <class Shape>
__device__ __forceinline__ int first_lane(int thread, int block) {
  if (Shape::cut == 1) return thread * Shape::width;
  return (thread / run_lanes * Shape::cut + block) * run_lanes + thread % run_lanes;
}

template <class Acc>
__device__ __forceinline__ u64 word_of(Acc acc) {
  return __builtin_bit_cast(BitsLike<Acc>, acc);
}
template <class Acc>
__device__ __forceinline__ Acc from_word(u64 word) {
  return __builtin_bit_cast(Acc, static_cast<BitsLike<Acc>>(word));
}

/// By halves, the first `count` of them, a power of two. Every index is a constant, so that they stay in registers.
template <int count, class F, int n>
__device__ __forceinline__ typename F::Acc combine_halves(const F& fold, typename F::Acc (&acc)[n]) {
  if constexpr (count == 1) {
    return acc[0];
  } else {
#pragma unroll
    for (int k = 0; k < count / 2; ++k) acc[k] = fold.combine(acc[k], acc[k + count / 2]);
    return combine_halves<count / 2>(fold, acc);
  }
}

/// By halves, of what each `count` neighbours of a warp have, until `left` neighbours have the same.
template <int count, int left, class F>
__device__ __forceinline__ typename F::Acc combine_neighbours(const F& fold, typename F::Acc acc) {
  const int thread = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = count / 2; half >= left; half /= 2) {
    acc = combine_in_order(fold, (thread & half) != 0, acc, shuffle_xor(acc, half));
  }
  return acc;
}

/// A thread's lanes, for the warp that combines the block's: after a barrier.
template <class Shape, class Acc>
__device__ __forceinline__ void hand_over(const Acc (&lanes)[Shape::width], u64 (&handed)[Shape::handed]) {
#pragma unroll
  for (int j = 0; j < Shape::width; ++j) handed[j * Shape::threads + threadIdx.x] = word_of(lanes[j]);
}

/// A warp combines its block's lanes and sends what it has to the slots of all blocks of the cluster, which must have
/// begun: each thread one value, to some of the blocks.
template <class Shape, class F>
__device__ __forceinline__ void send_to_cluster(const F& fold, const u64 (&handed)[Shape::handed],
                                                const u64 (&slots)[Shape::slots], const u64& count) {
  using Acc = typename F::Acc;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  Acc lanes[Shape::width];
#pragma unroll
  for (int j = 0; j < Shape::width; ++j) {
    Acc of_warps[Shape::threads / 32];
#pragma unroll
    for (int k = 0; k < Shape::threads / 32; ++k) {
      of_warps[k] = from_word<Acc>(handed[j * Shape::threads + k * 32 + thread]);
    }
    lanes[j] = combine_halves<Shape::threads / 32>(fold, of_warps);
  }
  Acc acc;
  if constexpr (Shape::width == vector_width) {
    acc = combine_warp(fold, lanes);
  } else {
    acc = combine_neighbours<32, Shape::values>(fold, lanes[0]);
  }
  const u32 rank = block_in_cluster();
  const u32 run = rank % Shape::cut * Shape::values + thread % Shape::values;
  const u64& own = slots[run * Shape::chunks + rank / Shape::cut];
#pragma unroll
  for (int i = 0; i < Shape::slots; i += 32) {
    const u32 block = (i + thread) / Shape::values;
    if (block < Shape::blocks) send_word(own, word_of(acc), count, block);
  }
}

/// The row's result, for all threads of its cluster, once all blocks have sent theirs.
template <class Shape, class F>
__device__ __forceinline__ typename F::Acc combine_cluster(const F& fold, const u64 (&slots)[Shape::slots]) {
  using Acc = typename F::Acc;
  constexpr int each = Shape::slots > 32 ? Shape::slots / 32 : 1;
  constexpr int threads = Shape::slots > 32 ? 32 : Shape::slots;
  Acc results[each];
#pragma unroll
  for (int k = 0; k < each; ++k) results[k] = from_word<Acc>(slots[k * 32 + threadIdx.x % threads]);
  return combine_neighbours<threads, 1>(fold, combine_halves<each>(fold, results));
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
