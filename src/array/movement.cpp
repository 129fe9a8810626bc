#include <refrain/movement.hpp>

#include "array/axes.hpp"
#include "array/elementwise.hpp"
#include "array/make.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

namespace refrain {

namespace {

using kernels::MoveArgs;
using runtime::AccessMode;

void require_one_device(const Array& first, const Array& other, const char* label, SourceLocation where) {
  if (first.device() == other.device()) return;
  throw Error(Errc::wrong_device, label, "arrays on " + first.device().str() + " and " + other.device().str(),
              "are on two devices; move one with to_device first", where);
}

/// Refuses the call for an order that is missing, before anything is made.
void check_reads(runtime::StreamCore& stream, std::span<const runtime::Access> reads, const char* label,
                 SourceLocation where) {
  if (runtime::may_refuse_order(stream)) runtime::check_order(stream, {stream.device, {}, reads, label, where});
}

// Putting together ----------------------------------------------------------------------------------

/// Along an axis that they have, of arrays that are usable.
Array join(std::span<const Array> arrays, int axis, const char* label, SourceLocation where) {
  const Array& first = arrays.front();
  DType dtype = first.dtype();
  std::vector<std::int64_t> extents(first.shape().begin(), first.shape().end());
  std::vector<runtime::Access> reads;
  std::int64_t& along = extents[static_cast<std::size_t>(axis)];
  along = 0;
  for (const Array& array : arrays) {
    require_one_device(first, array, label, where);
    dtype = promote(dtype, array.dtype());
    if (array.shape()[axis] > std::numeric_limits<std::int64_t>::max() - along) {
      throw Error(Errc::invalid_value, label, std::to_string(arrays.size()) + " arrays",
                  "are together longer than 2^63 - 1 along axis " + std::to_string(axis) + "; give fewer", where);
    }
    along += array.shape()[axis];
    reads.push_back(whole(array, AccessMode::read));
  }
  const Shape shape(std::span<const std::int64_t>(extents), where);
  runtime::StreamCore& stream = runtime::thread_stream(first.device());
  check_reads(stream, reads, label, where);
  Array result = make_array(stream, shape, dtype, where);
  std::int64_t begin = 0;
  for (const Array& array : arrays) {
    const std::int64_t end = begin + array.shape()[axis];
    copy_into(result.slice({.begin = begin, .end = end}, axis, where), array, label, where);
    begin = end;
  }
  return result;
}

/// @throws Error unless there are arrays and all are usable
void require_arrays(std::span<const Array> arrays, const char* label, SourceLocation where) {
  if (arrays.empty()) {
    throw Error(Errc::invalid_value, label, "no arrays", "make no result; give one or more", where);
  }
  for (const Array& array : arrays) require_usable(array, label, where);
}

/// Whether only the axis differs.
bool fit_along(const Shape& a, const Shape& b, int axis) {
  if (a.ndim() != b.ndim()) return false;
  for (int i = 0; i < a.ndim(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

// Gathering -----------------------------------------------------------------------------------------

/// Whether stepping along an axis is stepping on along the next. Wraps around: strides that lead nowhere, of arrays
/// without elements, may be any.
bool is_one_walk(std::int64_t outer_stride, std::int64_t extent, std::int64_t stride) {
  return static_cast<std::uint64_t>(outer_stride) ==
         static_cast<std::uint64_t>(extent) * static_cast<std::uint64_t>(stride);
}

/// Wraps around, as above.
std::int64_t times(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
}

/// Adds an axis of the result: to the last one where both are one walk, and the elements of it move on together.
void add_axis(MoveArgs& args, std::int64_t extent, std::int64_t stride, std::int64_t index_stride, std::int64_t shift) {
  if (extent == 1) return;
  const int last = args.ndim - 1;
  const bool joins = last >= 0 && shift == 0 && is_one_walk(args.strides[last], extent, stride) &&
                     is_one_walk(args.index_strides[last], extent, index_stride);
  const int axis = joins ? last : args.ndim++;
  args.extents[axis] = joins ? times(args.extents[axis], extent) : extent;
  args.shifts[axis] = joins ? times(args.shifts[axis], extent) : shift;
  args.strides[axis] = stride;
  args.index_strides[axis] = index_stride;
}

/// Adds an axis that indices count along.
void add_taken(MoveArgs& args, std::int64_t extent, std::int64_t stride) {
  if (extent == 1) return;
  const int last = args.taken_ndim - 1;
  const bool joins = last >= 0 && is_one_walk(args.taken_strides[last], extent, stride);
  const int axis = joins ? last : args.taken_ndim++;
  args.taken_extents[axis] = joins ? times(args.taken_extents[axis], extent) : extent;
  args.taken_strides[axis] = stride;
}

/// Submits the gathering that `args` describes, of the array, which is usable, and the indices, if it has them.
Array gather(const Array& array, const Array* indices, MoveArgs args, const Shape& shape, const char* label,
             SourceLocation where) {
  std::array<runtime::Access, 3> accesses;
  accesses[1] = whole(array, AccessMode::read);
  if (indices != nullptr) accesses[2] = whole(*indices, AccessMode::read);
  const std::size_t count = indices != nullptr ? 3 : 2;
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  check_reads(stream, std::span(accesses.data(), count).subspan(1), label, where);
  Array result = make_array(stream, shape, array.dtype(), where);
  if (shape.size() == 0) return result;
  accesses[0] = whole(result, AccessMode::write);
  args.op = kernels::MoveOp::gather;
  args.type = static_cast<kernels::Type>(array.dtype());
  args.size = shape.size();
  if (args.ndim == 0) args.extents[args.ndim++] = 1;
  runtime::submit(stream, {stream.device, runtime::MoveCommand{args}, std::span(accesses.data(), count), label, where});
  return result;
}

/// Into [0, extent).
std::int64_t around(std::int64_t shift, std::int64_t extent) {
  const std::int64_t rest = extent == 0 ? 0 : shift % extent;
  return rest < 0 ? rest + extent : rest;
}

/// Moves each axis on by its shift, and all in row-major order by another.
Array rolled(const Array& array, const Strides& shifts, std::int64_t flat_shift, SourceLocation where) {
  const Shape& shape = ArrayAccess::shape(array);
  MoveArgs args{};
  args.flat_shift = around(flat_shift, shape.size());
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    add_axis(args, shape[axis], ArrayAccess::strides(array)[i], 0, shifts[i]);
  }
  return gather(array, nullptr, args, shape, "roll", where);
}

/// scalar_bits of what stands for an element that is not there.
kernels::u64 missing(DType dtype) {
  kernels::Value value{};
  if (is_floating(dtype)) {
    value.f = std::numeric_limits<double>::quiet_NaN();
  } else if (dtype == DType::int64) {
    value.i = std::numeric_limits<std::int64_t>::min();
  } else if (dtype == DType::int32) {
    value.i = std::numeric_limits<std::int32_t>::min();
  } else {
    value.i = dtype == DType::bool_ ? 1 : std::numeric_limits<std::uint8_t>::max();
  }
  return kernels::scalar_bits(static_cast<kernels::Type>(dtype), value);
}

/// Checks operands, and that there is something to take; `what` names what is taken from, of `size` positions.
void require_takeable(const Array& array, const Array& indices, std::int64_t size, const std::string& what,
                      SourceLocation where) {
  require_one_device(array, indices, "take", where);
  if (indices.dtype() != DType::int32 && indices.dtype() != DType::int64) {
    throw Error(Errc::invalid_value, "take", "indices of " + std::string(to_string(indices.dtype())),
                "name no positions; cast them to int64", where);
  }
  if (size == 0 && indices.size() > 0) {
    throw Error(Errc::invalid_value, "take", what,
                "has no elements, and " + std::to_string(indices.size()) + " are asked for; give one that has", where);
  }
}

void add_index_axes(MoveArgs& args, const Array& indices) {
  args.has_indices = true;
  args.wide_indices = indices.dtype() == DType::int64;
  for (int axis = 0; axis < indices.ndim(); ++axis) {
    add_axis(args, indices.shape()[axis], 0, ArrayAccess::strides(indices)[static_cast<std::size_t>(axis)], 0);
  }
}

}  // namespace

Array concatenate(std::span<const Array> arrays, int axis, SourceLocation where) {
  constexpr const char* label = "concatenate";
  require_arrays(arrays, label, where);
  const Shape& first = arrays.front().shape();
  if (first.ndim() == 0) {
    throw Error(Errc::invalid_value, label, "an array of shape []",
                "has no axis to be put along; stack gives the result one", where);
  }
  axis = axis_of(first, axis, label, where);
  for (const Array& array : arrays) {
    if (fit_along(first, array.shape(), axis)) continue;
    throw Error(Errc::invalid_value, label, "shapes " + first.str() + " and " + array.shape().str(),
                "differ in more than axis " + std::to_string(axis) + "; make their other axes equal", where);
  }
  return join(arrays, axis, label, where);
}

Array concatenate(std::initializer_list<Array> arrays, int axis, SourceLocation where) {
  return concatenate(std::span(arrays.begin(), arrays.size()), axis, where);
}

Array stack(std::span<const Array> arrays, int axis, SourceLocation where) {
  constexpr const char* label = "stack";
  require_arrays(arrays, label, where);
  const Shape& first = arrays.front().shape();
  require_room(first, label, where);
  axis = axis_of(first, axis, label, where, 1);
  std::vector<Array> rows;
  for (const Array& array : arrays) {
    if (array.shape() != first) {
      throw Error(Errc::invalid_value, label, "shapes " + first.str() + " and " + array.shape().str(),
                  "do not stack; make them equal", where);
    }
    rows.push_back(array.unsqueeze(axis, where));
  }
  return join(rows, axis, label, where);
}

Array stack(std::initializer_list<Array> arrays, int axis, SourceLocation where) {
  return stack(std::span(arrays.begin(), arrays.size()), axis, where);
}

Array roll(const Array& array, std::int64_t shift, SourceLocation where) {
  require_usable(array, "roll", where);
  return rolled(array, {}, shift, where);
}

Array roll(const Array& array, std::int64_t shift, int axis, SourceLocation where) {
  return roll(array, {shift}, {axis}, where);
}

Array roll(const Array& array, std::initializer_list<std::int64_t> shifts, std::initializer_list<int> axes,
           SourceLocation where) {
  require_usable(array, "roll", where);
  if (shifts.size() != axes.size()) {
    throw Error(Errc::invalid_value, "roll",
                std::to_string(shifts.size()) + " shifts and " + std::to_string(axes.size()) + " axes",
                "do not match; give a shift for each axis", where);
  }
  Strides by_axis{};
  const auto* shift = shifts.begin();
  for (const int given : axes) {
    const int axis = axis_of(array.shape(), given, "roll", where);
    const std::int64_t extent = array.shape()[axis];
    std::int64_t& sum = by_axis[static_cast<std::size_t>(axis)];
    sum = around(sum + around(*shift++, extent), extent);
  }
  return rolled(array, by_axis, 0, where);
}

Array take(const Array& array, const Array& indices, SourceLocation where) {
  require_usable(array, "take", where);
  require_usable(indices, "take", where);
  const Shape& shape = ArrayAccess::shape(array);
  require_takeable(array, indices, shape.size(), "an array of shape " + shape.str(), where);
  MoveArgs args{};
  args.fill = missing(array.dtype());
  args.taken_size = shape.size();
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    add_taken(args, shape[axis], ArrayAccess::strides(array)[static_cast<std::size_t>(axis)]);
  }
  add_index_axes(args, indices);
  return gather(array, &indices, args, indices.shape(), "take", where);
}

Array take(const Array& array, const Array& indices, int axis, SourceLocation where) {
  require_usable(array, "take", where);
  require_usable(indices, "take", where);
  const Shape& shape = ArrayAccess::shape(array);
  axis = axis_of(shape, axis, "take", where);
  const std::string what = "axis " + std::to_string(axis) + " of shape " + shape.str();
  require_takeable(array, indices, shape[axis], what, where);
  if (shape.ndim() - 1 + indices.ndim() > Shape::max_ndim) {
    throw Error(Errc::invalid_value, "take", what,
                "and indices of shape " + indices.shape().str() + " make more than " + std::to_string(Shape::max_ndim) +
                    " axes; flatten some first",
                where);
  }
  MoveArgs args{};
  args.fill = missing(array.dtype());
  args.taken_size = shape[axis];
  std::vector<std::int64_t> extents;
  for (int i = 0; i < shape.ndim(); ++i) {
    const std::int64_t stride = ArrayAccess::strides(array)[static_cast<std::size_t>(i)];
    if (i == axis) {
      add_taken(args, shape[i], stride);
      add_index_axes(args, indices);
      extents.insert(extents.end(), indices.shape().begin(), indices.shape().end());
    } else {
      add_axis(args, shape[i], stride, 0, 0);
      extents.push_back(shape[i]);
    }
  }
  return gather(array, &indices, args, Shape(std::span<const std::int64_t>(extents), where), "take", where);
}

}  // namespace refrain
