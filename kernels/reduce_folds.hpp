#pragma once

#include "kernels/reduce.hpp"

// What reductions compute. A fold starts from `identity`, takes the element at a position with `take`, combines two
// results with `combine`, and writes the result of a row or a chunk with `store`. With `begin_with`, which some have, a
// lane of one element begins with that: only where all elements are -0 does the result differ, which is -0 in place of
// the identity's 0 and theirs. Reductions of two passes have a fold
// for each: the second one is made from the first one's result, or from what the caller knows (`ReduceArgs::other`).

namespace refrain::kernels {

// Types -------------------------------------------------------------------------------------------------

template <class T>
struct AccumulatedAs {
  using type = i64;
};
template <>
struct AccumulatedAs<Half> {
  using type = float;
};
template <>
struct AccumulatedAs<BFloat> {
  using type = float;
};
template <>
struct AccumulatedAs<float> {
  using type = double;
};
template <>
struct AccumulatedAs<double> {
  using type = double;
};
/// What numbers of a type are summed in.
template <class T>
using Accumulated = typename AccumulatedAs<T>::type;

/// What functions of numbers of a type are computed in.
template <class T>
using Wide = Computed<T>;

template <class T>
using BitsLike = typename BitsOf<sizeof(T)>::type;

/// What folds of one array have in common. `load_dense` is `load` where the elements lie side by side.
template <class In_, class Acc_>
struct Fold {
  using In = In_;
  using Acc = Acc_;
  using Element = In_;
  static constexpr int passes = 1;
  static constexpr bool is_symmetric = true;  ///< combine(a, b) and combine(b, a) are the same bits
  static REFRAIN_HOST_DEVICE bool is_dense() { return true; }
  static REFRAIN_HOST_DEVICE Element load(const Stored<In>* x, i64 at, i64) { return read_element<In>(x, at); }
  static REFRAIN_HOST_DEVICE Element load_dense(const Stored<In>* x, i64 at, i64) { return read_element<In>(x, at); }
};

// Sums --------------------------------------------------------------------------------------------------

/// A sum or a product, as it is stored.
template <class Acc>
REFRAIN_HOST_DEVICE void store_number(const ReduceArgs& args, i64 at, Acc acc) {
  if constexpr (is_same<Acc, i64>) {
    if (args.out_type == Type::float32) {
      static_cast<float*>(args.out)[at] = static_cast<float>(static_cast<double>(acc) / args.divisor);
      return;
    }
  } else {
    if (args.divisor != 1) acc = acc / static_cast<Acc>(args.divisor);
    if (args.root) acc = math::sqrt(acc);
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

template <class In, class Acc_ = Accumulated<In>>
struct Sum : Fold<In, Acc_> {
  using Acc = Acc_;
  REFRAIN_HOST_DEVICE explicit Sum(const ReduceArgs&) {}
  static REFRAIN_HOST_DEVICE Acc identity() { return Acc{0}; }
  static REFRAIN_HOST_DEVICE Acc begin_with(In x, i64) { return convert<Acc>(x); }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return combine(acc, convert<Acc>(x)); }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) { return static_cast<Acc>(Computed<Acc>(a) + Computed<Acc>(b)); }
  static REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, Acc acc) { store_number(args, at, acc); }
};

template <class In, class Acc_ = Accumulated<In>>
struct Product : Fold<In, Acc_> {
  using Acc = Acc_;
  REFRAIN_HOST_DEVICE explicit Product(const ReduceArgs&) {}
  static REFRAIN_HOST_DEVICE Acc identity() { return Acc{1}; }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return combine(acc, convert<Acc>(x)); }
  static REFRAIN_HOST_DEVICE Acc combine(Acc a, Acc b) { return static_cast<Acc>(Computed<Acc>(a) * Computed<Acc>(b)); }
  static REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, Acc acc) { store_number(args, at, acc); }
};

/// Of floating types.
template <class In, class Acc_ = Accumulated<In>>
struct SumOfSquares : Sum<In, Acc_> {
  using Acc = Acc_;
  using Sum<In, Acc_>::Sum;
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) { return acc + begin_with(x, 0); }
  static REFRAIN_HOST_DEVICE Acc begin_with(In x, i64) {
    const auto y = convert<Acc>(x);
    return y * y;
  }
};

template <class T>
struct Pair {
  T x, y;
};

/// Products with the elements of a second row, rounded to the type. Not of bools.
template <class In>
struct Dot : Sum<In> {
  using Acc = Accumulated<In>;
  using Element = Pair<In>;
  const In* other;
  i64 stride;

  REFRAIN_HOST_DEVICE explicit Dot(const ReduceArgs& args)
      : Sum<In>(args), other(static_cast<const In*>(args.other)), stride(args.other_stride) {}
  REFRAIN_HOST_DEVICE bool is_dense() const { return stride == 1; }
  REFRAIN_HOST_DEVICE Element load(const In* x, i64 at, i64 position) const {
    return {x[at], other[position * stride]};
  }
  REFRAIN_HOST_DEVICE Element load_dense(const In* x, i64 at, i64 position) const { return {x[at], other[position]}; }
  static REFRAIN_HOST_DEVICE Acc take(Acc acc, Element e, i64) {
    const auto product = static_cast<In>(Computed<In>(e.x) * Computed<In>(e.y));
    return Sum<In>::combine(acc, convert<Acc>(product));
  }
};

// Variance ----------------------------------------------------------------------------------------------

template <class In, class Acc_ = Accumulated<In>>
struct SquaredDistances : Sum<In, Acc_> {
  using Acc = Acc_;
  Acc center;

  REFRAIN_HOST_DEVICE SquaredDistances(const ReduceArgs& args, In mean)
      : Sum<In, Acc_>(args), center(convert<Acc>(mean)) {}
  REFRAIN_HOST_DEVICE Acc take(Acc acc, In x, i64) const { return acc + begin_with(x, 0); }
  REFRAIN_HOST_DEVICE Acc begin_with(In x, i64) const {
    const Acc distance = convert<Acc>(x) - center;
    return distance * distance;
  }
};

/// The sum of squared distances from the mean, which is rounded to the type. Of floating types.
template <class In_>
struct Variance {
  using In = In_;
  using First = Sum<In>;
  using Second = SquaredDistances<In>;
  static constexpr int passes = 2;
  static REFRAIN_HOST_DEVICE Second second(const ReduceArgs& args, typename First::Acc total) {
    return {args, convert<In>(total / static_cast<typename First::Acc>(args.n))};
  }
  static REFRAIN_HOST_DEVICE Second known(const ReduceArgs& args, i64 row) {
    return {args, static_cast<const In*>(args.other)[row]};
  }
};

}  // namespace refrain::kernels
