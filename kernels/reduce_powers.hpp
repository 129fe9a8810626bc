#pragma once

#include "kernels/reduce_choices.hpp"
#include "kernels/reduce_folds.hpp"

// Reductions of exp(x - m), m being the maximum of the row: each power is rounded to float32, or float64 of float64,
// and they are summed in float64.

namespace refrain::kernels {

/// The sum of exp(x - shift).
template <class In>
struct Powers : Fold<In, double> {
  Wide<In> shift;

  REFRAIN_HOST_DEVICE explicit Powers(Wide<In> shift) : shift(shift) {}
  REFRAIN_HOST_DEVICE Wide<In> power(In x) const { return math::exp(convert<Wide<In>>(x) - shift); }
  static REFRAIN_HOST_DEVICE double identity() { return 0; }
  REFRAIN_HOST_DEVICE double take(double acc, In x, i64) const { return acc + static_cast<double>(power(x)); }
  static REFRAIN_HOST_DEVICE double combine(double a, double b) { return a + b; }
};

/// log(sum) + shift.
template <class T>
REFRAIN_HOST_DEVICE T log_of_sum(double sum, T shift) {
  return math::log(static_cast<T>(sum)) + shift;
}

/// What is subtracted from exponents: the maximum, or 0 where that is infinite or NaN.
template <class T>
REFRAIN_HOST_DEVICE T finite_shift(T largest) {
  return largest - largest == 0 ? largest : T{0};
}

/// Powers whose sum is stored as logsumexp, or as it is for a chunk.
template <class In>
struct LogOfPowers : Powers<In> {
  using Powers<In>::Powers;
  REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, double acc) const {
    if (args.chunks > 1) {
      static_cast<double*>(args.out)[at] = acc;
    } else {
      static_cast<In*>(args.out)[at] = convert<In>(log_of_sum(acc, this->shift));
    }
  }
};

template <class In_>
struct LogSumExp {
  using In = In_;
  using First = Extreme<In>;
  using Second = LogOfPowers<In>;
  static constexpr int passes = 2;
  static REFRAIN_HOST_DEVICE Second second(const ReduceArgs&, In largest) {
    return Second(finite_shift(convert<Wide<In>>(largest)));
  }
  static REFRAIN_HOST_DEVICE Second known(const ReduceArgs& args, i64 row) {
    return second(args, static_cast<const In*>(args.other)[row]);
  }
};

/// Of the sums of logsumexp's chunks; `other` has the maxima, of the type of `out`.
struct LogOfSum : Sum<double> {
  using Sum<double>::Sum;
  static REFRAIN_HOST_DEVICE void store(const ReduceArgs& args, i64 at, double acc) {
    if (args.chunks > 1) {
      static_cast<double*>(args.out)[at] = acc;
      return;
    }
    switch (args.out_type) {
      case Type::float16: return finish<Half>(args, at, acc);
      case Type::bfloat16: return finish<BFloat>(args, at, acc);
      case Type::float32: return finish<float>(args, at, acc);
      default: return finish<double>(args, at, acc);
    }
  }

 private:
  template <class T>
  static REFRAIN_HOST_DEVICE void finish(const ReduceArgs& args, i64 row, double sum) {
    const auto shift = finite_shift(convert<Wide<T>>(static_cast<const T*>(args.other)[row]));
    static_cast<T*>(args.out)[row] = convert<T>(log_of_sum(sum, shift));
  }
};

/// Each power by their sum, which is rounded to the powers' type.
template <class In_>
struct Softmax {
  using In = In_;
  using First = Extreme<In>;
  using Second = Powers<In>;
  static REFRAIN_HOST_DEVICE Second second(Wide<In> largest) { return Second(largest); }
  static REFRAIN_HOST_DEVICE In share(Wide<In> power, double total) {
    return convert<In>(power / static_cast<Wide<In>>(total));
  }
};

}  // namespace refrain::kernels
