#pragma once

#include "support_numbers.hpp"

#include <memory>

// Arrays by their definition: numbers in a list, views that say which of them, ops one element at a time.

namespace refrain::test {

/// Ops of two operands.
enum class Op {
  add,
  sub,
  mul,
  div,
  remainder,
  floor_divide,
  minimum,
  maximum,
  less,
  equal,
  logical_or,
  bitwise_and,
  bitwise_xor
};

std::ostream& operator<<(std::ostream& out, Op op);

/// An array or a view of one, for the members that Array has too. Copies name the same numbers.
class Model {
 public:
  /// A whole array with these elements, in row-major order.
  Model(DType dtype, const Shape& shape, std::vector<Real> values);

  DType dtype() const { return dtype_; }
  Shape shape() const { return Shape(std::span<const std::int64_t>(extents_)); }

  /// `begin` is set and no position negative; so is `end` unless the axis is walked backwards to its first position.
  Model slice(Slice positions, int axis) const;
  Model select(std::int64_t position, int axis) const;
  Model permute(const std::vector<int>& axes) const;
  Model expand(const Shape& shape) const;
  Model cast(DType dtype) const;

  /// The elements in row-major order.
  std::vector<Real> elements() const;
  /// Overwrites the elements with those of `source`, broadcast and converted, as they were before.
  void assign(const Model& source) const;

 private:
  std::size_t at(std::size_t index) const;

  DType dtype_;
  std::shared_ptr<std::vector<Real>> memory_;
  std::int64_t first_ = 0;
  std::vector<std::int64_t> extents_, strides_;
};

/// op(left, right), broadcast and promoted.
Model apply(Op op, const Model& left, const Model& right);
Model where(const Model& condition, const Model& left, const Model& right);

}  // namespace refrain::test
