#pragma once

#include "jit/cuda_source.hpp"

#include <span>
#include <string>

namespace refrain::jit {

/// `cuda_source` of an expression with reductions: each thread keeps its elements of a row in registers, from the one
/// read to the one write. `most_blocks`: of a cluster.
std::string rows_source(const Expression& expression, int most_blocks);

/// Whether extents and strides let all arrays be accessed in vectors, if their addresses do.
bool may_have_vectors(const Expression& expression);

/// @see cuda_launch
CudaLaunch rows_launch(const Expression& expression, int most_blocks, void* const* addresses,
                       std::span<const kernels::Value> scalars);

}  // namespace refrain::jit
