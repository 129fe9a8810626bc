#pragma once

#include "jit/expression.hpp"

#include <string>

// Reductions in CUDA source, by the folds of kernels/reduce_*.hpp.

namespace refrain::jit {

/// The name of `ReduceOp` in the headers of kernels/.
const char* reduce_name(kernels::ReduceOp op);

/// The fold's type, as reduce_tables.hpp chooses it.
std::string fold_name(const Reduction& reduction);

/// A stored value as the fold takes it.
std::string element_text(const Reduction& reduction, const std::string& value);

}  // namespace refrain::jit
