#pragma once

#include "jit/expression.hpp"
#include "kernels/elementwise_rows.hpp"

#include <cstdint>
#include <vector>

// Parts of expressions that are about some positions only, on the host.

namespace refrain::jit {

/// By instruction, the only window in which its value is needed; -1: it is needed outside of any.
std::vector<int> find_parts(const Expression& expression);

/// Positions [begin, end) of a tile.
struct Segment {
  std::int64_t begin;
  std::int64_t end;
};

using Segments = std::vector<std::vector<Segment>>;  ///< by window

/// By window, what of n positions lies in it: those from `index`, one entry an axis, on, which is moved on by them.
void find_segments(const Expression& expression, std::int64_t* index, std::int64_t n, Segments& segments);

/// Those of each tile of so many positions; none where they are many.
std::vector<Segments> find_all_segments(const Expression& expression, std::int64_t tile);

/// The elements of a row of n that lie in the segments, copied to `room`; the others are 0.
kernels::RowInput fetch_parts(kernels::Type type, const kernels::RowInput& row, const std::vector<Segment>& segments,
                              std::int64_t n, void* room);

}  // namespace refrain::jit
