#pragma once

#include "graph/draft.hpp"
#include "jit/expression.hpp"

#include <optional>

namespace refrain::graph {

/// Whether nothing but values at each position is computed: no draws, no reductions, nothing read elsewhere.
bool is_plain(const jit::Expression& expression);

/// The step of `larger` that computes what `scalar` writes, one element each, in place of reading it. Both are fused,
/// the scalar plainly. Nothing where it reads more than the elements, or would take too much.
std::optional<Step> computed_within(Draft& draft, const Step& scalar, const Step& larger);

}  // namespace refrain::graph
