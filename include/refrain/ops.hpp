#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

// Elementwise ops. Operands are broadcast and promoted (`docs/arrays.md` has the tables); results are new arrays, in
// row-major order, on the operands' device. All throw Error(Errc::invalid_value) when shapes do not broadcast or the op
// has no such dtype, wrong_device for operands on two devices, and what ops throw on arrays without values.

namespace refrain {

// Numbers. bool has none: cast it first.

/// The largest whole number not above left / right, in their dtype. By 0: integers give 0, floats what `/` gives.
Array floor_divide(const Operand& left, const Operand& right);
/// left - right * floor_divide(left, right): of the divisor's sign. By 0: integers give 0, floats NaN.
Array remainder(const Operand& left, const Operand& right);
/// left to the power of right. Integers wrap around; a negative power of one is the whole part of it.
Array pow(const Operand& left, const Operand& right);
/// NaN where one is.
Array minimum(const Operand& left, const Operand& right);
/// NaN where one is.
Array maximum(const Operand& left, const Operand& right);
/// minimum(maximum(operand, low), high)
Array clamp(const Operand& operand, const Operand& low, const Operand& high);

Array abs(const Array& array, SourceLocation where = SourceLocation::current());
/// -1, 0 or 1; NaN of NaN.
Array sign(const Array& array, SourceLocation where = SourceLocation::current());
/// maximum(array, 0)
Array relu(const Array& array, SourceLocation where = SourceLocation::current());

// Whole numbers; integers and bools are copied.

Array floor(const Array& array, SourceLocation where = SourceLocation::current());
Array ceil(const Array& array, SourceLocation where = SourceLocation::current());
/// Ties to even.
Array round(const Array& array, SourceLocation where = SourceLocation::current());
/// Towards 0.
Array trunc(const Array& array, SourceLocation where = SourceLocation::current());

// Functions of floats; integers and bools are taken as float32. Results are within 2.5 units in the last place of the
// exact ones in float32 and float64, where nothing else is said, and within 0.501 in float16 and bfloat16; host and
// CUDA devices differ within that (pinned by tests/op_table.cpp).

/// e^x.
Array exp(const Array& array, SourceLocation where = SourceLocation::current());
/// The natural logarithm; NaN of negative numbers, -inf of 0.
Array log(const Array& array, SourceLocation where = SourceLocation::current());
/// log(1 + x), exact near 0.
Array log1p(const Array& array, SourceLocation where = SourceLocation::current());
/// exp(x) - 1, exact near 0.
Array expm1(const Array& array, SourceLocation where = SourceLocation::current());
/// Rounded correctly; NaN of negative numbers.
Array sqrt(const Array& array, SourceLocation where = SourceLocation::current());
/// 1 / sqrt(x), rounded twice.
Array rsqrt(const Array& array, SourceLocation where = SourceLocation::current());
/// Radians.
Array sin(const Array& array, SourceLocation where = SourceLocation::current());
/// Radians.
Array cos(const Array& array, SourceLocation where = SourceLocation::current());
Array tanh(const Array& array, SourceLocation where = SourceLocation::current());
/// The error function.
Array erf(const Array& array, SourceLocation where = SourceLocation::current());
/// 1 / (1 + exp(-x)), within 4.5 units.
Array sigmoid(const Array& array, SourceLocation where = SourceLocation::current());
/// x times the normal distribution's share below it, by erf, within 3 units of x's; -0 of -inf.
Array gelu(const Array& array, SourceLocation where = SourceLocation::current());
/// x / (1 + exp(-x)), within 4.5 units; -0 of -inf.
Array silu(const Array& array, SourceLocation where = SourceLocation::current());

// Truth.

Array isnan(const Array& array, SourceLocation where = SourceLocation::current());
/// Neither infinite nor NaN.
Array isfinite(const Array& array, SourceLocation where = SourceLocation::current());
/// Anything but 0 is true; so with those below.
Array logical_not(const Array& array, SourceLocation where = SourceLocation::current());
Array logical_and(const Operand& left, const Operand& right);
Array logical_or(const Operand& left, const Operand& right);
Array logical_xor(const Operand& left, const Operand& right);

/// From `left` where the condition is not 0, else from `right`.
Array where(const Array& condition, const Operand& left, const Operand& right);

}  // namespace refrain
