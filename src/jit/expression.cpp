#include "jit/expression.hpp"

#include <algorithm>
#include <iterator>

namespace refrain::jit {

bool Expression::is_moved() const noexcept {
  return !windows.empty() || std::any_of(inputs.begin(), inputs.end(), [](const Layout& input) {
    return !input.wraps.empty() || input.taken.has_value();
  });
}

std::int64_t Expression::parameter_bytes() const noexcept {
  const auto has_strides = [](const Layout& layout) { return !layout.is_dense && !layout.is_single; };
  const bool is_strided = std::any_of(inputs.begin(), inputs.end(), has_strides) ||
                          std::any_of(outputs.begin(), outputs.end(), has_strides);
  const std::int64_t arrays = std::max<std::int64_t>(std::ssize(inputs) + std::ssize(outputs), 1);
  const std::int64_t numbers = 2 + arrays + std::ssize(scalars) + (is_strided ? ndim * (2 + arrays) : 0);
  return numbers * 8;
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
