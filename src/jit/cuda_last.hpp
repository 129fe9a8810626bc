#pragma once

#include "jit/cuda_source.hpp"
#include "jit/expression.hpp"

#include <ostream>
#include <span>

// What a kernel's last block does, once all others have read and written.

namespace refrain::jit {

/// Whether it can be: single elements, or what integers of one row come to, whose order makes no difference.
bool can_be_last(const Expression& expression);

/// `Last`, and `finish`, which all threads of a kernel call at its end. `is_early`: finish is told what `count_block`
/// has said, which all threads call once they have read what `last` writes.
void write_last(std::ostream& text, const Expression& last, bool is_early);

/// Appends what `Last` holds. `blocks`: 0, and 0 again after each launch.
void add_last(CudaLaunch& launch, const Expression& last, void* const* addresses,
              std::span<const kernels::Value> scalars, const void* blocks);

}  // namespace refrain::jit
