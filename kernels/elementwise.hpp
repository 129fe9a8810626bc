#pragma once

#include "kernels/args.hpp"

// Bodies of the elementwise ops, shared by host, nvcc and NVRTC. Each op of the table is a struct of its name in `ops`.

namespace refrain::kernels {

// Types ---------------------------------------------------------------------------------------------

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

template <class T>
inline constexpr bool is_float = is_same<T, float> || is_same<T, double>;

/// What memory holds: a bool that other code wrote may be any byte, so it is read as one.
template <class T>
struct StoredAs {
  using type = T;
};
template <>
struct StoredAs<bool> {
  using type = unsigned char;
};
template <class T>
using Stored = typename StoredAs<T>::type;

/// An integer whose arithmetic wraps around (through unsigned: no undefined overflow), comparing as signed.
template <class Signed, class Unsigned>
struct Wrapping {
  Signed value;

  REFRAIN_HOST_DEVICE Wrapping(Signed v) : value(v) {}
  REFRAIN_HOST_DEVICE explicit operator Signed() const { return value; }

  static REFRAIN_HOST_DEVICE Wrapping wrap(Unsigned v) { return static_cast<Signed>(v); }
  REFRAIN_HOST_DEVICE Unsigned bits() const { return static_cast<Unsigned>(value); }

  friend REFRAIN_HOST_DEVICE Wrapping operator+(Wrapping a, Wrapping b) { return wrap(a.bits() + b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator-(Wrapping a, Wrapping b) { return wrap(a.bits() - b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator*(Wrapping a, Wrapping b) { return wrap(a.bits() * b.bits()); }
  friend REFRAIN_HOST_DEVICE Wrapping operator-(Wrapping a) { return wrap(Unsigned{0} - a.bits()); }
  friend REFRAIN_HOST_DEVICE bool operator==(Wrapping a, Wrapping b) { return a.value == b.value; }
  friend REFRAIN_HOST_DEVICE bool operator!=(Wrapping a, Wrapping b) { return a.value != b.value; }
  friend REFRAIN_HOST_DEVICE bool operator<(Wrapping a, Wrapping b) { return a.value < b.value; }
  friend REFRAIN_HOST_DEVICE bool operator>(Wrapping a, Wrapping b) { return a.value > b.value; }
  friend REFRAIN_HOST_DEVICE bool operator<=(Wrapping a, Wrapping b) { return a.value <= b.value; }
  friend REFRAIN_HOST_DEVICE bool operator>=(Wrapping a, Wrapping b) { return a.value >= b.value; }
};

/// What `a` and `b` are in an expression of the table.
template <class T>
struct ComputedAs {
  using type = T;
};
template <>
struct ComputedAs<i32> {
  using type = Wrapping<i32, u32>;
};
template <>
struct ComputedAs<i64> {
  using type = Wrapping<i64, u64>;
};

// Ops -----------------------------------------------------------------------------------------------

namespace ops {

#define REFRAIN_BINARY(name, expression)                  \
  struct name {                                           \
    static constexpr int arity = 2;                       \
    template <class T>                                    \
    static REFRAIN_HOST_DEVICE T apply(T left, T right) { \
      const typename ComputedAs<T>::type a = left;        \
      const typename ComputedAs<T>::type b = right;       \
      return static_cast<T>(expression);                  \
    }                                                     \
  };
#define REFRAIN_UNARY(name, expression)               \
  struct name {                                       \
    static constexpr int arity = 1;                   \
    template <class T>                                \
    static REFRAIN_HOST_DEVICE T apply(T operand) {   \
      const typename ComputedAs<T>::type a = operand; \
      return static_cast<T>(expression);              \
    }                                                 \
  };
#include "kernels/elementwise_table.hpp"

}  // namespace ops

/// False for the few pairs that no caller asks for: they are not compiled.
template <class Op, class T>
inline constexpr bool is_defined = !is_same<T, bool> && !(is_same<Op, ops::div> && !is_float<T>);

// Conversion ----------------------------------------------------------------------------------------

/// Truncates; what does not fit gives the nearest value that does; NaN gives 0. Without a branch or an out-of-range
/// cast.
template <class To, class From>
REFRAIN_HOST_DEVICE To saturate(From x) {
  constexpr To least = static_cast<To>(u64{1} << (8 * sizeof(To) - 1));
  constexpr From low = static_cast<From>(least);  // a power of two: exact
  constexpr From high = -low;                     // the first that does not fit
  const To inside = static_cast<To>(x >= low && x < high ? x : From{0});
  return x >= high ? ~least : x < low ? least : inside;
}

/// Anything but zero, NaN too, is true; float to integer saturates (NaN gives 0); integers wrap around; to float
/// rounds.
template <class To, class From>
REFRAIN_HOST_DEVICE To convert(From x) {
  if constexpr (is_same<To, bool>) {
    return x != From{0};
  } else if constexpr (is_float<From> && !is_float<To>) {
    return saturate<To>(x);
  } else if constexpr (is_same<From, bool>) {
    return static_cast<To>(static_cast<i32>(x));  // g++ 12 does not vectorise bool to float
  } else {
    return static_cast<To>(x);
  }
}

// Scalars -------------------------------------------------------------------------------------------

/// The bytes of `value` as a stored `type`, lowest first, zeros above.
REFRAIN_HOST_DEVICE u64 scalar_bits(Type type, Value value) {
  switch (type) {
    case Type::bool_: return value.i != 0 ? 1 : 0;
    case Type::int32: return static_cast<u32>(value.i);
    case Type::int64: return static_cast<u64>(value.i);
    case Type::float32: return __builtin_bit_cast(u32, static_cast<float>(value.f));
    case Type::float64: return __builtin_bit_cast(u64, value.f);
  }
  return 0;
}

/// What scalar_bits made, read as a type of that size.
template <class T>
REFRAIN_HOST_DEVICE T from_bits(u64 bits) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, bits);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, static_cast<u32>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

// Functors: what the loops of host and device are made from ------------------------------------------

/// Op applied to numbers of one type.
template <class Op, class T>
struct Apply {
  using In = T;
  using Out = T;
  static constexpr int arity = Op::arity;
  static REFRAIN_HOST_DEVICE T apply(T a) { return Op::template apply<T>(a); }
  static REFRAIN_HOST_DEVICE T apply(T a, T b) { return Op::template apply<T>(a, b); }
};

/// A copy that converts. Between equal types use Move.
template <class To, class From>
struct Convert {
  using In = Stored<From>;
  using Out = To;
  static constexpr int arity = 1;
  static REFRAIN_HOST_DEVICE To apply(In a) { return convert<To>(convert<From>(a)); }
};

/// A copy of unsigned integers that stand for any type of their size: bits are kept.
template <class Bits>
struct Move {
  using In = Bits;
  using Out = Bits;
  static constexpr int arity = 1;
  static REFRAIN_HOST_DEVICE Bits apply(Bits a) { return a; }
};

}  // namespace refrain::kernels
