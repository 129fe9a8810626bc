#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <string>

// Reductions in CUDA source, by the folds of kernels/reduce_*.hpp.

namespace refrain::jit {

/// The fold of instruction i, `F3` and `f3`, and what it stores its result by, `a3`. `number`: of the reduction, whose
/// divisor is among `args.divisors`. `center`: a value's name, of `var`.
std::string fold_text(const Reduction& reduction, std::size_t i, int number, const std::string& center);

/// A stored value as the fold takes it.
std::string element_text(const Reduction& reduction, const std::string& value);

}  // namespace refrain::jit
