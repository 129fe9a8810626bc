#pragma once

#include "kernels/args.hpp"
#include "runtime/command.hpp"
#include "runtime/strides.hpp"

#include <refrain/shape.hpp>

#include <cstdint>
#include <optional>

namespace refrain {

/// Whether two positions may be one element. Exact for all that views of dense arrays can have.
bool repeats_elements(const Shape& shape, const Strides& strides) noexcept;

/// Strides of the same elements, in row-major order, as another shape of as many; nothing where no strides can say it.
std::optional<Strides> reshaped(const Shape& shape, const Strides& strides, const Shape& as) noexcept;

/// An array's strides, as it is broadcast to a shape that it fits: 0 along what repeats.
void broadcast_strides(const Shape& from, const Strides& strides, const Shape& to, kernels::i64* broadcast) noexcept;

/// Drops axes of extent 1, brings them into the order in which the output lies, and merges neighbours that every
/// operand walks through as one. Sets `contiguous` where that leaves one walk through memory for all.
void simplify(runtime::ElementwiseCommand& command) noexcept;

}  // namespace refrain
