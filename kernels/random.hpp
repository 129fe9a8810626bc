#pragma once

#include "kernels/args.hpp"
#include "kernels/random_plan.hpp"
#if !defined(__CUDA_ARCH__)
#include "kernels/host_math.hpp"
#endif

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) and the conversions of cuRAND's
// device API and PyTorch, bit for bit. Shared by host, nvcc and NVRTC, with or without contraction: products that are
// added to are exact or in an fma. (Of CUDA's functions used here only log(double) is compiled differently by
// -fmad=false; its results are the same: 2^35 compared on an H200.)

namespace refrain::kernels {

// Bits ----------------------------------------------------------------------------------------------

/// What one draw of one thread gives.
struct Words {
  u32 x, y, z, w;
};

/// Draw number `draw` of `subsequence`: cuRAND's curand_init(seed, subsequence, 4 * draw), then curand4.
REFRAIN_HOST_DEVICE Words philox(u64 seed, u64 subsequence, u64 draw) {
  u32 key_x = static_cast<u32>(seed);
  u32 key_y = static_cast<u32>(seed >> 32);
  Words c{static_cast<u32>(draw), static_cast<u32>(draw >> 32), static_cast<u32>(subsequence),
          static_cast<u32>(subsequence >> 32)};
  for (int round = 0; round < 10; ++round) {
    const u64 x = u64{0xD2511F53u} * c.x;
    const u64 z = u64{0xCD9E8D57u} * c.z;
    c = {static_cast<u32>(z >> 32) ^ c.y ^ key_x, static_cast<u32>(z), static_cast<u32>(x >> 32) ^ c.w ^ key_y,
         static_cast<u32>(x)};
    key_x += 0x9E3779B9u;
    key_y += 0xBB67AE85u;
  }
  return c;
}

// Uniform numbers in (0, 1]. Every product is exact, so contraction changes nothing. ------------------

REFRAIN_HOST_DEVICE float uniform_float(u32 x) { return static_cast<float>(x) * 0x1p-32f + 0x1p-33f; }

/// Of the 53 bits x ^ (y << 21).
REFRAIN_HOST_DEVICE double uniform_double(u32 x, u32 y) {
  const double bits = static_cast<double>(y >> 11) * 0x1p32 + static_cast<double>(x ^ (y << 21));
  return bits * 0x1p-53 + 0x1p-54;
}

/// (0, 1] to [0, 1) as PyTorch does it: only 1 changes.
template <class T>
REFRAIN_HOST_DEVICE T reverse_bounds(T u) {
  return u == 1 ? T(0) : u;
}

// Normal numbers: Box and Muller ---------------------------------------------------------------------

template <class T>
struct Pair {
  T first, second;
};

/// Adding PyTorch's mean of 0 turns -0 (from u == 1) into 0.
template <class T>
REFRAIN_HOST_DEVICE Pair<T> scale_unit_vector(T sin, T cos, T radius) {
  return {sin * radius + 0, cos * radius + 0};
}

REFRAIN_HOST_DEVICE Pair<float> normal_floats(u32 x, u32 y) {
  constexpr float turn = 0x1p-32f * 6.2831855f;
  const float u = uniform_float(x);
#if defined(__CUDA_ARCH__)
  float sin, cos;
  __sincosf(__fmaf_rn(static_cast<float>(y), turn, turn / 2), &sin, &cos);
  return scale_unit_vector(sin, cos, sqrtf(-2.0f * logf(u)));
#else
  // The fma in double: equal to it for every y.
  const float v = static_cast<float>(static_cast<double>(static_cast<float>(y)) * turn + turn / 2);
  const i32 quarters = static_cast<i32>(v * 0.63661977f + 0.5f);
  // pi/2 in two parts, the first short enough for an exact product.
  const float angle = v - static_cast<float>(quarters) * 0x1.921fp0f - static_cast<float>(quarters) * 0x1.6a8886p-17f;
  const auto unit = host_math::sin_cos(angle, quarters);
  return scale_unit_vector(unit.sin, unit.cos, __builtin_sqrtf(-2 * host_math::log(u)));
#endif
}

REFRAIN_HOST_DEVICE Pair<double> normal_doubles(Words words) {
  const double u = uniform_double(words.x, words.y);
  const double half_turns = 2 * uniform_double(words.z, words.w);
#if defined(__CUDA_ARCH__)
  double sin, cos;
  sincospi(half_turns, &sin, &cos);
  return scale_unit_vector(sin, cos, sqrt(-2.0 * log(u)));
#else
  const i32 quarters = static_cast<i32>(2 * half_turns + 0.5);
  const double angle = (half_turns - 0.5 * quarters) * 3.14159265358979324;
  const auto unit = host_math::sin_cos(angle, quarters);
  return scale_unit_vector(unit.sin, unit.cos, __builtin_sqrt(-2 * host_math::log(u)));
#endif
}

// Draws: what the words of one draw become ------------------------------------------------------------

/// The numbers of one draw, in the order of their planes (see random_thread).
template <Distribution distribution, class T>
struct Draw;

template <>
struct Draw<Distribution::uniform, float> {
  static constexpr int count = numbers_per_draw(Distribution::uniform, Type::float32);
  static REFRAIN_HOST_DEVICE void make(Words words, i64, u64, float (&numbers)[count]) {
    numbers[0] = reverse_bounds(uniform_float(words.x));
    numbers[1] = reverse_bounds(uniform_float(words.y));
    numbers[2] = reverse_bounds(uniform_float(words.z));
    numbers[3] = reverse_bounds(uniform_float(words.w));
  }
};

template <>
struct Draw<Distribution::uniform, double> {
  static constexpr int count = numbers_per_draw(Distribution::uniform, Type::float64);
  static REFRAIN_HOST_DEVICE void make(Words words, i64, u64, double (&numbers)[count]) {
    numbers[0] = reverse_bounds(uniform_double(words.x, words.y));
    numbers[1] = reverse_bounds(uniform_double(words.z, words.w));
  }
};

template <>
struct Draw<Distribution::normal, float> {
  static constexpr int count = numbers_per_draw(Distribution::normal, Type::float32);
  static REFRAIN_HOST_DEVICE void make(Words words, i64, u64, float (&numbers)[count]) {
    const Pair<float> xy = normal_floats(words.x, words.y);
    const Pair<float> zw = normal_floats(words.z, words.w);
    numbers[0] = xy.first;
    numbers[1] = xy.second;
    numbers[2] = zw.first;
    numbers[3] = zw.second;
  }
};

template <>
struct Draw<Distribution::normal, double> {
  static constexpr int count = numbers_per_draw(Distribution::normal, Type::float64);
  static REFRAIN_HOST_DEVICE void make(Words words, i64, u64, double (&numbers)[count]) {
    const Pair<double> pair = normal_doubles(words);
    numbers[0] = pair.first;
    numbers[1] = pair.second;
  }
};

template <class T>
struct Draw<Distribution::randint32, T> {
  static constexpr int count = numbers_per_draw(Distribution::randint32, Type::int32);
  static REFRAIN_HOST_DEVICE T number(u32 bits, i64 low, u64 range) {
    return static_cast<T>(static_cast<u64>(low) + bits % static_cast<u32>(range));
  }
  static REFRAIN_HOST_DEVICE void make(Words words, i64 low, u64 range, T (&numbers)[count]) {
    numbers[0] = number(words.x, low, range);
    numbers[1] = number(words.y, low, range);
    numbers[2] = number(words.z, low, range);
    numbers[3] = number(words.w, low, range);
  }
};

template <class T>
struct Draw<Distribution::randint64, T> {
  static constexpr int count = numbers_per_draw(Distribution::randint64, Type::int64);
  static REFRAIN_HOST_DEVICE T number(u32 high, u32 low_bits, i64 low, u64 range) {
    return static_cast<T>(static_cast<u64>(low) + ((u64{high} << 32) | low_bits) % range);
  }
  static REFRAIN_HOST_DEVICE void make(Words words, i64 low, u64 range, T (&numbers)[count]) {
    numbers[0] = number(words.x, words.y, low, range);
    numbers[1] = number(words.z, words.w, low, range);
  }
};

// Layout --------------------------------------------------------------------------------------------

/// The numbers of one thread of `threads`. A round of one draw per thread fills `count` planes of `threads` numbers
/// each: number k of a thread's draw goes to plane k.
template <Distribution distribution, class T>
REFRAIN_HOST_DEVICE void random_thread(const RandomArgs& args, u64 seed, u64 offset, i64 thread, i64 threads) {
  using D = Draw<distribution, T>;
  T* out = static_cast<T*>(args.out);
  u64 draw = offset / 4;
  for (i64 base = thread; base < args.size; base += threads * D::count, ++draw) {
    T numbers[D::count];
    D::make(philox(seed, static_cast<u64>(thread), draw), args.low, args.range, numbers);
    for (int k = 0; k < D::count; ++k) {
      const i64 i = base + k * threads;
      if (i < args.size) out[i] = numbers[k];
    }
  }
}

}  // namespace refrain::kernels
