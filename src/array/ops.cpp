#include <refrain/ops.hpp>

#include "array/elementwise.hpp"
#include "array/make.hpp"

#include <array>

namespace refrain {

namespace {

using kernels::ElementwiseOp;

Array unary(ElementwiseOp op, const Operand& operand) {
  const std::array<const Operand*, 1> operands{&operand};
  return apply_op(op, operands);
}

Array binary(ElementwiseOp op, const Operand& left, const Operand& right) {
  const std::array<const Operand*, 2> operands{&left, &right};
  return apply_op(op, operands);
}

/// Of whole numbers these are the numbers themselves.
Array rounded(ElementwiseOp op, const Array& array, const char* label, SourceLocation where) {
  require_defined(array, label, where);
  if (!is_floating(array.dtype())) return contiguous_copy(array, label, where);
  return unary(op, Operand(array, where));
}

/// All elements the same.
Array truth(const Array& array, bool value, const char* label, SourceLocation where) {
  require_usable(array, label, where);
  const Array all = empty(array.shape(), {.dtype = DType::bool_, .device = array.device()}, where);
  fill(all, Scalar(value), label, where);
  return all;
}

}  // namespace

Array operator+(const Operand& left, const Operand& right) { return binary(ElementwiseOp::add, left, right); }
Array operator-(const Operand& left, const Operand& right) { return binary(ElementwiseOp::sub, left, right); }
Array operator*(const Operand& left, const Operand& right) { return binary(ElementwiseOp::mul, left, right); }
Array operator/(const Operand& left, const Operand& right) { return binary(ElementwiseOp::div, left, right); }
Array operator%(const Operand& left, const Operand& right) { return binary(ElementwiseOp::remainder, left, right); }
Array operator==(const Operand& left, const Operand& right) { return binary(ElementwiseOp::equal, left, right); }
Array operator!=(const Operand& left, const Operand& right) { return binary(ElementwiseOp::not_equal, left, right); }
Array operator<(const Operand& left, const Operand& right) { return binary(ElementwiseOp::less, left, right); }
Array operator<=(const Operand& left, const Operand& right) { return binary(ElementwiseOp::less_equal, left, right); }
Array operator>(const Operand& left, const Operand& right) { return binary(ElementwiseOp::greater, left, right); }
Array operator>=(const Operand& left, const Operand& right) {
  return binary(ElementwiseOp::greater_equal, left, right);
}
Array operator&(const Operand& left, const Operand& right) { return binary(ElementwiseOp::bitwise_and, left, right); }
Array operator|(const Operand& left, const Operand& right) { return binary(ElementwiseOp::bitwise_or, left, right); }
Array operator^(const Operand& left, const Operand& right) { return binary(ElementwiseOp::bitwise_xor, left, right); }
Array operator-(const Operand& operand) { return unary(ElementwiseOp::neg, operand); }
Array operator~(const Operand& operand) { return unary(ElementwiseOp::bitwise_not, operand); }

Array& Array::operator+=(const Operand& right) { return apply_in_place(ElementwiseOp::add, *this, right), *this; }
Array& Array::operator-=(const Operand& right) { return apply_in_place(ElementwiseOp::sub, *this, right), *this; }
Array& Array::operator*=(const Operand& right) { return apply_in_place(ElementwiseOp::mul, *this, right), *this; }
Array& Array::operator/=(const Operand& right) { return apply_in_place(ElementwiseOp::div, *this, right), *this; }
Array& Array::operator%=(const Operand& right) { return apply_in_place(ElementwiseOp::remainder, *this, right), *this; }
Array& Array::operator&=(const Operand& right) {
  return apply_in_place(ElementwiseOp::bitwise_and, *this, right), *this;
}
Array& Array::operator|=(const Operand& right) {
  return apply_in_place(ElementwiseOp::bitwise_or, *this, right), *this;
}
Array& Array::operator^=(const Operand& right) {
  return apply_in_place(ElementwiseOp::bitwise_xor, *this, right), *this;
}

Array floor_divide(const Operand& left, const Operand& right) {
  return binary(ElementwiseOp::floor_divide, left, right);
}
Array remainder(const Operand& left, const Operand& right) { return binary(ElementwiseOp::remainder, left, right); }
Array pow(const Operand& left, const Operand& right) { return binary(ElementwiseOp::pow, left, right); }
Array minimum(const Operand& left, const Operand& right) { return binary(ElementwiseOp::minimum, left, right); }
Array maximum(const Operand& left, const Operand& right) { return binary(ElementwiseOp::maximum, left, right); }
Array logical_and(const Operand& left, const Operand& right) { return binary(ElementwiseOp::logical_and, left, right); }
Array logical_or(const Operand& left, const Operand& right) { return binary(ElementwiseOp::logical_or, left, right); }
Array logical_xor(const Operand& left, const Operand& right) { return binary(ElementwiseOp::logical_xor, left, right); }

Array clamp(const Operand& operand, const Operand& low, const Operand& high) {
  const std::array<const Operand*, 3> operands{&operand, &low, &high};
  return apply_op(ElementwiseOp::clamp, operands);
}

Array abs(const Array& array, SourceLocation where) { return unary(ElementwiseOp::abs, Operand(array, where)); }
Array sign(const Array& array, SourceLocation where) { return unary(ElementwiseOp::sign, Operand(array, where)); }
Array relu(const Array& array, SourceLocation where) { return unary(ElementwiseOp::relu, Operand(array, where)); }
Array exp(const Array& array, SourceLocation where) { return unary(ElementwiseOp::exp, Operand(array, where)); }
Array log(const Array& array, SourceLocation where) { return unary(ElementwiseOp::log, Operand(array, where)); }
Array log1p(const Array& array, SourceLocation where) { return unary(ElementwiseOp::log1p, Operand(array, where)); }
Array expm1(const Array& array, SourceLocation where) { return unary(ElementwiseOp::expm1, Operand(array, where)); }
Array sqrt(const Array& array, SourceLocation where) { return unary(ElementwiseOp::sqrt, Operand(array, where)); }
Array rsqrt(const Array& array, SourceLocation where) { return unary(ElementwiseOp::rsqrt, Operand(array, where)); }
Array sin(const Array& array, SourceLocation where) { return unary(ElementwiseOp::sin, Operand(array, where)); }
Array cos(const Array& array, SourceLocation where) { return unary(ElementwiseOp::cos, Operand(array, where)); }
Array tanh(const Array& array, SourceLocation where) { return unary(ElementwiseOp::tanh, Operand(array, where)); }
Array erf(const Array& array, SourceLocation where) { return unary(ElementwiseOp::erf, Operand(array, where)); }
Array sigmoid(const Array& array, SourceLocation where) { return unary(ElementwiseOp::sigmoid, Operand(array, where)); }
Array gelu(const Array& array, SourceLocation where) { return unary(ElementwiseOp::gelu, Operand(array, where)); }
Array silu(const Array& array, SourceLocation where) { return unary(ElementwiseOp::silu, Operand(array, where)); }
Array logical_not(const Array& array, SourceLocation where) {
  return unary(ElementwiseOp::logical_not, Operand(array, where));
}

Array floor(const Array& array, SourceLocation where) { return rounded(ElementwiseOp::floor, array, "floor", where); }
Array ceil(const Array& array, SourceLocation where) { return rounded(ElementwiseOp::ceil, array, "ceil", where); }
Array round(const Array& array, SourceLocation where) { return rounded(ElementwiseOp::round, array, "round", where); }
Array trunc(const Array& array, SourceLocation where) { return rounded(ElementwiseOp::trunc, array, "trunc", where); }

Array isnan(const Array& array, SourceLocation where) {
  require_defined(array, "isnan", where);
  return is_floating(array.dtype()) ? unary(ElementwiseOp::isnan, Operand(array, where))
                                    : truth(array, false, "isnan", where);
}

Array isfinite(const Array& array, SourceLocation where) {
  require_defined(array, "isfinite", where);
  return is_floating(array.dtype()) ? unary(ElementwiseOp::isfinite, Operand(array, where))
                                    : truth(array, true, "isfinite", where);
}

}  // namespace refrain
