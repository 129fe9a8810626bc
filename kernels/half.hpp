#pragma once

#include "kernels/config.hpp"

// The 16-bit floating-point types. They are stored; arithmetic is done in float, and each result is rounded to the
// nearest, ties to even. Conversions have no branch, so that host loops vectorise.

namespace refrain::kernels {

/// The float between whose neighbours x lies, with its last bit set if x is none: rounding that to a narrower type
/// gives what rounding x itself would.
REFRAIN_HOST_DEVICE float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  const u32 bits = __builtin_bit_cast(u32, nearest);
  const double rest = bits >> 31 != 0 ? back - x : x - back;  // > 0: nearest is too near to zero
  // The nearest one is even where it is not exact and not the odd one.
  const bool is_even = (bits & 1) == 0;
  const u32 odd = is_even && rest > 0 ? bits + 1 : is_even && rest < 0 ? bits - 1 : bits;
  return __builtin_bit_cast(float, odd);
}

/// IEEE 754 binary16.
struct Half {
  u16 bits;

  Half() = default;
  REFRAIN_HOST_DEVICE explicit Half(float x) : bits(round(x)) {}
  REFRAIN_HOST_DEVICE operator float() const {
    const u32 magnitude = (bits & 0x7fffu) << 13;
    // Times 2^112: the exponent's bias, of subnormal numbers too.
    const float finite = __builtin_bit_cast(float, magnitude) * __builtin_bit_cast(float, 0x77800000u);
    const u32 other = magnitude | 0x7f800000u;  // infinity, NaN
    const u32 unsigned_bits = (bits & 0x7c00u) == 0x7c00u ? other : __builtin_bit_cast(u32, finite);
    return __builtin_bit_cast(float, unsigned_bits | (bits & 0x8000u) << 16);
  }

 private:
  static REFRAIN_HOST_DEVICE u16 round(float x) {
    const u32 all = __builtin_bit_cast(u32, x);
    const u32 magnitude = all & 0x7fffffffu;
    // Adding 1/2 leaves in the last bits what a subnormal number has, rounded.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    const u32 subnormal = __builtin_bit_cast(u32, shifted) - 0x3f000000u;
    const u32 normal = (magnitude + 0xfffu + (magnitude >> 13 & 1) - 0x38000000u) >> 13;
    const u32 finite = magnitude < 0x38800000u ? subnormal : normal;
    const u32 large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, infinity
    return static_cast<u16>((magnitude < 0x477ff000u ? finite : large) | (all >> 16 & 0x8000u));
  }
};

/// The upper half of a float.
struct BFloat {
  u16 bits;

  BFloat() = default;
  REFRAIN_HOST_DEVICE explicit BFloat(float x) : bits(round(x)) {}
  REFRAIN_HOST_DEVICE operator float() const { return __builtin_bit_cast(float, static_cast<u32>(bits) << 16); }

 private:
  static REFRAIN_HOST_DEVICE u16 round(float x) {
    const u32 all = __builtin_bit_cast(u32, x);
    const u32 rounded = (all + 0x7fffu + (all >> 16 & 1)) >> 16;
    return static_cast<u16>((all & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
};

}  // namespace refrain::kernels
