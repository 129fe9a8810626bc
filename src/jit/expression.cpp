#include "jit/expression.hpp"

#include <algorithm>
#include <iterator>

namespace refrain::jit {

std::int64_t Expression::row_length() const noexcept {
  std::int64_t length = 1;
  for (int axis = row_axis(); axis < ndim; ++axis) length *= extents[axis];
  return length;
}

bool Expression::has_whole_rows(const Window& window) const noexcept {
  for (int axis = row_axis(); axis < ndim; ++axis) {
    if (window.begin[axis] != 0 || window.end[axis] != extents[axis]) return false;
  }
  return true;
}

bool Expression::is_of_rows(const Layout& layout) const noexcept {
  if (!has_rows()) return false;
  const auto* const end = layout.strides + ndim;
  return std::all_of(layout.strides + row_axis(), end, [](std::int64_t stride) { return stride == 0; }) &&
         std::all_of(layout.wraps.begin(), layout.wraps.end(),
                     [&](const Wrap& wrap) { return wrap.last < row_axis(); }) &&
         (layout.window < 0 || has_whole_rows(windows[static_cast<std::size_t>(layout.window)]));
}

bool Expression::is_moved() const noexcept {
  return !windows.empty() || std::any_of(inputs.begin(), inputs.end(), [](const Layout& input) {
    return !input.wraps.empty() || input.taken.has_value();
  });
}

Expression structure_of(const Expression& expression) {
  Expression structure = expression;
  structure.size = 0;
  std::fill(std::begin(structure.extents), std::end(structure.extents), 0);
  for (auto* layouts : {&structure.inputs, &structure.outputs}) {
    for (Layout& layout : *layouts) {
      const std::int64_t inner = layout.strides[expression.ndim - 1];
      std::fill(std::begin(layout.strides), std::end(layout.strides), 0);
      layout.strides[0] = inner == 0 || inner == 1 ? inner : 2;
    }
  }
  return structure;
}

}  // namespace refrain::jit
