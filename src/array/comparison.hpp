#pragma once

#include "kernels/args.hpp"

#include <refrain/array.hpp>

namespace refrain {

bool is_comparison(kernels::ElementwiseOp op) noexcept;

/// `left op right`, as kernels have it.
struct Comparison {
  kernels::ElementwiseOp op;
  Operand left, right;
};

/// The same comparison by an op that has kernels, with scalars that `dtype`, in which it is computed, can hold: every
/// uint8 is less than 300 as it is not above 255. Values of parameters are left as they are.
Comparison computable(Comparison comparison, DType dtype);

}  // namespace refrain
