#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

// Matrix products: cuBLASLt on CUDA, OpenBLAS on the host, each loaded at the first product. Each shape, layout and
// dtype has one algorithm, eager and in graphs, so that both give the same bits; devices differ by the order of sums
// (`docs/arrays.md`). All throw Error(Errc::invalid_value) for shapes that do not fit and for dtypes that are not
// floating, wrong_device for operands on two devices, not_supported when the library cannot be loaded, and what ops
// throw on arrays without values.

namespace refrain {

/// What float32 numbers may be rounded to before they are multiplied; sums are float32. The narrower ones are faster on
/// tensor cores and are a leave, no order: the host takes none. Other dtypes are always multiplied as they are, and the
/// 16-bit ones are summed in float32 and rounded once.
enum class MatmulPrecision : unsigned char {
  exact,     ///< float32
  tf32,      ///< 10 bits behind the point
  bfloat16,  ///< 7 bits
  float16    ///< 10 bits, and a smaller range: large numbers become infinite
};

struct MatmulOptions {
  MatmulPrecision precision = MatmulPrecision::exact;
};

/// What follows a linear layer.
enum class Activation : unsigned char { none, relu, gelu, silu, tanh, sigmoid };

/// The matrix product over the last axis of `left` and the last but one of `right`, (..., m, k) x (..., k, n) to
/// (..., m, n); axes before those are broadcast. An operand of one axis is taken as a row on the left and a column on
/// the right, and that axis is left out of the result. Operands of two dtypes are promoted. Transposed operands and
/// slices are read where they are; those without a dense axis, and those whose rows repeat, are copied first.
Array matmul(const Array& left, const Array& right, MatmulOptions options = {},
             SourceLocation where = SourceLocation::current());

/// activation(x weight^T + bias) as one op: x (..., in), weight (out, in) as in PyTorch, bias (out) or an empty array
/// for none; gives (..., out). Bias and relu are applied before the sum is rounded to its dtype; the other activations
/// are a kernel of their own.
Array linear(const Array& x, const Array& weight, const Array& bias = {}, Activation activation = Activation::none,
             MatmulOptions options = {}, SourceLocation where = SourceLocation::current());

}  // namespace refrain
