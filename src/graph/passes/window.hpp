#pragma once

#include "graph/passes/iteration.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace refrain::graph {

struct Walked;

/// Positions of a group that some of its steps are about: [begin, end) along each axis.
struct Window {
  Extents begin;
  Extents end;

  bool operator==(const Window&) const = default;
};

/// Where the positions of a step that walks along a part of an array only lie among those of the whole array.
struct Placement {
  std::size_t step = 0;
  Extents axes;   ///< of the whole array: the step's own axes in it, and one more where these leave elements out
  Window window;  ///< along them
};

/// The placement of a step that walks along `part`, which is to lie in `whole`, dense along its extents; nothing where
/// it does not lie there in rows and columns.
std::optional<Placement> find_placement(std::size_t step, const Walked& part, const Extents& part_extents,
                                        const Walked& whole, const Extents& extents);

/// An array of a step so placed, as if it went on over all positions.
Walked placed(Walked array, const Placement& placement);

/// The window along other axes, a refinement of its own and maybe axes more behind those; nothing where it is none of
/// theirs.
std::optional<Window> refine_window(const Extents& coarse, const Window& window, const Extents& fine);

}  // namespace refrain::graph
