#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <optional>

namespace refrain::jit {

/// The earlier instruction with the same odd function of the opposite operand: -0.0 minus its value is this one's, bit
/// for bit, also of zeros and of NaNs, which on CUDA arithmetic and functions give one bit pattern only. Of float32 and
/// float64; of a neg directly, or behind products and quotients with the same other operand.
std::optional<std::size_t> same_of_opposite(const Expression& expression, std::size_t instruction);

}  // namespace refrain::jit
