#pragma once

#include "kernels/reduce_choices.hpp"
#include "kernels/reduce_folds.hpp"
#include "kernels/reduce_powers.hpp"

// The reductions there are, by op and type, in families that are compiled one by one: `Entry<Reduction>::make()` of the
// one that is asked for. ops::* that are not of the family have none.

namespace refrain::kernels {

template <template <class> class Entry>
using ReductionEntry = decltype(Entry<Sum<float>>::make());

/// Entry<R<T>> of the floating type.
template <template <class> class Entry, template <class> class R>
ReductionEntry<Entry> entry_of_float(Type type) {
  switch (type) {
    case Type::float16: return Entry<R<Half>>::make();
    case Type::bfloat16: return Entry<R<BFloat>>::make();
    case Type::float32: return Entry<R<float>>::make();
    default: return Entry<R<double>>::make();
  }
}

/// The same of any type; bools as bytes.
template <template <class> class Entry, template <class> class R>
ReductionEntry<Entry> entry_of(Type type) {
  switch (type) {
    case Type::bool_:
    case Type::uint8: return Entry<R<u8>>::make();
    case Type::int32: return Entry<R<i32>>::make();
    case Type::int64: return Entry<R<i64>>::make();
    default: return entry_of_float<Entry, R>(type);
  }
}

template <class In>
using PlainSum = Sum<In>;
template <class In>
using PlainProduct = Product<In>;

/// sum. float32 in float32 is of the results of 16-bit chunks.
template <template <class> class Entry>
ReductionEntry<Entry> find_sum(const ReduceArgs& args) {
  if (args.in_type == Type::bool_) return Entry<Sum<bool>>::make();
  if (args.in_type == Type::float32 && args.acc_type == Type::float32) return Entry<Sum<float, float>>::make();
  return entry_of<Entry, PlainSum>(args.in_type);
}

/// prod, likewise.
template <template <class> class Entry>
ReductionEntry<Entry> find_product(const ReduceArgs& args) {
  if (args.in_type == Type::bool_) return Entry<Product<bool>>::make();
  if (args.in_type == Type::float32 && args.acc_type == Type::float32) return Entry<Product<float, float>>::make();
  return entry_of<Entry, PlainProduct>(args.in_type);
}

/// sum_of_squares, var, dot.
template <template <class> class Entry>
ReductionEntry<Entry> find_moment(const ReduceArgs& args) {
  if (args.op == ReduceOp::dot) return entry_of<Entry, Dot>(args.in_type);
  if (args.op == ReduceOp::var) return entry_of_float<Entry, Variance>(args.in_type);
  return entry_of_float<Entry, SumOfSquares>(args.in_type);
}

/// min, max.
template <template <class> class Entry>
ReductionEntry<Entry> find_extreme(const ReduceArgs& args) {
  return entry_of<Entry, Extreme>(args.in_type);
}

/// argmin, argmax, found, any, all.
template <template <class> class Entry>
ReductionEntry<Entry> find_choice(const ReduceArgs& args) {
  if (args.op == ReduceOp::found) return Entry<BestFound>::make();
  if (args.op != ReduceOp::any && args.op != ReduceOp::all) return entry_of<Entry, Position>(args.in_type);
  switch (size_exponent(args.in_type)) {
    case 0: return Entry<Truth<u8>>::make();
    case 1: return Entry<Truth<u16>>::make();
    case 2: return Entry<Truth<u32>>::make();
    default: return Entry<Truth<u64>>::make();
  }
}

/// logsumexp, log_of_sum.
template <template <class> class Entry>
ReductionEntry<Entry> find_power(const ReduceArgs& args) {
  if (args.op == ReduceOp::log_of_sum) return Entry<LogOfSum>::make();
  return entry_of_float<Entry, LogSumExp>(args.in_type);
}

template <template <class> class Entry>
ReductionEntry<Entry> find_softmax(const ReduceArgs& args) {
  return entry_of_float<Entry, Softmax>(args.in_type);
}

}  // namespace refrain::kernels
