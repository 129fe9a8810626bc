#pragma once

#include "graph/passes/per_axis.hpp"
#include "jit/expression.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace refrain::graph {

/// Axes that commands walk along, the last one fastest; none has extent 1.
using Extents = PerAxis;
using WalkStrides = PerAxis;

/// The fewest axes that both can be written as with each of their own a run of them; nothing where there are none, or
/// more than kernels have.
std::optional<Extents> refine(const Extents& a, const Extents& b);

/// Strides along `coarse` as those along `fine`, a refinement of it.
WalkStrides refine_strides(const Extents& coarse, const WalkStrides& strides, const Extents& fine);

/// How many of the last axes of `fine`, a refinement of `coarse` and more axes behind it, are those more.
std::size_t further_axes(const Extents& coarse, const Extents& fine);
/// Strides along `coarse` where `fine` may have axes more behind its own, along which `coarse` has one position only.
WalkStrides strides_along(const Extents& coarse, const WalkStrides& strides, const Extents& fine);

/// How many positions there are.
std::int64_t size_of(const Extents& extents);
/// The same of axes along which positions wrap around.
std::vector<jit::Wrap> refine_wraps(const Extents& coarse, std::vector<jit::Wrap> wraps, const Extents& fine);

/// Strides of elements side by side.
WalkStrides dense_strides(const Extents& extents);

}  // namespace refrain::graph
