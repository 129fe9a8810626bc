#pragma once

#include "kernels/config.hpp"

// Functions for host loops that g++ and clang vectorise: no branch, no call, no fma, the same result for every
// instruction set. They are plain series (the coefficients are what they look like) with enough terms for each type.

namespace refrain::kernels::host_math {

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = u32;
  static constexpr int mantissa_bits = 23;
  static constexpr int log_terms = 5;  ///< the first one dropped is below 3e-9 of the sum
  static constexpr int sin_terms = 6;  ///< below 1e-11
  static constexpr int cos_terms = 6;  ///< below 2e-10
};
template <>
struct Format<double> {
  using Bits = u64;
  static constexpr int mantissa_bits = 52;
  static constexpr int log_terms = 11;  ///< below 1e-18
  static constexpr int sin_terms = 9;   ///< below 1e-19
  static constexpr int cos_terms = 10;  ///< below 4e-21
};

/// term(First) + x * (term(First + 1) + x * (...)), up to and without term(End).
template <class T, double (*term)(int), int First, int End>
REFRAIN_HOST_DEVICE T series(T x) {
  constexpr T first = static_cast<T>(term(First));
  if constexpr (First + 1 < End) {
    return first + x * series<T, term, First + 1, End>(x);
  } else {
    return first;
  }
}

constexpr double artanh_term(int k) { return 1.0 / (2 * k + 1); }

constexpr double alternating_factorial_term(int k, int n) {
  double result = k % 2 == 0 ? 1 : -1;
  for (int i = 2; i <= n; ++i) result /= i;
  return result;
}
constexpr double sin_term(int k) { return alternating_factorial_term(k, 2 * k + 1); }
constexpr double cos_term(int k) { return alternating_factorial_term(k, 2 * k); }

/// ln(x) of a normal x > 0, to 2 ulp.
template <class T>
REFRAIN_HOST_DEVICE T log(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  // x = 2^exponent * m, m in [sqrt(1/2), sqrt(2)); ln(m) = ln(1 + f) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...).
  constexpr Bits root_half = __builtin_bit_cast(Bits, static_cast<T>(0.70710678118654752));
  constexpr Bits mantissa = (Bits{1} << F::mantissa_bits) - 1;
  constexpr int bias = 1 << (sizeof(Bits) * 8 - F::mantissa_bits - 2);  // so that the shift may be a logical one
  const Bits above = __builtin_bit_cast(Bits, x) - root_half + (Bits{bias} << F::mantissa_bits);
  const i32 exponent = static_cast<i32>(above >> F::mantissa_bits) - bias;
  const T f = __builtin_bit_cast(T, (above & mantissa) + root_half) - 1;
  const T s = f / (f + 2);
  const T z = s * s;
  // 2 s = f - s f, and all that is added to f is small.
  const T log_m = f - s * (f - 2 * z * series<T, artanh_term, 1, F::log_terms>(z));
  return static_cast<T>(exponent) * static_cast<T>(0.69314718055994531) + log_m;
}

template <class T>
struct SinCos {
  T sin, cos;
};

/// Of an angle in [-pi/4, pi/4] plus `quarters` >= 0 quarter turns, each to 2 ulp.
template <class T>
REFRAIN_HOST_DEVICE SinCos<T> sin_cos(T angle, i32 quarters) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  const T z = angle * angle;
  const T s = angle + angle * (z * series<T, sin_term, 1, F::sin_terms>(z));
  const T c = 1 - z * (T(0.5) - z * series<T, cos_term, 2, F::cos_terms>(z));
  const auto turned = static_cast<Bits>(quarters);
  const bool odd = (turned & 1) != 0;
  constexpr int to_sign = sizeof(Bits) * 8 - 2;
  const Bits sin_sign = (turned & 2) << to_sign;
  const Bits cos_sign = ((turned + 1) & 2) << to_sign;
  return {__builtin_bit_cast(T, __builtin_bit_cast(Bits, odd ? c : s) ^ sin_sign),
          __builtin_bit_cast(T, __builtin_bit_cast(Bits, odd ? s : c) ^ cos_sign)};
}

}  // namespace refrain::kernels::host_math
