#pragma once

#include "kernels/reduce_folds.hpp"

// What threads of a reduction do together.

namespace refrain::kernels {

/// Elements that a thread loads at once where they are aligned to it.
inline constexpr int vector_width = 4;

template <class T>
struct alignas(vector_width * sizeof(T) < 16 ? vector_width * sizeof(T) : 16) Elements {
  T at[vector_width];
};

template <class T>
__device__ bool is_vector(const T* x) {
  return reinterpret_cast<u64>(x) % alignof(Elements<T>) == 0;
}

/// vector_width elements from `at` on, which are dense and aligned.
template <class F>
__device__ void load_vector(const F&, const Stored<typename F::In>* x, i64 at, i64,
                            typename F::Element (&elements)[vector_width]) {
  const auto loaded = *reinterpret_cast<const Elements<Stored<typename F::In>>*>(x + at);
#pragma unroll
  for (int lane = 0; lane < vector_width; ++lane) elements[lane] = read_element<typename F::In>(loaded.at, lane);
}
template <class In>
__device__ void load_vector(const Dot<In>& fold, const In* x, i64 at, i64 position,
                            Pair<In> (&elements)[vector_width]) {
  const auto left = *reinterpret_cast<const Elements<In>*>(x + at);
  const auto right = *reinterpret_cast<const Elements<In>*>(fold.other + position);
#pragma unroll
  for (int lane = 0; lane < vector_width; ++lane) elements[lane] = {left.at[lane], right.at[lane]};
}

/// Whether vectors may be loaded from a row on.
template <class F>
__device__ bool has_vectors(const F& fold, const ReduceArgs& args, const Stored<typename F::In>* first) {
  return are_dense(args) && fold.is_dense() && is_vector(first);
}
template <class In>
__device__ bool has_vectors(const Dot<In>& fold, const ReduceArgs& args, const In* first) {
  return are_dense(args) && fold.is_dense() && is_vector(first) && is_vector(fold.other);
}

// Shuffles ------------------------------------------------------------------------------------------------

template <class T>
struct Words {
  u32 at[sizeof(T) / 4];
};

/// A shuffle of any type: shuffle(word) of each of its 32-bit words.
template <class T, class Shuffle>
__device__ T shuffle_words(T value, Shuffle shuffle) {
  if constexpr (sizeof(T) < 4) {
    using Bits = BitsLike<T>;
    const u32 word = __builtin_bit_cast(Bits, value);
    return __builtin_bit_cast(T, static_cast<Bits>(shuffle(word)));
  } else {
    auto words = __builtin_bit_cast(Words<T>, value);
#pragma unroll
    for (u32& word : words.at) word = shuffle(word);
    return __builtin_bit_cast(T, words);
  }
}

template <class T>
__device__ T shuffle_down(T value, int lanes) {
  return shuffle_words(value, [=](u32 word) { return __shfl_down_sync(~0u, word, lanes); });
}
template <class T>
__device__ T shuffle_xor(T value, int lanes) {
  return shuffle_words(value, [=](u32 word) { return __shfl_xor_sync(~0u, word, lanes); });
}
template <class T>
__device__ T shuffle_from(T value, int lane) {
  return shuffle_words(value, [=](u32 word) { return __shfl_sync(~0u, word, lane); });
}

/// Combines what the threads of each `group` of a warp have, a power of two: the lanes group / 2, ..., 1 further. The
/// first thread has the result.
template <class F>
__device__ typename F::Acc combine_group(const F& fold, typename F::Acc acc, int group) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    if (half < group) acc = fold.combine(acc, shuffle_down(acc, half));
  }
  return acc;
}

/// combine(a, b), a being the thread's own or, where `is_second`, the other's.
template <class F>
__device__ __forceinline__ typename F::Acc combine_in_order(const F& fold, bool is_second, typename F::Acc own,
                                                            typename F::Acc other) {
  if (F::is_symmetric) return fold.combine(own, other);
  return is_second ? fold.combine(other, own) : fold.combine(own, other);
}

/// Combines, for all threads of a warp, lanes of which thread t has the four from 4 t on. Threads that would compute
/// the same take half of the lanes each: 8 shuffles in place of 20.
template <class F>
__device__ __forceinline__ typename F::Acc combine_warp(const F& fold, const typename F::Acc (&lanes)[vector_width]) {
  static_assert(vector_width == 4);
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const bool upper = (thread & 16) != 0;
  const bool odd = (thread & 8) != 0;
  const auto first =
      combine_in_order(fold, upper, upper ? lanes[2] : lanes[0], shuffle_xor(upper ? lanes[0] : lanes[2], 16));
  const auto second =
      combine_in_order(fold, upper, upper ? lanes[3] : lanes[1], shuffle_xor(upper ? lanes[1] : lanes[3], 16));
  auto one = combine_in_order(fold, odd, odd ? second : first, shuffle_xor(odd ? first : second, 8));
#pragma unroll
  for (int half = 4; half > 0; half /= 2) {
    one = combine_in_order(fold, (thread & half) != 0, one, shuffle_xor(one, half));
  }
  one = combine_in_order(fold, upper, one, shuffle_xor(one, 16));  // lane 4 t + j and j + 2
  return combine_in_order(fold, odd, one, shuffle_xor(one, 8));
}

// Halves, depth first ---------------------------------------------------------------------------------------

/// The number with the lowest `bits` bits in reverse.
__device__ inline int reversed(int number, int bits) {
  return bits == 0 ? 0 : static_cast<int>(__brev(static_cast<unsigned>(number)) >> (32 - bits));
}

/// The least exponent of a power of two that is not below x > 0.
__host__ __device__ inline int exponent_above(i64 x) {
  int exponent = 0;
  while (i64{1} << exponent < x) ++exponent;
  return exponent;
}

/// Combines 2^bits results by halves, `bits` <= depth, when they come in the order of their reversed numbers: few are
/// kept at a time. Every index is a constant and all is inlined, so that they stay in registers.
template <class F, int depth>
struct Halves {
  typename F::Acc left[depth];  ///< results that wait for their other half, by their size

  /// After the last one: the result of all.
  template <int size = 0>
  __device__ __forceinline__ typename F::Acc add(const F& fold, int turn, typename F::Acc acc) {
    if constexpr (size == depth) {
      return acc;
    } else {
      if ((turn >> size & 1) != 0) return add<size + 1>(fold, turn, fold.combine(left[size], acc));
      left[size] = acc;
      return acc;
    }
  }
};

// A block -----------------------------------------------------------------------------------------------------

/// Threads of a block that reduces a chunk: thread t has the lanes from vector_width * t on.
inline constexpr int chunk_threads = 256;
static_assert(chunk_threads * vector_width == reduce_lanes);

/// Shared memory for what threads hand each other, the same for all folds whose results are of a size: between its
/// last use for one and its first for the next lies a barrier.
template <int size>
__device__ void* lane_memory() {
  __shared__ alignas(16) unsigned char bytes[vector_width * chunk_threads * size];
  return bytes;
}

/// Combines, for all threads of a block of chunk_threads, lanes of which thread t has the four from 4 t on. A warp
/// takes one lane of the four of all threads: the warps' first, then those of its own threads.
template <class F>
__device__ typename F::Acc combine_block(const F& fold, const typename F::Acc (&lanes)[vector_width]) {
  using Acc = typename F::Acc;
  constexpr int warps = chunk_threads / 32;
  static_assert(warps >= vector_width && vector_width == 4);
  auto* const handed = static_cast<Acc(*)[chunk_threads]>(lane_memory<sizeof(Acc)>());
  __shared__ Acc of_lanes[vector_width];
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int j = 0; j < vector_width; ++j) handed[j][thread] = lanes[j];
  __syncthreads();
  const int j = thread / 32 % vector_width;  // twice, so that no thread waits for a branch
  Acc of_warps[warps];
#pragma unroll
  for (int warp = 0; warp < warps; ++warp) of_warps[warp] = handed[j][warp * 32 + thread % 32];
#pragma unroll
  for (int half = warps / 2; half > 0; half /= 2) {
#pragma unroll
    for (int warp = 0; warp < half; ++warp) of_warps[warp] = fold.combine(of_warps[warp], of_warps[warp + half]);
  }
  const Acc result = combine_group(fold, of_warps[0], 32);
  if (thread < 32 * vector_width && thread % 32 == 0) of_lanes[j] = result;
  __syncthreads();
  return fold.combine(fold.combine(of_lanes[0], of_lanes[2]), fold.combine(of_lanes[1], of_lanes[3]));
}

/// What thread 0 has, for all of the block.
template <class T>
__device__ T block_broadcast(T value) {
  __shared__ T handed;
  if (threadIdx.x == 0) handed = value;
  __syncthreads();
  value = handed;
  __syncthreads();
  return value;
}

}  // namespace refrain::kernels
