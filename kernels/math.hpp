#pragma once

#include "kernels/config.hpp"

// Functions of the op table, one body for host, nvcc and NVRTC. What IEEE 754 rounds correctly, or is exact, is the
// same on all; the others are those of the host's C library and of CUDA's.

namespace refrain::kernels {

/// An integer whose arithmetic wraps around (through unsigned: no undefined overflow), comparing as itself.
template <class Integer, class Unsigned>
struct Wrapping {
  Integer value;

  REFRAIN_HOST_DEVICE Wrapping(Integer v) : value(v) {}
  REFRAIN_HOST_DEVICE explicit operator Integer() const { return value; }

  static REFRAIN_HOST_DEVICE Wrapping wrap(Unsigned v) { return static_cast<Integer>(v); }
  REFRAIN_HOST_DEVICE Unsigned bits() const { return static_cast<Unsigned>(value); }

  friend REFRAIN_HOST_DEVICE Wrapping operator+(Wrapping a, Wrapping b) { return wrap(a.bits() + b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator-(Wrapping a, Wrapping b) { return wrap(a.bits() - b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator*(Wrapping a, Wrapping b) { return wrap(a.bits() * b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator&(Wrapping a, Wrapping b) { return wrap(a.bits() & b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator|(Wrapping a, Wrapping b) { return wrap(a.bits() | b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator^(Wrapping a, Wrapping b) { return wrap(a.bits() ^ b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator-(Wrapping a) { return wrap(Unsigned{0} - a.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator~(Wrapping a) { return wrap(~a.bits()); }
  friend REFRAIN_HOST_DEVICE bool operator==(Wrapping a, Wrapping b) { return a.value == b.value; }
  friend REFRAIN_HOST_DEVICE bool operator!=(Wrapping a, Wrapping b) { return a.value != b.value; }
  friend REFRAIN_HOST_DEVICE bool operator<(Wrapping a, Wrapping b) { return a.value < b.value; }
  friend REFRAIN_HOST_DEVICE bool operator>(Wrapping a, Wrapping b) { return a.value > b.value; }
  friend REFRAIN_HOST_DEVICE bool operator<=(Wrapping a, Wrapping b) { return a.value <= b.value; }
  friend REFRAIN_HOST_DEVICE bool operator>=(Wrapping a, Wrapping b) { return a.value >= b.value; }
};

namespace math {

/// -1; 0, which is no divisor, where there is none.
template <class Integer>
inline constexpr Integer minus_one = static_cast<Integer>(-1) < 0 ? static_cast<Integer>(-1) : 0;

template <class Integer>
REFRAIN_HOST_DEVICE bool is_negative(Integer x) {
  if constexpr (minus_one<Integer> == 0) {
    return false;
  } else {
    return x < 0;
  }
}

#if defined(__CUDA_ARCH__)
#define REFRAIN_FLOAT_FUNCTION(name)                               \
  REFRAIN_HOST_DEVICE float name(float x) { return ::name##f(x); } \
  REFRAIN_HOST_DEVICE double name(double x) { return ::name(x); }
#define REFRAIN_BUILTIN(name) ::name
#else
#define REFRAIN_FLOAT_FUNCTION(name)                                         \
  REFRAIN_HOST_DEVICE float name(float x) { return __builtin_##name##f(x); } \
  REFRAIN_HOST_DEVICE double name(double x) { return __builtin_##name(x); }
#define REFRAIN_BUILTIN(name) __builtin_##name
#endif

// Exact, or rounded correctly.
REFRAIN_FLOAT_FUNCTION(floor)
REFRAIN_FLOAT_FUNCTION(ceil)
REFRAIN_FLOAT_FUNCTION(trunc)
REFRAIN_FLOAT_FUNCTION(sqrt)
// As the host's and the device's C libraries have them.
REFRAIN_FLOAT_FUNCTION(exp)
REFRAIN_FLOAT_FUNCTION(expm1)
REFRAIN_FLOAT_FUNCTION(log)
REFRAIN_FLOAT_FUNCTION(log1p)
REFRAIN_FLOAT_FUNCTION(sin)
REFRAIN_FLOAT_FUNCTION(cos)
REFRAIN_FLOAT_FUNCTION(tanh)
REFRAIN_FLOAT_FUNCTION(erf)

/// Ties to even.
REFRAIN_HOST_DEVICE float round(float x) { return REFRAIN_BUILTIN(rintf)(x); }
REFRAIN_HOST_DEVICE double round(double x) { return REFRAIN_BUILTIN(rint)(x); }

REFRAIN_HOST_DEVICE float pow(float x, float y) { return REFRAIN_BUILTIN(powf)(x, y); }
REFRAIN_HOST_DEVICE double pow(double x, double y) { return REFRAIN_BUILTIN(pow)(x, y); }
/// x^y; with y < 0 the integer part of that.
template <class Integer, class Unsigned>
REFRAIN_HOST_DEVICE Wrapping<Integer, Unsigned> pow(Wrapping<Integer, Unsigned> x, Wrapping<Integer, Unsigned> y) {
  using Number = Wrapping<Integer, Unsigned>;
  const Number one(Integer{1});
  if (is_negative(y.value)) {
    const bool is_odd = (y.bits() & 1) != 0;
    if (x == one || (x == -one && !is_odd)) return one;
    return x == -one ? x : Number(Integer{0});
  }
  Number result = one;
  for (Unsigned rest = y.bits(); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result * x;
    x = x * x;
  }
  return result;
}

REFRAIN_HOST_DEVICE float fmod(float x, float y) { return REFRAIN_BUILTIN(fmodf)(x, y); }
REFRAIN_HOST_DEVICE double fmod(double x, double y) { return REFRAIN_BUILTIN(fmod)(x, y); }
REFRAIN_HOST_DEVICE float copysign(float x, float y) { return REFRAIN_BUILTIN(copysignf)(x, y); }
REFRAIN_HOST_DEVICE double copysign(double x, double y) { return REFRAIN_BUILTIN(copysign)(x, y); }
REFRAIN_HOST_DEVICE float abs(float x) { return REFRAIN_BUILTIN(fabsf)(x); }
REFRAIN_HOST_DEVICE double abs(double x) { return REFRAIN_BUILTIN(fabs)(x); }

#undef REFRAIN_FLOAT_FUNCTION
#undef REFRAIN_BUILTIN

template <class Integer, class Unsigned>
REFRAIN_HOST_DEVICE Wrapping<Integer, Unsigned> abs(Wrapping<Integer, Unsigned> x) {
  return is_negative(x.value) ? -x : x;
}

/// x - y * floor_divide(x, y): of y's sign, as in Python.
template <class T>
REFRAIN_HOST_DEVICE T remainder(T x, T y) {
  const T rest = fmod(x, y);
  if (rest == 0) return copysign(T{0}, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
/// The same; 0 where y is 0.
template <class Integer, class Unsigned>
REFRAIN_HOST_DEVICE Wrapping<Integer, Unsigned> remainder(Wrapping<Integer, Unsigned> x,
                                                          Wrapping<Integer, Unsigned> y) {
  if (y.value == 0 || y.value == minus_one<Integer>) return Integer{0};  // by -1 the division could overflow
  const auto rest = static_cast<Integer>(x.value % y.value);
  return rest != 0 && is_negative(rest) != is_negative(y.value) ? static_cast<Integer>(rest + y.value) : rest;
}

/// The largest whole number that is not above x / y.
template <class T>
REFRAIN_HOST_DEVICE T floor_divide(T x, T y) {
  if (y == 0) return x / y;
  const T rest = fmod(x, y);
  T quotient = (x - rest) / y;  // nearly whole
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return copysign(T{0}, x / y);
  const T whole = floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}
/// The same; 0 where y is 0.
template <class Integer, class Unsigned>
REFRAIN_HOST_DEVICE Wrapping<Integer, Unsigned> floor_divide(Wrapping<Integer, Unsigned> x,
                                                             Wrapping<Integer, Unsigned> y) {
  using Number = Wrapping<Integer, Unsigned>;
  if (y.value == 0) return Integer{0};
  if (y.value == minus_one<Integer>) return -x;
  const Number quotient = static_cast<Integer>(x.value / y.value);
  const bool is_above = x.value % y.value != 0 && is_negative(x.value) != is_negative(y.value);
  return is_above ? quotient - Number(Integer{1}) : quotient;
}

/// NaN where one is.
template <class T>
REFRAIN_HOST_DEVICE T minimum(T x, T y) {
  return x < y || x != x ? x : y;
}
template <class T>
REFRAIN_HOST_DEVICE T maximum(T x, T y) {
  return x > y || x != x ? x : y;
}

/// -1, 0 or 1; NaN of NaN, and a zero of its own sign.
template <class T>
REFRAIN_HOST_DEVICE T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class Integer, class Unsigned>
REFRAIN_HOST_DEVICE Wrapping<Integer, Unsigned> sign(Wrapping<Integer, Unsigned> x) {
  return static_cast<Integer>(is_negative(x.value) ? -1 : x.value != 0 ? 1 : 0);
}

/// 1 / (1 + exp(-x)), without an exponential that overflows.
template <class T>
REFRAIN_HOST_DEVICE T sigmoid(T x) {
  const T small = exp(-abs(x));
  return (x < 0 ? small : T(1)) / (1 + small);
}

/// x * sigmoid(x), -0 of -inf. Far below 0 the exponential is scaled, so that what is subnormal is rounded once.
template <class T>
REFRAIN_HOST_DEVICE T silu(T x) {
  constexpr bool is_wide = sizeof(T) == 8;
  constexpr T far = is_wide ? T(-600) : T(-64);
  constexpr T shift = is_wide ? T(512) : T(32);  // x + shift is exact from here on
  constexpr T scale = is_wide ? T(4.377491037053051e-223) : T(1.2664165549094176e-14);  // exp(-shift)
  constexpr T nothing = is_wide ? T(-1500) : T(-200);
  const T y = x < nothing ? nothing : x;
  const bool is_far = y < far;
  const T power = exp(is_far ? y + shift : -abs(y));
  const T share = y < 0 ? y * power : y;
  return is_far ? share * scale : share / (1 + power);
}

/// x times the normal distribution's share below it; -0 of -inf.
template <class T>
REFRAIN_HOST_DEVICE T gelu(T x) {
  const T y = x < T(-100) ? T(-100) : x;  // where nothing is below
  return T(0.5) * y * (1 + erf(y * T(0.70710678118654752)));
}

template <class T>
REFRAIN_HOST_DEVICE T bitwise_not(T x) {
  return ~x;
}
REFRAIN_HOST_DEVICE bool bitwise_not(bool x) { return !x; }

}  // namespace math
}  // namespace refrain::kernels
