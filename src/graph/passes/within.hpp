#pragma once

#include "graph/draft.hpp"
#include "jit/expression.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace refrain::graph {

/// Whether nothing but values at each position is computed: no draws, no reductions, nothing read elsewhere.
bool is_plain(const jit::Expression& expression);

/// Whether a command makes single elements of single elements.
bool makes_elements(const runtime::Command& command);

/// A step as a fused command of its own, where it is elementwise and none yet.
Step as_fused(Draft& draft, std::size_t step);

/// The step of `larger` that computes what `scalar` writes, one element each, in place of reading it. Both are fused,
/// the scalar plainly. Nothing where it reads more than the elements, or would take too much.
std::optional<Step> computed_within(Draft& draft, const Step& scalar, const Step& larger);

/// A fused step, which is plain, that writes these accesses only.
Step with_outputs(Draft& draft, const Step& step, const std::vector<bool>& is_kept);

}  // namespace refrain::graph
