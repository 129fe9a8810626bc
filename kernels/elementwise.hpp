#pragma once

#include "kernels/args.hpp"
#include "kernels/half.hpp"
#include "kernels/math.hpp"

// Bodies of the elementwise ops, shared by host, nvcc and NVRTC. Each op of the table is a struct of its name in `ops`.

namespace refrain::kernels {

// Types ---------------------------------------------------------------------------------------------

template <class T>
inline constexpr bool is_half = is_same<T, Half> || is_same<T, BFloat>;
template <class T>
inline constexpr bool is_float = is_same<T, float> || is_same<T, double> || is_half<T>;

/// What memory holds: a bool that other code wrote may be any byte, so it is read as one.
template <class T>
struct StoredAs {
  using type = T;
};
template <>
struct StoredAs<bool> {
  using type = u8;
};
template <class T>
using Stored = typename StoredAs<T>::type;

/// The type of expressions in the table: integers wrap around, 16-bit numbers are computed with in float.
template <class T>
struct ComputedAs {
  using type = T;
};
template <>
struct ComputedAs<u8> {
  using type = Wrapping<u8, u32>;
};
template <>
struct ComputedAs<i32> {
  using type = Wrapping<i32, u32>;
};
template <>
struct ComputedAs<i64> {
  using type = Wrapping<i64, u64>;
};
template <>
struct ComputedAs<Half> {
  using type = float;
};
template <>
struct ComputedAs<BFloat> {
  using type = float;
};
template <class T>
using Computed = typename ComputedAs<T>::type;

// Ops -----------------------------------------------------------------------------------------------

/// The types that an op of the table is defined for.
namespace domains {
template <class T>
inline constexpr bool all = true;
template <class T>
inline constexpr bool numbers = !is_same<T, bool>;
template <class T>
inline constexpr bool floats = is_float<T>;
template <class T>
inline constexpr bool bits = !is_float<T>;
template <class T>
inline constexpr bool logic = is_same<T, bool>;
}  // namespace domains

namespace results {
template <class T>
using same = T;
template <class T>
using truth = bool;
}  // namespace results

namespace ops {

#define REFRAIN_OP(name, arity_, domain, result, parameters, expression) \
  struct name {                                                          \
    static constexpr int arity = arity_;                                 \
    template <class T>                                                   \
    static constexpr bool takes = domains::domain<T>;                    \
    template <class T>                                                   \
    using Result = results::result<T>;                                   \
    template <class T>                                                   \
    static REFRAIN_HOST_DEVICE Result<T> apply parameters {              \
      return static_cast<Result<T>>(expression);                         \
    }                                                                    \
  };
#define REFRAIN_UNARY(name, domain, result, expression) REFRAIN_OP(name, 1, domain, result, (Computed<T> a), expression)
#define REFRAIN_BINARY(name, domain, result, expression) \
  REFRAIN_OP(name, 2, domain, result, (Computed<T> a, Computed<T> b), expression)
#define REFRAIN_TERNARY(name, domain, result, expression) \
  REFRAIN_OP(name, 3, domain, result, (Computed<T> a, Computed<T> b, Computed<T> c), expression)
#include "kernels/elementwise_table.hpp"
#undef REFRAIN_OP

}  // namespace ops

// Conversion ----------------------------------------------------------------------------------------

/// Truncates; what does not fit gives the nearest value that does; NaN gives 0. Without a branch or an out-of-range
/// cast.
template <class To, class From>
REFRAIN_HOST_DEVICE To saturate(From x) {
  constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(0);
  constexpr To least = is_signed ? static_cast<To>(u64{1} << (8 * sizeof(To) - 1)) : To{0};
  constexpr From low = static_cast<From>(least);  // a power of two or 0: exact
  constexpr From high = is_signed ? -low : static_cast<From>(u64{1} << (8 * sizeof(To) - 1)) * 2;  // does not fit
  const To inside = static_cast<To>(x >= low && x < high ? x : From{0});
  return x >= high ? static_cast<To>(~least) : x < low ? least : inside;
}

/// Integers as the nearest double, ties and all that is between two rounded to an odd one.
REFRAIN_HOST_DEVICE double to_odd_double(i64 x) {
  constexpr i64 exact = i64{1} << 53;
  if (x <= exact && x >= -exact) return static_cast<double>(x);
  const i64 sticky = (x & 0x7ff) != 0 ? 1 : 0;  // of the bits that are dropped
  return static_cast<double>(x >> 11 | sticky) * 2048;
}
template <class T>
REFRAIN_HOST_DEVICE double to_odd_double(T x) {
  return static_cast<double>(x);
}

/// Anything but zero, NaN too, is true; float to integer saturates (NaN gives 0); integers wrap around; to float
/// rounds once.
template <class To, class From>
REFRAIN_HOST_DEVICE To convert(From x) {
  if constexpr (is_half<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_same<To, bool>) {
    return x != From{0};
  } else if constexpr (is_half<To>) {
    if constexpr (is_same<From, float>) {
      return To(x);
    } else if constexpr (is_same<From, bool>) {
      return To(x ? 1.0F : 0.0F);
    } else {
      return To(round_to_odd(to_odd_double(x)));
    }
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
    case Type::uint8: return static_cast<u8>(value.i);
    case Type::int32: return static_cast<u32>(value.i);
    case Type::int64: return static_cast<u64>(value.i);
    case Type::float16: return convert<Half>(value.f).bits;
    case Type::bfloat16: return convert<BFloat>(value.f).bits;
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
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, static_cast<u16>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

// Functors: what the loops of host and device are made from. In<k> is what input k's memory holds, Out the output's.

/// An op of the table on one type.
template <class Op, class T>
struct Apply {
  template <int k>
  using In = Stored<T>;
  using Out = typename Op::template Result<T>;
  static constexpr int arity = Op::arity;

  template <class... Inputs>
  static REFRAIN_HOST_DEVICE Out apply(Inputs... inputs) {
    return Op::template apply<T>(computed(inputs)...);
  }

 private:
  static REFRAIN_HOST_DEVICE Computed<T> computed(Stored<T> x) {
    if constexpr (is_same<T, bool>) {
      return x != 0;
    } else {
      return x;
    }
  }
};

/// A copy that converts. Between equal types use Move.
template <class To, class From>
struct Convert {
  template <int k>
  using In = Stored<From>;
  using Out = To;
  static constexpr int arity = 1;
  static REFRAIN_HOST_DEVICE To apply(Stored<From> a) { return convert<To>(convert<From>(a)); }
};

/// A copy of unsigned integers that stand for any type of their size: bits are kept.
template <class Bits>
struct Move {
  template <int k>
  using In = Bits;
  using Out = Bits;
  static constexpr int arity = 1;
  static REFRAIN_HOST_DEVICE Bits apply(Bits a) { return a; }
};

template <class Bits, int k>
struct SelectInput {
  using type = Bits;
};
template <class Bits>
struct SelectInput<Bits, 0> {
  using type = u8;
};

/// `where`: one of two, bits kept.
template <class Bits>
struct Select {
  template <int k>
  using In = typename SelectInput<Bits, k>::type;
  using Out = Bits;
  static constexpr int arity = 3;
  static REFRAIN_HOST_DEVICE Bits apply(u8 condition, Bits a, Bits b) { return condition != 0 ? a : b; }
};

/// The unsigned integer of a size.
template <int size>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = u8;
};
template <>
struct BitsOf<2> {
  using type = u16;
};
template <>
struct BitsOf<4> {
  using type = u32;
};
template <>
struct BitsOf<8> {
  using type = u64;
};

/// Divides by 32 bits where both fit: several times faster on a GPU.
REFRAIN_HOST_DEVICE i64 divide(i64 x, i64 y) {
  if (((x | y) >> 32) == 0) return static_cast<i64>(static_cast<u32>(x) / static_cast<u32>(y));
  return x / y;
}

/// log2 of an element's bytes.
REFRAIN_HOST_DEVICE int size_exponent(Type type) {
  constexpr unsigned char exponents[] = {0, 0, 2, 3, 1, 1, 2, 3};
  return exponents[static_cast<int>(type)];
}
REFRAIN_HOST_DEVICE i64 element_size(Type type) { return i64{1} << size_exponent(type); }

/// What input k's elements are.
REFRAIN_HOST_DEVICE Type input_type(const ElementwiseArgs& args, int k) {
  return args.op == ElementwiseOp::where && k == 0 ? Type::bool_ : args.in_type;
}

}  // namespace refrain::kernels
