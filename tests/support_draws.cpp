#include "support_draws.hpp"

#include <refrain/ops.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace refrain::test {

std::int64_t count(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

Shape shape_of(const Extents& extents) { return Shape(std::span<const std::int64_t>(extents)); }

Extents random_extents(Draw& draw) {
  const std::int64_t limit = draw.one_of(10) ? 40000 : 2500;
  Extents extents(static_cast<std::size_t>(draw.below(7)));
  for (std::int64_t& extent : extents) extent = draw.from<std::int64_t>({1, 1, 2, 2, 2, 31, 33, 1025});
  while (count(extents) > limit) *std::max_element(extents.begin(), extents.end()) = draw.below(2) + 1;
  if (!extents.empty() && draw.one_of(12)) extents[static_cast<std::size_t>(draw.below(std::ssize(extents)))] = 0;
  return extents;
}

DType random_dtype(Draw& draw) { return static_cast<DType>(draw.below(8)); }

namespace {

/// Some positions of an axis of `size` elements, `extent` of them.
Slice random_slice(Draw& draw, std::int64_t extent, std::int64_t step, std::int64_t size) {
  if (extent == 0) return {.begin = size / 2, .end = size / 2};
  const std::int64_t reach = (extent - 1) * step;
  const std::int64_t low = draw.below(size - reach);
  if (draw.one_of(2)) return {.begin = low, .end = low + reach + 1, .step = step};
  Slice backwards{.begin = low + reach, .step = -step};
  if (low > 0) backwards.end = low - 1;
  return backwards;
}

/// One of the same base and shape: other positions or directions, other steps where there is room, two axes swapped.
View moved(Draw& draw, View view, const Extents& extents) {
  for (std::size_t axis = 1; axis < extents.size(); ++axis) {
    int& before = view.axes[axis - 1];
    int& here = view.axes[axis];
    const bool is_alike = extents[axis - 1] == extents[axis] &&
                          view.base[static_cast<std::size_t>(before)] == view.base[static_cast<std::size_t>(here)];
    if (is_alike && draw.one_of(2)) std::swap(before, here);
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t size = view.base[static_cast<std::size_t>(view.axes[axis])];
    if (view.selected && view.selected->first == static_cast<int>(axis)) continue;
    const std::int64_t longest = extents[axis] > 1 ? (size - 1) / (extents[axis] - 1) : 1;
    const std::int64_t step = longest > 1 && draw.one_of(2) ? 1 + draw.below(longest) : longest;
    const Slice positions = random_slice(draw, extents[axis], step, size);
    if (!draw.one_of(3)) view.slices[axis] = positions;
  }
  return view;
}

}  // namespace

std::pair<View, View> random_views(Draw& draw, const Extents& shape, bool may_repeat) {
  Extents extents = shape;
  if (may_repeat) {
    for (std::int64_t& extent : extents) extent = draw.one_of(4) ? 1 : extent;
    if (draw.one_of(4)) extents.erase(extents.begin(), extents.begin() + draw.below(std::ssize(extents) + 1));
  }
  View view;
  view.is_expanded = may_repeat && draw.one_of(2);
  if (draw.one_of(3)) {
    view.selected = {static_cast<int>(draw.below(std::ssize(extents) + 1)), 0};
    extents.insert(extents.begin() + view.selected->first, 1 + draw.below(3));
    view.selected->second = draw.below(extents[static_cast<std::size_t>(view.selected->first)]);
  }
  view.axes.resize(extents.size());
  std::iota(view.axes.begin(), view.axes.end(), 0);
  const bool is_permuted = draw.one_of(2);
  for (std::size_t i = view.axes.size(); is_permuted && i > 1; --i) {
    std::swap(view.axes[i - 1], view.axes[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(i)))]);
  }
  const bool is_sliced = !draw.one_of(3);
  view.base.resize(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const bool is_small = count(extents) < 40000 && is_sliced;
    const std::int64_t step = is_small && draw.one_of(3) ? 2 + draw.below(2) : 1;
    const std::int64_t reach = extents[axis] == 0 ? 0 : (extents[axis] - 1) * step + 1;
    const std::int64_t size = reach + (is_small && draw.one_of(2) ? draw.below(3) : 0);
    view.base[static_cast<std::size_t>(view.axes[axis])] = size;
    view.slices.push_back({.begin = 0, .end = size, .step = 1});
    if (is_sliced) view.slices[axis] = random_slice(draw, extents[axis], step, size);
  }
  if (view.selected) {
    // Sliced as a whole, for the position to be there.
    const auto axis = static_cast<std::size_t>(view.selected->first);
    view.slices[axis] = {.begin = 0, .end = view.base[static_cast<std::size_t>(view.axes[axis])], .step = 1};
    view.selected->second = draw.below(*view.slices[axis].end);
  }
  return {view, moved(draw, view, extents)};
}

Array permuted(const Array& array, const std::vector<int>& axes) {
  const auto& a = axes;
  switch (a.size()) {
    case 0: return array.permute({});
    case 1: return array.permute({a[0]});
    case 2: return array.permute({a[0], a[1]});
    case 3: return array.permute({a[0], a[1], a[2]});
    case 4: return array.permute({a[0], a[1], a[2], a[3]});
    case 5: return array.permute({a[0], a[1], a[2], a[3], a[4]});
    case 6: return array.permute({a[0], a[1], a[2], a[3], a[4], a[5]});
    default: return array.permute({a[0], a[1], a[2], a[3], a[4], a[5], a[6]});
  }
}
Model permuted(const Model& model, const std::vector<int>& axes) { return model.permute(axes); }

Op random_op(Draw& draw, DType dtype) {
  if (dtype == DType::bool_) {
    return draw.from<Op>({Op::bitwise_and, Op::bitwise_xor, Op::less, Op::equal, Op::logical_or, Op::div});
  }
  if (is_floating(dtype)) {
    return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::div, Op::remainder, Op::minimum, Op::maximum, Op::less,
                          Op::equal, Op::logical_or});
  }
  return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::div, Op::remainder, Op::floor_divide, Op::minimum, Op::maximum,
                        Op::less, Op::equal, Op::logical_or, Op::bitwise_and, Op::bitwise_xor});
}

Array apply(Op op, const Array& left, const Array& right) {
  switch (op) {
    case Op::add: return left + right;
    case Op::sub: return left - right;
    case Op::mul: return left * right;
    case Op::div: return left / right;
    case Op::remainder: return left % right;
    case Op::floor_divide: return floor_divide(left, right);
    case Op::minimum: return minimum(left, right);
    case Op::maximum: return maximum(left, right);
    case Op::less: return left < right;
    case Op::equal: return left == right;
    case Op::logical_or: return logical_or(left, right);
    case Op::bitwise_and: return left & right;
    case Op::bitwise_xor: return left ^ right;
  }
  throw std::logic_error("no such op");
}

std::vector<Real> random_numbers(DType dtype, std::size_t size, unsigned seed) {
  return with_type(dtype, [&]<class T>(T) {
    std::vector<Real> values;
    if constexpr (std::is_same_v<T, bool>) {
      for (const std::uint8_t x : random_values<std::uint8_t>(size, seed)) values.push_back(x & 1);
    } else {
      for (const T x : random_values<T>(size, seed)) values.push_back(real(x));
    }
    return values;
  });
}

Array array_of(DType dtype, const Shape& shape, const std::vector<Real>& values) {
  return with_type(dtype, [&]<class T>(T) {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    std::vector<Stored> stored;
    for (const Real x : values) {
      if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
        stored.push_back(T(static_cast<float>(x)));
      } else {
        stored.push_back(static_cast<Stored>(x));
      }
    }
    return from_host(stored, shape).cast(dtype);
  });
}

std::vector<Real> elements(const Array& array) {
  return with_type(array.dtype(), [&]<class T>(T) {
    std::vector<Real> values;
    for (const T x : array.to_vector<T>()) values.push_back(real<T>(x));
    return values;
  });
}

std::string difference(const Array& got, const Model& expected) {
  if (got.dtype() != expected.dtype()) return std::string(to_string(got.dtype())) + " of another dtype";
  if (got.shape() != expected.shape()) return got.shape().str() + " of another shape";
  const std::vector<Real> values = elements(got);
  const std::vector<Real> wanted = expected.elements();
  return wrong_ones(
      values.size(), [&](std::size_t i) { return !is_identical(values[i], wanted[i]); },
      [&](std::size_t i) { return digits(i, values[i], wanted[i]); });
}

}  // namespace refrain::test
