#include "graph/passes/window.hpp"

#include "graph/passes/fusion_group.hpp"
#include "kernels/elementwise.hpp"

namespace refrain::graph {

namespace {

std::int64_t first_byte(const Walked& array) { return array.access.begin + array.access.first; }

}  // namespace

std::optional<Placement> find_placement(std::size_t step, const Walked& part, const Extents& part_extents,
                                        const Walked& whole, const Extents& extents) {
  const std::int64_t size = size_of(extents);
  const std::int64_t bytes = kernels::element_size(part.type);
  std::int64_t rest = first_byte(part) - first_byte(whole);
  if (part.block != whole.block || part.type != whole.type || whole.strides != dense_strides(extents) ||
      size_of(part_extents) >= size || rest < 0 || rest % bytes != 0) {
    return std::nullopt;
  }
  rest /= bytes;
  Placement found{step, {}, {}};
  std::int64_t outer = size;  // elements from one position of the axis before to the next
  const auto add = [&](std::int64_t stride, std::int64_t extent) {
    if (stride <= 0 || outer % stride != 0) return false;
    found.axes.push_back(outer / stride);
    found.window.begin.push_back(rest / stride);
    found.window.end.push_back(rest / stride + extent);
    rest %= stride;
    outer = stride;
    return found.window.end.back() <= found.axes.back();
  };
  for (std::size_t axis = 0; axis < part_extents.size(); ++axis) {
    if (!add(part.strides[axis], part_extents[axis])) return std::nullopt;
  }
  if (outer > 1) add(1, 1);
  return found;
}

Walked placed(Walked array, const Placement& placement) {
  // What lies as the part does goes on as the whole does.
  if (array.strides.size() < placement.axes.size()) {
    array.strides.push_back(array.strides.back() / placement.axes.back());
  }
  for (std::size_t axis = 0; axis < placement.axes.size(); ++axis) {
    array.access.first -= placement.window.begin[axis] * array.strides[axis] * kernels::element_size(array.type);
  }
  array.window = placement.window;
  return array;
}

std::optional<Window> refine_window(const Extents& coarse, const Window& window, const Extents& fine) {
  Window refined{Extents(fine.size(), 0), fine};
  std::size_t at = fine.size() - further_axes(coarse, fine);
  for (std::size_t axis = coarse.size(); axis-- > 0;) {
    std::int64_t inner = 1;  // positions of the axis for one of its first part
    for (std::int64_t left = coarse[axis]; left > 1;) {
      left /= fine[--at];
      if (left > 1) inner *= fine[at];
    }
    if (window.begin[axis] == 0 && window.end[axis] == coarse[axis]) continue;
    if (window.begin[axis] % inner != 0 || window.end[axis] % inner != 0) return std::nullopt;
    refined.begin[at] = window.begin[axis] / inner;
    refined.end[at] = window.end[axis] / inner;
  }
  return refined;
}

}  // namespace refrain::graph
