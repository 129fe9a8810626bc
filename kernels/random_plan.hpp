#pragma once

#include "kernels/args.hpp"

// How a draw is laid out over threads, and how far it moves the generator: what PyTorch's CUDA generator does
// (tests/data holds its numbers). Host code of the ops needs this and nothing else of random.hpp.

namespace refrain::kernels {

/// Threads per block of every random kernel: part of the layout.
inline constexpr int random_block = 256;

/// How many numbers one 4-word draw gives.
REFRAIN_HOST_DEVICE constexpr int numbers_per_draw(Distribution distribution, Type type) {
  switch (distribution) {
    case Distribution::uniform:
    case Distribution::normal:
    case Distribution::bernoulli:
    case Distribution::exponential: return type == Type::float64 ? 2 : 4;
    case Distribution::randint32: return 4;
    case Distribution::randint64: return 2;
  }
  return 4;
}

/// 64 random bits per number for a range of 2^28 or more, whatever the type: with 32 bits, `%` would give some numbers
/// up to 2^28 / 2^32 = 6 % more often than others. (Older PyTorch releases changed at 2^32.)
REFRAIN_HOST_DEVICE constexpr bool randint_uses_64_bits(Type, u64 range) { return range >= (u64{1} << 28); }

struct RandomPlan {
  int grid;       ///< blocks of random_block threads
  u64 increment;  ///< of the generator's offset, a multiple of 4
};

/// For `size` > 0 numbers on a device that has room for `max_threads_per_multiprocessor` x `multiprocessors` threads.
/// PyTorch splits arrays of more than 2 GiB into several draws; here one draw is one draw.
REFRAIN_HOST_DEVICE constexpr RandomPlan plan_random(Distribution distribution, Type type, i64 size,
                                                     int multiprocessors, int max_threads_per_multiprocessor) {
  const i64 most = static_cast<i64>(multiprocessors) * (max_threads_per_multiprocessor / random_block);
  const i64 needed = (size - 1) / random_block + 1;
  const i64 grid = needed < most ? needed : most;
  const i64 numbers_per_round = grid * random_block * numbers_per_draw(distribution, type);
  return {static_cast<int>(grid), static_cast<u64>((size - 1) / numbers_per_round + 1) * 4};
}

}  // namespace refrain::kernels
