#pragma once

#include "kernels/elementwise.hpp"
#include "kernels/offsets.hpp"

// The order of every reduction, a function of the number of elements alone, the same on the host and on devices:
//
//   * Elements, in row-major order of the reduced axes, are cut into chunks of reduce_chunk; the results of the chunks
//     are reduced in the same way, until one is left.
//   * In a chunk, element i belongs to lane i % reduce_lanes. A lane starts from the op's identity and takes its
//     elements in order.
//   * Lanes are combined by halves: with s = reduce_lanes / 2, ..., 2, 1, lane l takes lane l + s, for each l < s.
//
// What it computes in (`acc_type`): float64 for float32, float32 for the 16-bit types, int64 for integers. min and max
// keep the type.

namespace refrain::kernels {

inline constexpr i64 reduce_lanes = 1024;
inline constexpr i64 reduce_chunk = 8192;

/// The least, or largest, value of a type; infinities of floats.
template <class T>
REFRAIN_HOST_DEVICE T extreme(bool largest) {
  if constexpr (is_same<T, double>) {
    const double infinity = __builtin_huge_val();
    return largest ? infinity : -infinity;
  } else if constexpr (is_float<T>) {
    const float infinity = __builtin_huge_valf();
    return static_cast<T>(largest ? infinity : -infinity);
  } else if constexpr (is_same<T, u8>) {
    return largest ? u8{255} : u8{0};
  } else {
    const T least = static_cast<T>(u64{1} << (8 * sizeof(T) - 1));
    return largest ? static_cast<T>(~least) : least;
  }
}

/// A reduction of In in Acc: start from `identity`, `take` the element at a position, `combine` two results.
template <class In_, class Acc_>
struct Sum {
  using In = In_;
  using Acc = Acc_;
  static REFRAIN_HOST_DEVICE Acc identity() { return Acc{0}; }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return combine(acc, convert<Acc>(x)); }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) { return static_cast<Acc>(Computed<Acc>(a) + Computed<Acc>(b)); }
};

template <class In, class Acc>
struct SumOfSquares : Sum<In, Acc> {
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) {
    const auto y = convert<Acc>(x);
    return acc + y * y;
  }
};

template <class In_, class Acc_>
struct Product {
  using In = In_;
  using Acc = Acc_;
  static REFRAIN_HOST_DEVICE Acc identity() { return Acc{1}; }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return combine(acc, convert<Acc>(x)); }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) { return static_cast<Acc>(Computed<Acc>(a) * Computed<Acc>(b)); }
};

template <class T>
struct Least {
  using In = T;
  using Acc = T;
  static REFRAIN_HOST_DEVICE Acc identity() { return extreme<T>(true); }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return combine(acc, x); }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) {
    return static_cast<Acc>(math::minimum(Computed<T>(a), Computed<T>(b)));
  }
};

template <class T>
struct Largest {
  using In = T;
  using Acc = T;
  static REFRAIN_HOST_DEVICE Acc identity() { return extreme<T>(false); }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return combine(acc, x); }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) {
    return static_cast<Acc>(math::maximum(Computed<T>(a), Computed<T>(b)));
  }
};

/// Of bools that are stored in a byte: the position of the first that is true.
struct First {
  using In = u8;
  using Acc = i64;
  static REFRAIN_HOST_DEVICE Acc identity() { return extreme<i64>(true); }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64 position) { return x != 0 && position < acc ? position : acc; }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) { return a < b ? a : b; }
};

/// The result of a row or a chunk, as it is stored.
template <class Acc>
REFRAIN_HOST_DEVICE void store_result(const ReduceArgs& args, i64 at, Acc acc) {
  if constexpr (is_same<Acc, float> || is_same<Acc, double>) {
    if (args.divisor != 1) acc = acc / static_cast<Acc>(args.divisor);
  }
  if (args.out_type == args.acc_type) {
    static_cast<Acc*>(args.out)[at] = acc;
    return;
  }
  if constexpr (is_same<Acc, double>) {
    static_cast<float*>(args.out)[at] = static_cast<float>(acc);
  } else if constexpr (is_same<Acc, float>) {
    if (args.out_type == Type::float16) {
      static_cast<Half*>(args.out)[at] = Half(acc);
    } else {
      static_cast<BFloat*>(args.out)[at] = BFloat(acc);
    }
  }
}

/// The reductions there are, by op and type of their input; `Entry<Reduction>::make()` of the one that is asked for.
/// In float as acc_type there is float32 too: the results of chunks of 16-bit numbers.
template <template <class> class Entry>
auto find_reduction(ReduceOp op, Type in, Type acc) -> decltype(Entry<First>::make()) {
  using Made = decltype(Entry<First>::make());
  if (op == ReduceOp::first) return Entry<First>::make();
  if (op == ReduceOp::min || op == ReduceOp::max) {
    const bool least = op == ReduceOp::min;
#define REFRAIN_EXTREME(name, T) \
  case Type::name: return least ? Entry<Least<T>>::make() : Entry<Largest<T>>::make();
    switch (in) {
      REFRAIN_EXTREME(bool_, u8)
      REFRAIN_EXTREME(uint8, u8)
      REFRAIN_EXTREME(int32, i32)
      REFRAIN_EXTREME(int64, i64)
      REFRAIN_EXTREME(float16, Half)
      REFRAIN_EXTREME(bfloat16, BFloat)
      REFRAIN_EXTREME(float32, float)
      REFRAIN_EXTREME(float64, double)
    }
#undef REFRAIN_EXTREME
    return Made{};
  }
  const bool squares = op == ReduceOp::sum_of_squares;
#define REFRAIN_ARITHMETIC(In, Acc)                                  \
  return op == ReduceOp::prod ? Entry<Product<In, Acc>>::make()      \
         : squares            ? Entry<SumOfSquares<In, Acc>>::make() \
                              : Entry<Sum<In, Acc>>::make();
#define REFRAIN_INTEGER(In) return op == ReduceOp::prod ? Entry<Product<In, i64>>::make() : Entry<Sum<In, i64>>::make();
  switch (in) {
    case Type::bool_: REFRAIN_INTEGER(bool)
    case Type::uint8: REFRAIN_INTEGER(u8)
    case Type::int32: REFRAIN_INTEGER(i32)
    case Type::int64: REFRAIN_INTEGER(i64)
    case Type::float16: REFRAIN_ARITHMETIC(Half, float)
    case Type::bfloat16: REFRAIN_ARITHMETIC(BFloat, float)
    case Type::float32:
      if (acc == Type::float32) {
        return op == ReduceOp::prod ? Entry<Product<float, float>>::make() : Entry<Sum<float, float>>::make();
      }
      REFRAIN_ARITHMETIC(float, double)
    case Type::float64: REFRAIN_ARITHMETIC(double, double)
  }
#undef REFRAIN_ARITHMETIC
#undef REFRAIN_INTEGER
  return Made{};
}

}  // namespace refrain::kernels
