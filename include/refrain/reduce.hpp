#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

#include <array>
#include <initializer_list>
#include <optional>

// Reductions. The order in which elements are combined is a function of their number alone, the same on every device
// and in every mode (`docs/arrays.md`). float32 is summed in float64, the 16-bit types in float32, integers in int64,
// and the result is rounded once. All throw Error(Errc::invalid_value) for axes that are not there or named twice, and
// what ops throw on arrays without values.

namespace refrain {

/// Some axes of an array, counted from the last one where negative; none named: all.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : Axes({axis}) {}  // NOLINT(google-explicit-constructor)
  /// @throws Error(Errc::invalid_value) for more axes than arrays have
  Axes(std::initializer_list<int> axes, SourceLocation where = SourceLocation::current());  // NOLINT

  const int* begin() const noexcept { return axes_.data(); }
  const int* end() const noexcept { return axes_.data() + count_; }
  bool is_all() const noexcept { return count_ == 0; }

 private:
  std::array<int, Shape::max_ndim> axes_{};
  int count_ = 0;
};

/// Integers and bools give int64, which wraps around; 0 of no elements. `keepdim`: reduced axes stay, with extent 1.
Array sum(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// As sum; 1 of no elements.
Array prod(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// Integers and bools give float32; NaN of no elements.
Array mean(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// The sum of squared distances from the mean by n - correction: 1 as in PyTorch, 0 for a whole population. The mean is
/// rounded to the dtype. NaN where n is not above the correction.
Array var(const Array& array, Axes axes = {}, double correction = 1, bool keepdim = false,
          SourceLocation where = SourceLocation::current());
/// NaN where one is.
/// @throws Error(Errc::invalid_value) of no elements
Array min(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// As min.
Array max(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// The position of the first least element, or of the first NaN, as int64: along an axis, or in row-major order.
/// @throws Error(Errc::invalid_value) of no elements
Array argmin(const Array& array, std::optional<int> axis = std::nullopt, bool keepdim = false,
             SourceLocation where = SourceLocation::current());
/// As argmin, of the largest.
Array argmax(const Array& array, std::optional<int> axis = std::nullopt, bool keepdim = false,
             SourceLocation where = SourceLocation::current());
/// Whether one is not 0; false of no elements.
Array any(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// Whether none is 0; true of no elements.
Array all(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// The square root of the sum of squares; integers and bools are taken as float32.
Array norm(const Array& array, Axes axes = {}, bool keepdim = false, SourceLocation where = SourceLocation::current());
/// log(sum(exp(x))) without overflow; integers and bools are taken as float32; -inf of no elements.
Array logsumexp(const Array& array, Axes axes = {}, bool keepdim = false,
                SourceLocation where = SourceLocation::current());
/// exp(x) by its sum along the axis, without overflow; integers and bools are taken as float32.
Array softmax(const Array& array, int axis = -1, SourceLocation where = SourceLocation::current());
/// sum(left * right) of two arrays with one axis; each product is rounded to the dtype.
/// @throws Error(Errc::invalid_value) when they have other axes, or another number of elements
Array dot(const Array& left, const Array& right, SourceLocation where = SourceLocation::current());

}  // namespace refrain
