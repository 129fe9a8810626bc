#include "jit/cuda_row_moves.hpp"

#include "jit/cuda_moves.hpp"
#include "jit/rows.hpp"

#include <algorithm>
#include <cstdint>

namespace refrain::jit {

namespace {

std::string index_along(const Wrap& wrap) {
  std::string text = "i" + std::to_string(wrap.first);
  for (int axis = wrap.first + 1; axis <= wrap.last; ++axis) {
    const std::string number = std::to_string(axis);
    text = "(" + text + " * " + as_index("extents[" + number + "]") + " + i" + number + ")";
  }
  return text;
}

std::string wrap_text(const Layout& layout, std::size_t number, std::size_t input) {
  const auto of = [&](const char* member) {
    return as_index("w" + std::to_string(input) + "." + member + "[" + std::to_string(number) + "]");
  };
  return "turned(" + index_along(layout.wraps[number]) + ", " + of("shifts") + ", " + of("extents") + ") * " +
         of("strides");
}

/// The wraps that the row's axes are among, or the others.
std::string wraps_text(const Expression& expression, const Layout& layout, std::size_t input, bool is_in_row) {
  std::string text;
  for (std::size_t k = 0; k < layout.wraps.size(); ++k) {
    if ((layout.wraps[k].last >= expression.row_axis()) != is_in_row) continue;
    text += (text.empty() ? "" : " + ") + wrap_text(layout, k, input);
  }
  return text;
}

}  // namespace

bool has_row_positions(const Expression& expression) {
  const auto is_placed = [&](const Layout& layout) {
    return !expression.is_of_rows(layout) && !is_line(expression, layout);
  };
  return std::any_of(expression.inputs.begin(), expression.inputs.end(), is_placed) ||
         std::any_of(expression.outputs.begin(), expression.outputs.end(), is_placed) ||
         std::any_of(expression.windows.begin(), expression.windows.end(),
                     [&](const Window& window) { return !expression.has_whole_rows(window); });
}

void write_row_positions(std::ostream& text, const Expression& expression) {
  text << (is_narrow(expression) ? "using Index = i32;\nusing Bound = u32;\n"
                                 : "using Index = i64;\nusing Bound = u64;\n")
       << "__device__ __forceinline__ Index turned(Index at, Index shift, Index extent) {\n"
          "  const Index from = at - shift;\n  return from < 0 ? from + extent : from;\n}\n";
  write_move_types(text, expression);
}

void write_row_index(std::ostream& text, const Expression& expression) {
  const int last = expression.ndim - 1;
  const char* const indent = "      ";
  text << indent << "const u32 rest" << last << " = static_cast<u32>(begin) + static_cast<u32>(at);\n";
  for (int axis = last; axis > expression.row_axis(); --axis) {
    const std::string extent = std::to_string(expression.extents[axis]) + "u";
    text << indent << "const u32 rest" << axis - 1 << " = rest" << axis << " / " << extent << ";\n"
         << indent << "const Index i" << axis << " = static_cast<Index>(rest" << axis << " - rest" << axis - 1 << " * "
         << extent << ");\n";
  }
  text << indent << "const Index i" << expression.row_axis() << " = static_cast<Index>(rest" << expression.row_axis()
       << ");\n";
}

std::string outer_wraps_text(const Expression& expression, const Layout& layout, std::size_t input) {
  return wraps_text(expression, layout, input, false);
}

std::string in_row_text(const Expression& expression, const Layout& layout, std::size_t array, std::size_t input) {
  if (has_lines(expression, layout)) {
    const int last = expression.ndim - 1;
    const std::int64_t stride = layout.strides[last];
    if (stride == 0) return "0";
    return stride == 1 ? "at"
                       : "at * " + as_index("strides[" + std::to_string(array) + "][" + std::to_string(last) + "]");
  }
  std::string text = wraps_text(expression, layout, input, true);
  for (int axis = expression.row_axis(); axis < expression.ndim; ++axis) {
    const std::int64_t stride = layout.strides[axis];
    if (stride == 0) continue;
    const std::string number = std::to_string(axis);
    // Where the row's extents are in the text, so is what usually follows from them.
    const bool is_constant = stride == 1 || expression.row_ndim > 1;
    text += (text.empty() ? "i" : " + i") + number + " * " +
            (is_constant ? "static_cast<Index>(" + std::to_string(stride) + ")"
                         : as_index("strides[" + std::to_string(array) + "][" + number + "]"));
  }
  return text.empty() ? "0" : text;
}

}  // namespace refrain::jit
