#pragma once

#include "graph/passes/fusion_group.hpp"
#include "kernels/args.hpp"

namespace refrain::graph {

/// Whether a move only reads elements elsewhere, along axes of its result, so that a fused command can read them there:
/// all but counting, and rolls that carry over from row to row of a view.
bool reads_elsewhere(const kernels::MoveArgs& args) noexcept;

/// What such a move reads.
Walked moved_input_of(const Step& step);
/// Its indices, where it has them.
Walked indices_of(const Step& step);

}  // namespace refrain::graph
