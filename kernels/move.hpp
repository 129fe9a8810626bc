#pragma once

#include "kernels/elementwise.hpp"
#include "kernels/indices.hpp"

// Bodies of counting and gathering (MoveArgs), shared by the host and devices.

namespace refrain::kernels {

// Counting ------------------------------------------------------------------------------------------

/// Number i. Compiled without contraction, so that the product is rounded before it is added: equal bits everywhere.
template <class T>
REFRAIN_HOST_DEVICE T number_at(const MoveArgs& args, i64 i) {
  if (args.is_whole) {
    // i * step alone may not fit int64, where the sum does.
    return convert<T>(
        static_cast<i64>(static_cast<u64>(args.start.i) + static_cast<u64>(i) * static_cast<u64>(args.step.i)));
  }
  const double product = static_cast<double>(i) * args.step.f;
  return convert<T>(args.has_last && i == args.size - 1 ? args.last.f : args.start.f + product);
}

/// `Entry<T>::make()` for the type.
template <template <class> class Entry>
auto find_count(Type type) -> decltype(Entry<float>::make()) {
  switch (type) {
    case Type::bool_: break;  // nothing counts in bool
    case Type::uint8: return Entry<u8>::make();
    case Type::int32: return Entry<i32>::make();
    case Type::int64: return Entry<i64>::make();
    case Type::float16: return Entry<Half>::make();
    case Type::bfloat16: return Entry<BFloat>::make();
    case Type::float32: return Entry<float>::make();
    case Type::float64: return Entry<double>::make();
  }
  return {};
}

// Gathering -----------------------------------------------------------------------------------------

/// Neighbours in the result, all in one line along the last axis of the input.
struct Run {
  i64 offset;  ///< elements from the input's first one to the run's
  i64 index;   ///< elements from the first index to the run's
  i64 length;
};

/// The run that begins with out[i].
REFRAIN_HOST_DEVICE Run run_at(const MoveArgs& args, i64 i) {
  i64 rest = i < args.flat_shift ? i - args.flat_shift + args.size : i - args.flat_shift;
  const i64 until_end = args.size - i;
  Run run{0, 0, until_end};
  for (int axis = args.ndim - 1; axis >= 0; --axis) {
    const i64 extent = args.extents[axis];
    const i64 outer = axis > 0 ? divide(rest, extent) : 0;
    const i64 position = rest - outer * extent;
    const i64 shift = args.shifts[axis];
    const bool wraps = position < shift;
    const i64 from = wraps ? position - shift + extent : position - shift;
    run.offset += from * args.strides[axis];
    run.index += from * args.index_strides[axis];
    if (axis == args.ndim - 1) {
      const i64 length = wraps ? shift - position : extent - position;
      run.length = length < until_end ? length : until_end;
    }
    rest = outer;
  }
  return run;
}

/// As the type of indices: there are none.
struct NoIndex {};

/// Where element k of a run is, from the input's first one. False: its index is out of range.
template <class Index>
REFRAIN_HOST_DEVICE bool find_element(const MoveArgs& args, const Run& run, i64 k, i64& place) {
  place = run.offset + k * args.strides[args.ndim - 1];
  if constexpr (!is_same<Index, NoIndex>) {
    const i64 index = static_cast<const Index*>(args.indices)[run.index + k * args.index_strides[args.ndim - 1]];
    i64 taken = 0;
    if (!find_index(index, args.taken_size, args.taken_ndim, args.taken_extents, args.taken_strides, taken)) {
      return false;
    }
    place += taken;
  }
  return true;
}

/// Element k of a run.
template <class Bits, class Index>
REFRAIN_HOST_DEVICE Bits element_of(const MoveArgs& args, const Run& run, i64 k) {
  i64 place = 0;
  return find_element<Index>(args, run, k, place) ? static_cast<const Bits*>(args.in)[place]
                                                  : from_bits<Bits>(args.fill);
}

/// `Entry<Bits, Index>::make()` for the size of elements and the type of indices.
template <template <class, class> class Entry>
auto find_gather(const MoveArgs& args) -> decltype(Entry<u8, NoIndex>::make()) {
#define REFRAIN_GATHER(Bits)                                \
  return !args.has_indices   ? Entry<Bits, NoIndex>::make() \
         : args.wide_indices ? Entry<Bits, i64>::make()     \
                             : Entry<Bits, i32>::make();
  switch (size_exponent(args.type)) {
    case 0: REFRAIN_GATHER(u8)
    case 1: REFRAIN_GATHER(u16)
    case 2: REFRAIN_GATHER(u32)
    default: REFRAIN_GATHER(u64)
  }
#undef REFRAIN_GATHER
}

}  // namespace refrain::kernels
