#pragma once

#include "kernels/args.hpp"
#include "kernels/half.hpp"
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

REFRAIN_HOST_DEVICE u64 wide_product(u32 a, u32 b) {
#if defined(__CUDA_ARCH__)
  // The other form becomes a product of 64 bits each, with an addition of 0 to the upper half that is not left out.
  return u64{__umulhi(a, b)} << 32 | a * b;
#else
  return u64{a} * b;
#endif
}

/// Draw number `draw` of `subsequence`: cuRAND's curand_init(seed, subsequence, 4 * draw), then curand4.
REFRAIN_HOST_DEVICE Words philox(u64 seed, u64 subsequence, u64 draw) {
  u32 key_x = static_cast<u32>(seed);
  u32 key_y = static_cast<u32>(seed >> 32);
  Words c{static_cast<u32>(draw), static_cast<u32>(draw >> 32), static_cast<u32>(subsequence),
          static_cast<u32>(subsequence >> 32)};
  for (int round = 0; round < 10; ++round) {
    const u64 x = wide_product(0xD2511F53u, c.x);
    const u64 z = wide_product(0xCD9E8D57u, c.z);
    c = {static_cast<u32>(z >> 32) ^ c.y ^ key_x, static_cast<u32>(z), static_cast<u32>(x >> 32) ^ c.w ^ key_y,
         static_cast<u32>(x)};
    key_x += 0x9E3779B9u;
    key_y += 0xBB67AE85u;
  }
  return c;
}

/// a * b + c, rounded once.
REFRAIN_HOST_DEVICE float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
REFRAIN_HOST_DEVICE double fused(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

// Uniform numbers in (0, 1] -----------------------------------------------------------------------------

/// The product is exact, so that the host has no need of an fma, of which some processors have none.
REFRAIN_HOST_DEVICE float uniform_float(u32 x) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(static_cast<float>(x), 0x1p-32f, 0x1p-33f);
#else
  return static_cast<float>(x) * 0x1p-32f + 0x1p-33f;
#endif
}

/// Of the 53 bits x ^ (y << 21). Every product is exact.
REFRAIN_HOST_DEVICE double uniform_double(u32 x, u32 y) {
  const double bits = static_cast<double>(y >> 11) * 0x1p32 + static_cast<double>(x ^ (y << 21));
  return bits * 0x1p-53 + 0x1p-54;
}

// Normal numbers: Box and Muller ---------------------------------------------------------------------

template <class T>
struct Pair {
  T first, second;
};

template <class T>
REFRAIN_HOST_DEVICE Pair<T> scale_unit_vector(T sin, T cos, T radius) {
  return {sin * radius, cos * radius};
}

#if defined(__CUDA_ARCH__)
/// sqrtf of zero or of a number from 2^-101 on: the instructions that it has for those, bit for bit, without the branch
/// to those for the others, at which a kernel of several draws would wait for one draw after another.
REFRAIN_HOST_DEVICE float sqrt_without_branch(float x) {
  float reciprocal;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
  const float root = __fmul_rn(x, reciprocal);
  const float corrected = __fmaf_rn(__fmaf_rn(-root, root, x), __fmul_rn(reciprocal, 0.5f), root);
  return x == 0 ? x : corrected;
}
#endif

REFRAIN_HOST_DEVICE Pair<float> normal_floats(u32 x, u32 y) {
  constexpr float turn = 0x1p-32f * 6.2831855f;
  const float u = uniform_float(x);
#if defined(__CUDA_ARCH__)
  float sin, cos;
  __sincosf(__fmaf_rn(static_cast<float>(y), turn, turn / 2), &sin, &cos);
  return scale_unit_vector(sin, cos, sqrt_without_branch(-2.0f * logf(u)));
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

// Parameters: what PyTorch makes of standard numbers, in a build that contracts
// ---------------------------------------------------

/// The type that numbers of T are made in, before they are rounded to it.
template <class T>
struct MadeIn {
  using Type = float;
};
template <>
struct MadeIn<double> {
  using Type = double;
};

/// (0, 1] to [low, high): what is rounded to `high` becomes `low`.
template <class T>
struct ToUniform {
  using Made = typename MadeIn<T>::Type;
  Made low, high, range;

  REFRAIN_HOST_DEVICE explicit ToUniform(const RandomArgs& args)
      : low(static_cast<Made>(T(static_cast<Made>(args.first)))),
        high(static_cast<Made>(T(static_cast<Made>(args.second)))),
        range(static_cast<Made>(T(high - low))) {}
  REFRAIN_HOST_DEVICE T operator()(Made u) const {
    const T number(fused(u, range, low));
    return static_cast<Made>(number) == high ? T(low) : number;
  }
};

/// ToUniform from 0 to 1.
template <class T>
struct ToUnit {
  using Made = typename MadeIn<T>::Type;
  REFRAIN_HOST_DEVICE explicit ToUnit(const RandomArgs&) {}
  REFRAIN_HOST_DEVICE T operator()(Made u) const {
    const T number(u);
#if defined(__CUDA_ARCH__)
    // 1 less 1, and what is below 1 - 2^-24 or that less 0: additions, where the pipe of comparisons is what is short.
    if constexpr (is_same<T, float>) return number - __saturatef(__fmaf_rn(number, 0x1p24f, 1 - 0x1p24f));
#endif
    return static_cast<Made>(number) == 1 ? T(0) : number;
  }
};

template <class T>
struct ToNormal {
  using Made = typename MadeIn<T>::Type;
  Made mean, deviation;

  REFRAIN_HOST_DEVICE explicit ToNormal(const RandomArgs& args)
      : mean(static_cast<Made>(args.first)), deviation(static_cast<Made>(args.second)) {}
  REFRAIN_HOST_DEVICE T operator()(Made standard) const {
#if defined(__CUDA_ARCH__)
    return T(fused(standard, deviation, mean));
#else
    // Its standard numbers are near the GPU's only, and without an fma this vectorises for every instruction set.
    return T(standard * deviation + mean);
#endif
  }
};

template <class T>
struct ToBernoulli {
  using Made = typename MadeIn<T>::Type;
  Made p;

  REFRAIN_HOST_DEVICE explicit ToBernoulli(const RandomArgs& args) : p(static_cast<Made>(args.first)) {}
  /// u is 1 now and then, where PyTorch gives 0 even for p == 1.
  REFRAIN_HOST_DEVICE T operator()(Made u) const { return T(static_cast<Made>(u < p || p == 1)); }
};

template <class T>
struct ToExponential {
  using Made = typename MadeIn<T>::Type;
  Made scale;

  REFRAIN_HOST_DEVICE explicit ToExponential(const RandomArgs& args) : scale(-1 / static_cast<Made>(args.first)) {}
  REFRAIN_HOST_DEVICE T operator()(Made u) const {
    constexpr Made half_ulp = sizeof(Made) == 4 ? Made(0x1p-24) : Made(0x1p-53);
    // Never 0, so that no number is.
    return T(scale * (u >= 1 - half_ulp ? -half_ulp : log(u)));
  }
  static REFRAIN_HOST_DEVICE float log(float u) {
#if defined(__CUDA_ARCH__)
    return __logf(u);
#else
    return host_math::log(u);
#endif
  }
  static REFRAIN_HOST_DEVICE double log(double u) {
#if defined(__CUDA_ARCH__)
    return ::log(u);
#else
    return host_math::log(u);
#endif
  }
};

// Draws: what the words of one draw become ------------------------------------------------------------

/// The numbers of one draw, in the order of their planes (see random_thread).
template <Distribution distribution, class T>
struct Draw;

/// Numbers made of uniform ones of (0, 1].
template <class T, class To>
struct UniformDraw {
  static constexpr int count = sizeof(typename To::Made) == 8 ? 2 : 4;
  To to;

  REFRAIN_HOST_DEVICE explicit UniformDraw(const RandomArgs& args) : to(args) {}
  REFRAIN_HOST_DEVICE void make(Words words, T (&numbers)[count]) const {
    if constexpr (count == 2) {
      numbers[0] = to(uniform_double(words.x, words.y));
      numbers[1] = to(uniform_double(words.z, words.w));
    } else {
      numbers[0] = to(uniform_float(words.x));
      numbers[1] = to(uniform_float(words.y));
      numbers[2] = to(uniform_float(words.z));
      numbers[3] = to(uniform_float(words.w));
    }
  }
};

template <class T>
struct Draw<Distribution::uniform, T> : UniformDraw<T, ToUniform<T>> {
  using UniformDraw<T, ToUniform<T>>::UniformDraw;
};
template <class T>
struct Draw<Distribution::bernoulli, T> : UniformDraw<T, ToBernoulli<T>> {
  using UniformDraw<T, ToBernoulli<T>>::UniformDraw;
};
template <class T>
struct Draw<Distribution::exponential, T> : UniformDraw<T, ToExponential<T>> {
  using UniformDraw<T, ToExponential<T>>::UniformDraw;
};

template <class T>
struct Draw<Distribution::normal, T> {
  static constexpr int count = sizeof(typename MadeIn<T>::Type) == 8 ? 2 : 4;
  ToNormal<T> to;

  REFRAIN_HOST_DEVICE explicit Draw(const RandomArgs& args) : to(args) {}
  REFRAIN_HOST_DEVICE void make(Words words, T (&numbers)[count]) const {
    if constexpr (count == 2) {
      const Pair<double> pair = normal_doubles(words);
      numbers[0] = to(pair.first);
      numbers[1] = to(pair.second);
    } else {
      const Pair<float> xy = normal_floats(words.x, words.y);
      const Pair<float> zw = normal_floats(words.z, words.w);
      numbers[0] = to(xy.first);
      numbers[1] = to(xy.second);
      numbers[2] = to(zw.first);
      numbers[3] = to(zw.second);
    }
  }
};

template <class T>
struct Draw<Distribution::randint32, T> {
  static constexpr int count = 4;
  i64 low;
  u32 range;

  REFRAIN_HOST_DEVICE explicit Draw(const RandomArgs& args) : low(args.low), range(static_cast<u32>(args.range)) {}
  REFRAIN_HOST_DEVICE T number(u32 bits) const { return static_cast<T>(static_cast<u64>(low) + bits % range); }
  REFRAIN_HOST_DEVICE void make(Words words, T (&numbers)[count]) const {
    numbers[0] = number(words.x);
    numbers[1] = number(words.y);
    numbers[2] = number(words.z);
    numbers[3] = number(words.w);
  }
};

template <class T>
struct Draw<Distribution::randint64, T> {
  static constexpr int count = 2;
  i64 low;
  u64 range;

  REFRAIN_HOST_DEVICE explicit Draw(const RandomArgs& args) : low(args.low), range(args.range) {}
  REFRAIN_HOST_DEVICE T number(u32 high, u32 low_bits) const {
    return static_cast<T>(static_cast<u64>(low) + ((u64{high} << 32) | low_bits) % range);
  }
  REFRAIN_HOST_DEVICE void make(Words words, T (&numbers)[count]) const {
    numbers[0] = number(words.x, words.y);
    numbers[1] = number(words.z, words.w);
  }
};

/// Calls visit.at<distribution, T>() for a draw of the type; false when there is none.
template <Distribution distribution, class Visit>
bool visit_float_draw(Type type, Visit& visit) {
  switch (type) {
    case Type::float16: return visit.template at<distribution, Half>();
    case Type::bfloat16: return visit.template at<distribution, BFloat>();
    case Type::float32: return visit.template at<distribution, float>();
    case Type::float64: return visit.template at<distribution, double>();
    default: return false;
  }
}
template <Distribution distribution, class Visit>
bool visit_integer_draw(Type type, Visit& visit) {
  switch (type) {
    case Type::int32: return visit.template at<distribution, i32>();
    case Type::int64: return visit.template at<distribution, i64>();
    default: return false;
  }
}
template <class Visit>
bool visit_draw(Distribution distribution, Type type, Visit& visit) {
  switch (distribution) {
    case Distribution::uniform: return visit_float_draw<Distribution::uniform>(type, visit);
    case Distribution::normal: return visit_float_draw<Distribution::normal>(type, visit);
    case Distribution::exponential: return visit_float_draw<Distribution::exponential>(type, visit);
    case Distribution::bernoulli:
      if (type == Type::bool_) return visit.template at<Distribution::bernoulli, u8>();
      return visit_float_draw<Distribution::bernoulli>(type, visit);
    case Distribution::randint32: return visit_integer_draw<Distribution::randint32>(type, visit);
    case Distribution::randint64: return visit_integer_draw<Distribution::randint64>(type, visit);
  }
  return false;
}

// Layout --------------------------------------------------------------------------------------------

/// The numbers of one thread of `threads`. A round of one draw per thread fills `count` planes of `threads` numbers
/// each: number k of a thread's draw goes to plane k.
template <Distribution distribution, class T>
REFRAIN_HOST_DEVICE void random_thread(const RandomArgs& args, u64 seed, u64 offset, i64 thread, i64 threads) {
  using D = Draw<distribution, T>;
  const D of(args);
  T* out = static_cast<T*>(args.out);
  u64 draw = offset / 4;
  for (i64 base = thread; base < args.size; base += threads * D::count, ++draw) {
    T numbers[D::count];
    of.make(philox(seed, static_cast<u64>(thread), draw), numbers);
    for (int k = 0; k < D::count; ++k) {
      const i64 i = base + k * threads;
      if (i < args.size) out[i] = numbers[k];
    }
  }
}

}  // namespace refrain::kernels
