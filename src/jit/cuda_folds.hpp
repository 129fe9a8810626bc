#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <string>

// Reductions in CUDA source, by the folds of kernels/reduce_*.hpp.

namespace refrain::jit {

/// The fold of instruction i, `F3` and `f3`, and what it stores its result by, `a3`. `number`: of the reduction, whose
/// divisor is among `args.divisors`. `center`: a value's name, of `var`.
std::string fold_text(Reduction reduction, std::size_t i, int number, const std::string& center, bool is_contracted);

/// Whether it is a sum of float32, which is one in float32 where the kernel is contracted.
bool is_summed_in_float32(const Reduction& reduction);

/// Whether its sum is multiplied by the divisor's reciprocal, a power of two, before `a3` stores it: the same bits in
/// one instruction.
bool is_multiplied(const Reduction& reduction);
/// What `args.divisors` has of it.
double divisor_parameter(const Reduction& reduction);

/// A stored value as the fold takes it.
std::string element_text(const Reduction& reduction, const std::string& value);

}  // namespace refrain::jit
