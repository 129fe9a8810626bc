#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <ostream>
#include <string>

// What kernels of draws need beside the expression, in CUDA source: where draws begin, and sums of what they make. The
// names that the text uses: `args`, `thread`, `threads`, `sums`; for draw 3 `a3` (its RandomArgs), `of3` (what makes
// its numbers), `seed3` and `offset3`.

namespace refrain::jit {

/// Seeds and offsets, and the counters of the next replay once all of a block have read its own.
void write_counters(std::ostream& text, const Expression& expression);

/// `Sums`, what a thread adds up.
void write_sum_types(std::ostream& text, const Expression& expression);

/// A reduction, instruction `number`, takes in a value.
std::string sum_text(const Expression& expression, std::size_t number, const std::string& value);

/// Each block's part, and zeros for those that no block has.
void write_sums(std::ostream& text, const Expression& expression);

}  // namespace refrain::jit
