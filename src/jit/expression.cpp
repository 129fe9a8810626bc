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

namespace {

bool have_same_axes(const Expression& a, const Expression& b) {
  return a.size == b.size && a.ndim == b.ndim && std::equal(a.extents, a.extents + a.ndim, b.extents);
}

Expression along_axes(const Expression& expression, const Expression& axes) {
  if (have_same_axes(expression, axes)) return expression;
  Expression moved = expression;
  moved.ndim = axes.ndim;
  std::copy(std::begin(axes.extents), std::end(axes.extents), moved.extents);
  for (auto* layouts : {&moved.inputs, &moved.outputs}) {
    for (Layout& layout : *layouts) {
      std::int64_t stride = layout.is_single ? 0 : 1;
      for (int axis = axes.ndim - 1; axis >= 0; --axis) {
        layout.strides[axis] = stride;
        stride *= axes.extents[axis];
      }
    }
  }
  return moved;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

bool can_walk_along(const Expression& expression, const Expression& axes) noexcept {
  if (have_same_axes(expression, axes)) return true;
  const auto is_plain = [](const Layout& layout) { return layout.is_dense || layout.is_single; };
  return expression.size == axes.size && expression.ndim == 1 &&
         std::all_of(expression.inputs.begin(), expression.inputs.end(), is_plain) &&
         std::all_of(expression.outputs.begin(), expression.outputs.end(), is_plain);
}

Expression side_by_side(const Expression& a, const Expression& b) {
  const bool is_along_a = can_walk_along(b, a);
  Expression both = is_along_a ? a : along_axes(a, b);
  const Expression other = is_along_a ? along_axes(b, a) : b;
  const int first = static_cast<int>(both.code.size());
  for (Instruction instruction : other.code) {
    for (int& operand : instruction.operands) operand += operand >= 0 ? first : 0;
    if (instruction.kind == Instruction::Kind::load) instruction.number += static_cast<int>(both.inputs.size());
    if (instruction.kind == Instruction::Kind::scalar) instruction.number += static_cast<int>(both.scalars.size());
    both.code.push_back(instruction);
  }
  for (const int result : other.results) both.results.push_back(result + first);
  append(both.inputs, other.inputs);
  append(both.outputs, other.outputs);
  append(both.scalars, other.scalars);
  return both;
}

}  // namespace refrain::jit
