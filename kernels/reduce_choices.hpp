#pragma once

#include "kernels/reduce_folds.hpp"

// Reductions that choose: extremes, their positions, and truth. What differs between the two of a kind (min and max,
// any and all) is a mask in the fold, so that both are one kernel.

namespace refrain::kernels {

/// The least value of a type; -infinity of floats.
template <class T>
REFRAIN_HOST_DEVICE T least_value() {
  if constexpr (is_same<T, double>) {
    return __builtin_bit_cast(double, 0xFFF0000000000000ull);
  } else if constexpr (is_float<T>) {
    return static_cast<T>(__builtin_bit_cast(float, 0xFF800000u));
  } else if constexpr (is_same<T, u8>) {
    return 0;
  } else {
    return static_cast<T>(u64{1} << (8 * sizeof(T) - 1));
  }
}

/// The maximum; with the op `min`, what is the maximum when order is turned round: NaN where one is.
template <class T>
struct Extreme : Fold<T, T> {
  using Bits = BitsLike<T>;
  static constexpr bool is_symmetric = false;  // of zeros of two signs
  Bits mask;                                   ///< turns order round: a float's sign, an integer's every bit

  REFRAIN_HOST_DEVICE explicit Extreme(const ReduceArgs& args)
      : mask(args.op != ReduceOp::min ? Bits{0}
             : is_float<T>            ? static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1))
                                      : static_cast<Bits>(~Bits{0})) {}
  REFRAIN_HOST_DEVICE T turned(T x) const {
    return __builtin_bit_cast(T, static_cast<Bits>(__builtin_bit_cast(Bits, x) ^ mask));
  }
  static REFRAIN_HOST_DEVICE T identity() { return least_value<T>(); }
  REFRAIN_HOST_DEVICE T take(T acc, T x, i64) const { return combine(acc, turned(x)); }
  static REFRAIN_HOST_DEVICE T combine(T a, T b) {
    return static_cast<T>(math::maximum(Computed<T>(a), Computed<T>(b)));
  }
  REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, T acc) const {
    static_cast<T*>(args.out)[at] = turned(acc);
  }
};

/// An unsigned integer that is larger for larger values. Both zeros have the same.
REFRAIN_HOST_DEVICE u64 rank_of(u8 x) { return x; }
REFRAIN_HOST_DEVICE u64 rank_of(i32 x) { return static_cast<u32>(x) ^ 0x80000000u; }
REFRAIN_HOST_DEVICE u64 rank_of(i64 x) {
  return static_cast<u64>(x) ^ u64 { 1 } << 63;
}
REFRAIN_HOST_DEVICE u64 rank_of(float x) {
  const u32 bits = __builtin_bit_cast(u32, x + 0.0F);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
REFRAIN_HOST_DEVICE u64 rank_of(double x) {
  const u64 bits = __builtin_bit_cast(u64, x + 0.0);
  return bits >> 63 != 0 ? ~bits : bits | u64{1} << 63;
}

/// An extreme element.
struct Found {
  u64 rank;
  i64 position;
};

/// Of the results of chunks: the largest rank, and of those the first position.
struct BestFound : Fold<Found, Found> {
  REFRAIN_HOST_DEVICE explicit BestFound(const ReduceArgs&) {}
  static REFRAIN_HOST_DEVICE Found identity() { return {0, static_cast<i64>(~u64{0} >> 1)}; }
  static REFRAIN_HOST_DEVICE Found take(Found acc, Found x, i64) { return combine(acc, x); }
  static REFRAIN_HOST_DEVICE Found combine(Found a, Found b) {
    const bool is_first = a.rank != b.rank ? a.rank > b.rank : a.position < b.position;
    return is_first ? a : b;
  }
  static REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, Found acc) {
    if (args.chunks > 1) {
      static_cast<Found*>(args.out)[at] = acc;
    } else {
      static_cast<i64*>(args.out)[at] = acc.position;
    }
  }
};

/// The position of the largest, or with the op `argmin` the least, or the first NaN.
template <class In>
struct Position : Fold<In, Found> {
  u64 mask;  ///< turns order round

  REFRAIN_HOST_DEVICE explicit Position(const ReduceArgs& args)
      : mask(args.op == ReduceOp::argmin ? ~u64{0} >> (sizeof(Computed<In>) < 8 ? 32 : 0) : 0) {}
  static REFRAIN_HOST_DEVICE Found identity() { return BestFound::identity(); }
  REFRAIN_HOST_DEVICE u64 rank(In x) const {
    if constexpr (is_float<In>) {
      const Computed<In> y = x;
      return y != y ? ~u64{0} : rank_of(y) ^ mask;
    } else {
      return rank_of(x) ^ mask;
    }
  }
  REFRAIN_HOST_DEVICE Found take(Found acc, In x, i64 position) const { return combine(acc, {rank(x), position}); }
  static REFRAIN_HOST_DEVICE Found combine(Found a, Found b) { return BestFound::combine(a, b); }
  static REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, Found acc) { BestFound::store(args, at, acc); }
};

/// Whether one is not zero; with the op `all`, whether none is. By the size of an element: a zero has no bits that
/// count.
template <class Bits>
struct Truth : Fold<Bits, u8> {
  Bits counted;  ///< all but a float's sign
  u8 mask;       ///< what is looked for is a zero

  REFRAIN_HOST_DEVICE explicit Truth(const ReduceArgs& args)
      : counted(static_cast<Bits>(args.in_type >= Type::float16
                                      ? ~Bits{0} & static_cast<Bits>(~(u64{1} << (8 * sizeof(Bits) - 1)))
                                      : ~Bits{0})),
        mask(args.op == ReduceOp::all ? 1 : 0) {}
  static REFRAIN_HOST_DEVICE u8 identity() { return 0; }
  REFRAIN_HOST_DEVICE u8 take(u8 acc, Bits x, i64) const {
    return static_cast<u8>(acc | (static_cast<u8>((x & counted) != 0) ^ mask));
  }
  static REFRAIN_HOST_DEVICE u8 combine(u8 a, u8 b) { return static_cast<u8>(a | b); }
  REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, u8 acc) const {
    static_cast<u8*>(args.out)[at] = static_cast<u8>(acc ^ mask);
  }
};

}  // namespace refrain::kernels
