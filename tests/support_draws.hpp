#pragma once

#include "support_model.hpp"

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Random shapes, views and numbers, as arrays and as models.

namespace refrain::test {

using Extents = std::vector<std::int64_t>;

/// One seed's choices.
class Draw {
 public:
  explicit Draw(unsigned seed) : bits_(seed) {}

  /// 0 to end - 1.
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(end)); }
  bool one_of(int n) { return below(n) == 0; }
  template <class T>
  T from(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::mt19937_64 bits_;
};

std::int64_t count(const Extents& extents);
Shape shape_of(const Extents& extents);
DType random_dtype(Draw& draw);
/// Those of 0 to 6 axes, at most 40000 elements, and now and then none.
Extents random_extents(Draw& draw);

/// How a view of a larger array is made: permute, slice every axis, select a position of one, expand or leave that to
/// the op.
struct View {
  Extents base;
  std::vector<int> axes;
  std::vector<Slice> slices;
  std::optional<std::pair<int, std::int64_t>> selected;  ///< axis and position
  bool is_expanded = false;
};

/// A view of this shape, and one more of the same base that overlaps it, as likely as not. `may_repeat`: axes may be
/// expanded ones.
std::pair<View, View> random_views(Draw& draw, const Extents& shape, bool may_repeat);

Array permuted(const Array& array, const std::vector<int>& axes);
Model permuted(const Model& model, const std::vector<int>& axes);

template <class A>
A view_of(const A& base, const View& how, const Extents& shape) {
  A view = permuted(base, how.axes);
  for (std::size_t axis = 0; axis < how.slices.size(); ++axis) {
    view = view.slice(how.slices[axis], static_cast<int>(axis));
  }
  if (how.selected) view = view.select(how.selected->second, how.selected->first);
  return how.is_expanded ? view.expand(shape_of(shape)) : view;
}

/// Ops that operands of this dtype have, exact ones or correctly rounded.
Op random_op(Draw& draw, DType dtype);
Array apply(Op op, const Array& left, const Array& right);

/// Random numbers of the dtype.
std::vector<Real> random_numbers(DType dtype, std::size_t size, unsigned seed);

/// Numbers of the dtype as an array on the device that is current.
Array array_of(DType dtype, const Shape& shape, const std::vector<Real>& values);
std::vector<Real> elements(const Array& array);

/// What an array is not as the model; empty when it is.
std::string difference(const Array& got, const Model& expected);

}  // namespace refrain::test
