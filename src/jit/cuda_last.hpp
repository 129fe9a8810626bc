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

/// Whether a kernel whose blocks are counted early reads an input, a single element, before that.
bool is_read_first(const Layout& input);
/// `Singles`: what such a kernel reads first.
void write_singles(std::ostream& text, const Expression& before);
/// `singles`, read by one thread, so that the block is counted when that has read them, and handed to the others; and
/// `is_last`, for `finish`. From the kernel's `args` and `whole`.
void write_early_count(std::ostream& text, const Expression& before);

/// Appends what `Last` holds. `blocks`: 0, and 0 again after each launch.
void add_last(CudaLaunch& launch, const Expression& last, void* const* addresses,
              std::span<const kernels::Value> scalars, const void* blocks);

}  // namespace refrain::jit
