#include "array/axes.hpp"
#include "array/elementwise.hpp"
#include "array/layout.hpp"
#include "array/make.hpp"
#include "runtime/array_access.hpp"

#include <refrain/array.hpp>
#include <refrain/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace refrain {

namespace {

/// The shape and strides of a view while they are put together.
class Axes {
 public:
  Axes() = default;
  explicit Axes(const Array& array) {
    const Shape& shape = ArrayAccess::shape(array);
    for (int axis = 0; axis < shape.ndim(); ++axis) add(shape[axis], ArrayAccess::strides(array)[index(axis)]);
  }

  void add(std::int64_t extent, std::int64_t stride) {
    extents_[index(ndim_)] = extent;
    strides_[index(ndim_++)] = stride;
  }
  void set(int axis, std::int64_t extent, std::int64_t stride) {
    extents_[index(axis)] = extent;
    strides_[index(axis)] = stride;
  }
  Array view(const Array& array, SourceLocation where, std::int64_t first = 0) const {
    const Shape shape(std::span<const std::int64_t>(extents_.data(), index(ndim_)), where);
    return ArrayAccess::view(array, shape, strides_, shape.size() == 0 ? 0 : first);
  }

 private:
  static std::size_t index(int axis) noexcept { return static_cast<std::size_t>(axis); }

  Strides extents_{};
  Strides strides_{};
  int ndim_ = 0;
};

std::string str(const Slice& slice) {
  const auto text = [](const std::optional<std::int64_t>& position) {
    return position ? std::to_string(*position) : "";
  };
  return text(slice.begin) + ':' + text(slice.end) + (slice.step == 1 ? "" : ':' + std::to_string(slice.step));
}

}  // namespace

Array Array::slice(std::int64_t begin, std::int64_t end, SourceLocation where) const {
  return slice(Slice{begin, end}, 0, where);
}

Array Array::slice(Slice positions, int axis, SourceLocation where) const {
  require_defined(*this, "slice", where);
  const Shape& shape = view_.shape;
  if (shape.ndim() == 0) {
    throw Error(Errc::invalid_value, "slice", "an array of shape " + shape.str(), "has no axis to slice; use it whole",
                where);
  }
  axis = axis_of(shape, axis, "slice", where);
  const std::int64_t extent = shape[axis];
  const std::string what =
      "positions " + str(positions) + " of axis " + std::to_string(axis) + " of shape " + shape.str();
  if (positions.step == 0)
    throw Error(Errc::invalid_value, "slice", what, "do not move on; give a step that is not 0", where);
  const bool forward = positions.step > 0;
  const auto from_start = [&](std::int64_t position) { return position < 0 ? position + extent : position; };
  const std::int64_t last = extent - 1;
  const std::int64_t begin = positions.begin ? from_start(*positions.begin) : forward ? 0 : last;
  const std::int64_t end = positions.end ? from_start(*positions.end) : forward ? extent : -1;
  // Forward 0 <= begin <= end <= extent; backward one less, and the other way round.
  const std::int64_t least = forward ? 0 : -1;
  const std::int64_t most = forward ? extent : last;
  const bool is_within =
      begin >= least && begin <= most && (!positions.end || end >= 0 || forward) && end >= least && end <= most;
  if (!is_within || (forward ? begin > end : begin < end)) {
    const std::string range = forward ? "0 <= begin <= end <= " + std::to_string(extent)
                                      : std::to_string(last) + " >= begin >= end >= 0, or leave the end out";
    throw Error(Errc::invalid_value, "slice", what, "are not within its " + std::to_string(extent) + "; give " + range,
                where);
  }
  // A step beyond the axis is as good as one over all of it.
  const std::int64_t step =
      std::clamp(positions.step, -std::max<std::int64_t>(extent, 1), std::max<std::int64_t>(extent, 1));
  const std::int64_t count = begin == end ? 0 : (std::abs(end - begin) - 1) / std::abs(step) + 1;
  Axes axes(*this);
  const std::int64_t stride = view_.strides[static_cast<std::size_t>(axis)];
  axes.set(axis, count, stride * step);
  return axes.view(*this, where, begin * stride);
}

Array Array::select(std::int64_t position, int axis, SourceLocation where) const {
  require_defined(*this, "select", where);
  axis = axis_of(view_.shape, axis, "select", where);
  const std::int64_t extent = view_.shape[axis];
  if (position < -extent || position >= extent) {
    throw Error(
        Errc::invalid_value, "select",
        "position " + std::to_string(position) + " of axis " + std::to_string(axis) + " of shape " + view_.shape.str(),
        "is not there; give one of its " + std::to_string(extent), where);
  }
  Axes axes;
  for (int i = 0; i < view_.shape.ndim(); ++i) {
    if (i != axis) axes.add(view_.shape[i], view_.strides[static_cast<std::size_t>(i)]);
  }
  return axes.view(*this, where,
                   (position < 0 ? position + extent : position) * view_.strides[static_cast<std::size_t>(axis)]);
}

Array Array::permute(std::initializer_list<int> axes, SourceLocation where) const {
  require_defined(*this, "permute", where);
  Axes permuted;
  std::array<bool, Shape::max_ndim> is_taken{};
  bool is_permutation = std::ssize(axes) == view_.shape.ndim();
  for (const int given : axes) {
    if (!is_permutation) break;
    const auto axis = static_cast<std::size_t>(axis_of(view_.shape, given, "permute", where));
    is_permutation = !std::exchange(is_taken[axis], true);
    permuted.add(view_.shape[static_cast<int>(axis)], view_.strides[axis]);
  }
  if (!is_permutation) {
    std::string list;
    for (const int axis : axes) list += (list.empty() ? "" : ", ") + std::to_string(axis);
    throw Error(Errc::invalid_value, "permute", "axes [" + list + "]",
                "are no permutation of those of shape " + view_.shape.str() + "; give each axis once", where);
  }
  return permuted.view(*this, where);
}

Array Array::transpose(int axis, int other, SourceLocation where) const {
  require_defined(*this, "transpose", where);
  axis = axis_of(view_.shape, axis, "transpose", where);
  other = axis_of(view_.shape, other, "transpose", where);
  Axes axes(*this);
  axes.set(axis, view_.shape[other], view_.strides[static_cast<std::size_t>(other)]);
  axes.set(other, view_.shape[axis], view_.strides[static_cast<std::size_t>(axis)]);
  return axes.view(*this, where);
}

Array Array::reshape(std::initializer_list<std::int64_t> extents, SourceLocation where) const {
  require_defined(*this, "reshape", where);
  std::vector<std::int64_t> known(extents);
  const auto open = std::find(known.begin(), known.end(), -1);
  if (open == known.end()) return reshape(Shape(known, where), where);
  *open = 1;
  const std::int64_t rest = Shape(known, where).size();  // refuses a second -1
  if (rest == 0 || view_.shape.size() % rest != 0) {
    throw Error(Errc::invalid_value, "reshape", "an array of shape " + view_.shape.str(),
                "has " + std::to_string(view_.shape.size()) + " elements, no multiple of the " + std::to_string(rest) +
                    " that the other extents make; give extents whose product divides it",
                where);
  }
  *open = view_.shape.size() / rest;
  return reshape(Shape(known, where), where);
}

Array Array::reshape(const Shape& shape, SourceLocation where) const {
  require_defined(*this, "reshape", where);
  if (shape.size() != view_.shape.size()) {
    throw Error(Errc::invalid_value, "reshape", "an array of shape " + view_.shape.str(),
                "has " + std::to_string(view_.shape.size()) + " elements and not the " + std::to_string(shape.size()) +
                    " of shape " + shape.str() + "; give a shape of as many",
                where);
  }
  if (const auto strides = reshaped(view_.shape, view_.strides, shape))
    return ArrayAccess::view(*this, shape, *strides);
  const Array copy = contiguous_copy(*this, "reshape", where);
  return ArrayAccess::view(copy, shape, row_major(shape));
}

Array Array::flatten(int first, int last, SourceLocation where) const {
  require_defined(*this, "flatten", where);
  const Shape& shape = view_.shape;
  if (shape.ndim() == 0) return reshape({1}, where);
  first = axis_of(shape, first, "flatten", where);
  last = axis_of(shape, last, "flatten", where);
  if (first > last) {
    throw Error(Errc::invalid_value, "flatten",
                "axes " + std::to_string(first) + " to " + std::to_string(last) + " of shape " + shape.str(),
                "are in the wrong order; give the first one first", where);
  }
  std::vector<std::int64_t> extents(shape.begin(), shape.begin() + first);
  extents.push_back(Shape(std::span(shape.begin() + first, shape.begin() + last + 1), where).size());
  extents.insert(extents.end(), shape.begin() + last + 1, shape.end());
  return reshape(Shape(extents, where), where);
}

Array Array::expand(const Shape& shape, SourceLocation where) const {
  require_defined(*this, "expand", where);
  const Shape& from = view_.shape;
  const int fresh = shape.ndim() - from.ndim();
  bool fits = fresh >= 0;
  Axes axes;
  for (int axis = 0; fits && axis < shape.ndim(); ++axis) {
    const bool repeats = axis < fresh || from[axis - fresh] == 1;
    fits = repeats || from[axis - fresh] == shape[axis];
    axes.add(shape[axis], repeats ? 0 : view_.strides[static_cast<std::size_t>(axis - fresh)]);
  }
  if (!fits) {
    throw Error(Errc::invalid_value, "expand", "an array of shape " + from.str(),
                "does not expand to " + shape.str() + "; only axes of extent 1 and new ones in front do", where);
  }
  return axes.view(*this, where);
}

Array Array::squeeze(SourceLocation where) const {
  require_defined(*this, "squeeze", where);
  Axes axes;
  for (int axis = 0; axis < view_.shape.ndim(); ++axis) {
    if (view_.shape[axis] != 1) axes.add(view_.shape[axis], view_.strides[static_cast<std::size_t>(axis)]);
  }
  return axes.view(*this, where);
}

Array Array::squeeze(int axis, SourceLocation where) const {
  require_defined(*this, "squeeze", where);
  axis = axis_of(view_.shape, axis, "squeeze", where);
  if (view_.shape[axis] != 1) {
    throw Error(Errc::invalid_value, "squeeze", "axis " + std::to_string(axis) + " of shape " + view_.shape.str(),
                "is not of extent 1; select a position, or name another axis", where);
  }
  return select(0, axis, where);
}

Array Array::unsqueeze(int axis, SourceLocation where) const {
  require_defined(*this, "unsqueeze", where);
  require_room(view_.shape, "unsqueeze", where);
  axis = axis_of(view_.shape, axis, "unsqueeze", where, 1);
  Axes axes;
  for (int i = 0; i <= view_.shape.ndim(); ++i) {
    if (i == axis) axes.add(1, 0);
    if (i < view_.shape.ndim()) axes.add(view_.shape[i], view_.strides[static_cast<std::size_t>(i)]);
  }
  return axes.view(*this, where);
}

Array Array::flip(int axis, SourceLocation where) const {
  require_defined(*this, "flip", where);
  return slice({.step = -1}, axis_of(view_.shape, axis, "flip", where), where);
}

Array Array::contiguous(SourceLocation where) const {
  require_defined(*this, "contiguous", where);
  return view_.is_contiguous ? *this : contiguous_copy(*this, "contiguous", where);
}

}  // namespace refrain
