#pragma once

#include "jit/expression.hpp"
#include "kernels/elementwise_rows.hpp"

#include <cstddef>

namespace refrain::jit {

/// Scratch memory of the thread, aligned to 64 bytes and kept for its next run.
/// @throws std::bad_alloc
std::byte* scratch(std::size_t bytes);

/// The eager op's loop for an instruction.
kernels::Row find_row(const Instruction& instruction);

}  // namespace refrain::jit
