#pragma once

#include "jit/expression.hpp"
#include "kernels/elementwise_rows.hpp"

#include <cstdint>

// Inputs of expressions that are read elsewhere than at the position that is computed, on the host.

namespace refrain::jit {

/// The elements of n positions from `position` on: where they are, if they are in one line, else copied to `room`.
kernels::RowInput fetch(const Expression& expression, const Layout& input, const void* data, std::int64_t position,
                        std::int64_t n, void* room);

/// n elements, each the one that its index leads to from what `from` has at its position.
using TakeRow = void (*)(const Taken& taken, kernels::RowInput from, kernels::RowInput indices, kernels::RowOutput out,
                         std::int64_t n);

TakeRow find_take(kernels::Type type, kernels::Type index_type);

}  // namespace refrain::jit
