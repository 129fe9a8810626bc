#include "array/comparison.hpp"

#include <cstdint>
#include <limits>
#include <utility>

namespace refrain {

namespace {

using kernels::ElementwiseOp;

/// a op b is b mirrored(op) a.
ElementwiseOp mirrored(ElementwiseOp op) noexcept {
  switch (op) {
    case ElementwiseOp::less: return ElementwiseOp::greater;
    case ElementwiseOp::less_equal: return ElementwiseOp::greater_equal;
    case ElementwiseOp::greater: return ElementwiseOp::less;
    case ElementwiseOp::greater_equal: return ElementwiseOp::less_equal;
    default: return op;
  }
}

Comparison mirrored(Comparison comparison) {
  return {mirrored(comparison.op), std::move(comparison.right), std::move(comparison.left)};
}

struct Range {
  std::int64_t least, most;
};

template <class T>
constexpr Range range_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

/// Of scalars that are compared in this dtype; all where none is refused.
Range range_of(DType dtype) noexcept {
  if (dtype == DType::uint8) return range_of<std::uint8_t>();
  if (dtype == DType::int32) return range_of<std::int32_t>();
  return range_of<std::int64_t>();
}

/// With the scalar on the right in range.
Comparison in_range(Comparison comparison, Range range) {
  const Operand& right = comparison.right;
  if (right.array() != nullptr || right.parameter() != nullptr || is_floating(right.scalar().dtype)) return comparison;
  const std::int64_t value = right.scalar().i;
  if (value >= range.least && value <= range.most) return comparison;
  const ElementwiseOp op = comparison.op;
  if (value > range.most) {
    const bool is_true = op == ElementwiseOp::less || op == ElementwiseOp::less_equal || op == ElementwiseOp::not_equal;
    comparison.op = is_true ? ElementwiseOp::less_equal : ElementwiseOp::greater;
    comparison.right = Operand(range.most, right.where());
  } else {
    const bool is_true =
        op == ElementwiseOp::greater || op == ElementwiseOp::greater_equal || op == ElementwiseOp::not_equal;
    comparison.op = is_true ? ElementwiseOp::greater_equal : ElementwiseOp::less;
    comparison.right = Operand(range.least, right.where());
  }
  return comparison;
}

}  // namespace

bool is_comparison(ElementwiseOp op) noexcept {
  return op >= ElementwiseOp::equal && op <= ElementwiseOp::greater_equal;
}

Comparison computable(Comparison comparison, DType dtype) {
  const Range range = range_of(dtype);
  comparison = in_range(std::move(comparison), range);
  comparison = mirrored(in_range(mirrored(std::move(comparison)), range));
  const bool has_kernels = comparison.op != ElementwiseOp::greater && comparison.op != ElementwiseOp::greater_equal;
  return has_kernels ? comparison : mirrored(std::move(comparison));
}

}  // namespace refrain
