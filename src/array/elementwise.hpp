#pragma once

#include "kernels/args.hpp"

#include <refrain/array.hpp>

#include <span>

namespace refrain {

/// op(operands), an op of the table, broadcast, in the dtype that they are promoted to.
/// @throws Error(Errc::invalid_value) when shapes do not broadcast or the op has no such dtype; wrong_device
Array apply_op(kernels::ElementwiseOp op, std::span<const Operand* const> operands);
/// target = op(target, right).
/// @throws as apply_op; Error(Errc::invalid_value) when the target cannot hold the result
void apply_in_place(kernels::ElementwiseOp op, const Array& target, const Operand& right);
/// @throws Error(Errc::invalid_value) when two positions of the target are one element
void require_distinct(const Array& target, const char* label, SourceLocation where);
/// A new array with the same elements.
Array contiguous_copy(const Array& array, const char* label, SourceLocation where);

/// Sets every element of the array to the scalar, converted to its dtype.
void fill(const Array& array, const Scalar& value, const char* label, SourceLocation where);
/// Overwrites the target's elements with those of an array of its shape and device, converted to its dtype. No checks.
void copy_into(const Array& target, const Array& source, const char* label, SourceLocation where);

}  // namespace refrain
