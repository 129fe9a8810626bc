#include "jit/cuda_moves.hpp"

#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace refrain::jit {

namespace {

/// A wrap's axes as one: the index along it.
std::string index_along(const Expression& expression, const Wrap& wrap) {
  if (wrap.first == 0 && wrap.last == expression.ndim - 1) return "at";
  std::string text = "i" + std::to_string(wrap.first);
  for (int axis = wrap.first + 1; axis <= wrap.last; ++axis) {
    text = "(" + text + " * " + as_index("extents[" + std::to_string(axis) + "]") + " + i" + std::to_string(axis) + ")";
  }
  return text;
}

/// Elements from one position of the last axis to the next: "1", "0" or a parameter.
std::string inner_step(const Expression& expression, const Layout& layout, std::size_t array) {
  const std::int64_t stride = layout.strides[expression.ndim - 1];
  if (stride == 0 || stride == 1) return std::to_string(stride);
  return as_index("strides[" + std::to_string(array) + "][" + std::to_string(expression.ndim - 1) + "]");
}

/// Whether neighbours along the last axis can be read as one vector: each n-th position is then n-aligned.
bool is_vector(const Expression& expression, const Layout& layout, const void* address, std::int64_t width) {
  const auto bytes = static_cast<std::uintptr_t>(width * kernels::element_size(layout.type));
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
  const int last = expression.ndim - 1;
  std::int64_t inner = layout.strides[last];
  for (const Wrap& wrap : layout.wraps) {
    if (wrap.last != last) {
      if (wrap.stride % width != 0) return false;
    } else if (wrap.extent % width != 0 || wrap.shift % width != 0) {
      return false;
    } else {
      inner = wrap.stride;
    }
  }
  return inner == 1 &&
         std::all_of(layout.strides, layout.strides + last, [&](std::int64_t stride) { return stride % width == 0; });
}

}  // namespace

std::string as_index(const std::string& member) { return "static_cast<Index>(args." + member + ")"; }

bool is_narrow(const Expression& expression) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 16;  // a vector's positions are added
  if (expression.size > most) return false;
  const auto fits = [&](const Layout& layout) {
    std::int64_t reach = 0;
    const auto add = [&](std::int64_t extent, std::int64_t stride) {
      if (extent == 1 || reach > most) return;
      const std::int64_t step = std::abs(stride);
      reach = step > most / (extent - 1) ? most + 1 : reach + step * (extent - 1);
    };
    for (int axis = 0; axis < expression.ndim; ++axis) add(expression.extents[axis], layout.strides[axis]);
    for (const Wrap& wrap : layout.wraps) add(wrap.extent, wrap.stride);
    return reach <= most;
  };
  return std::all_of(expression.outputs.begin(), expression.outputs.end(), fits) &&
         std::all_of(expression.inputs.begin(), expression.inputs.end(), fits);
}

void write_move_types(std::ostream& text, const Expression& expression) {
  const auto has = [&](auto of) { return std::any_of(expression.inputs.begin(), expression.inputs.end(), of); };
  if (has([](const Layout& input) { return !input.wraps.empty(); })) {
    text << "template <int n> struct Wraps { i64 is_vector; i64 extents[n], shifts[n], strides[n]; };\n";
  }
  if (!expression.windows.empty()) {
    text << "struct Window { i64 begin[" << expression.ndim << "], extents[" << expression.ndim << "]; };\n";
  }
  if (has([](const Layout& input) { return input.taken.has_value(); })) {
    text << "#include \"kernels/indices.hpp\"\n"
            "template <int n> struct Taken { i64 size; u64 fill; i64 extents[n], strides[n]; };\n"
            "template <int ndim, class T, class Axes> __device__ __forceinline__ T take(const Axes& axes, const T* "
            "from, "
            "i64 index) {\n  i64 place = 0;\n  return find_index(index, axes.size, ndim, axes.extents, axes.strides, "
            "place) ? from[place] : from_bits<T>(axes.fill);\n}\n";
  }
}

void write_move_members(std::ostream& text, const Expression& expression) {
  for (std::size_t i = 0; i < expression.inputs.size(); ++i) {
    const Layout& input = expression.inputs[i];
    if (!input.wraps.empty()) text << "  Wraps<" << input.wraps.size() << "> w" << i << ";\n";
    if (input.taken) text << "  Taken<" << std::max(input.taken->ndim, 1) << "> t" << i << ";\n";
  }
  if (!expression.windows.empty()) text << "  Window windows[" << expression.windows.size() << "];\n";
}

std::vector<std::int64_t> move_members(const Expression& expression, void* const* addresses, std::int64_t width) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < expression.inputs.size(); ++i) {
    const Layout& input = expression.inputs[i];
    if (!input.wraps.empty()) {
      all.push_back(is_vector(expression, input, addresses[i], width) ? 1 : 0);
      for (const Wrap& wrap : input.wraps) all.push_back(wrap.extent);
      for (const Wrap& wrap : input.wraps) all.push_back(wrap.shift);
      for (const Wrap& wrap : input.wraps) all.push_back(wrap.stride);
    }
    if (input.taken) {
      const int ndim = std::max(input.taken->ndim, 1);
      all.push_back(input.taken->size);
      all.push_back(static_cast<std::int64_t>(input.taken->fill));
      all.insert(all.end(), input.taken->extents, input.taken->extents + ndim);
      all.insert(all.end(), input.taken->strides, input.taken->strides + ndim);
    }
  }
  for (const Window& window : expression.windows) {
    all.insert(all.end(), window.begin, window.begin + expression.ndim);
    for (int axis = 0; axis < expression.ndim; ++axis) all.push_back(window.end[axis] - window.begin[axis]);
  }
  return all;
}

void write_moved_load(std::ostream& text, const Expression& expression, std::size_t input, std::size_t array,
                      const std::string& type) {
  const Layout& layout = expression.inputs[input];
  const std::string x = "x" + std::to_string(input);
  const std::string wraps = "w" + std::to_string(input);
  text << "  Vector<" << type << ", n> " << x << ";\n  {\n    const " << type << "* first = static_cast<const " << type
       << "*>(args.arrays[" << array << "]) + o" << array << ";\n";
  std::string turning;  // the index along the wrap that the last axis is part of
  std::string step = inner_step(expression, layout, array);
  std::string extent;
  for (std::size_t k = 0; k < layout.wraps.size(); ++k) {
    const Wrap& wrap = layout.wraps[k];
    const auto of = [&](const char* member) { return as_index(wraps + "." + member + "[" + std::to_string(k) + "]"); };
    const std::string from = "from" + std::to_string(k);
    text << "    Index " << from << " = " << index_along(expression, wrap) << " - " << of("shifts") << ";\n    if ("
         << from << " < 0) " << from << " += " << of("extents") << ";\n";
    if (wrap.last != expression.ndim - 1) {
      text << "    first += " << from << " * " << of("strides") << ";\n";
      continue;
    }
    turning = from;
    extent = of("extents");
    step = wrap.stride == 1 ? "1" : of("strides");
  }
  if (step == "1") {
    text << "    if (n > 1 && args." << wraps << ".is_vector) {\n      " << x << " = *reinterpret_cast<const Vector<"
         << type << ", n>*>(first" << (turning.empty() ? "" : " + " + turning) << ");\n    } else {\n";
  } else {
    text << "    {\n";
  }
  text << "#pragma unroll\n      for (int i = 0; i < n; ++i) {\n";
  if (turning.empty()) {
    text << "        " << x << ".at[i] = first[i * " << step << "];\n";
  } else {
    text << "        Index turned = " << turning << " + i;\n        if (turned >= " << extent
         << ") turned -= " << extent << ";\n        " << x << ".at[i] = first[turned * " << step << "];\n";
  }
  text << "      }\n    }\n  }\n";
}

void write_windowed_load(std::ostream& text, const Expression& expression, std::size_t input, std::size_t array,
                         const std::string& type) {
  const Layout& layout = expression.inputs[input];
  text << "  Vector<" << type << ", n> x" << input << ";\n  {\n    const " << type
       << "* const first = static_cast<const " << type << "*>(args.arrays[" << array << "]) + o" << array
       << ";\n#pragma unroll\n    for (int i = 0; i < n; ++i) x" << input
       << ".at[i] = " << window_text(expression, layout.window) << " ? first[i * "
       << inner_step(expression, layout, array) << "] : " << type << "{};\n  }\n";
}

std::string window_text(const Expression& expression, int number, const char* further) {
  const Window& window = expression.windows[static_cast<std::size_t>(number)];
  std::string text;
  for (int axis = 0; axis < expression.ndim; ++axis) {
    if (window.begin[axis] == 0 && window.end[axis] == expression.extents[axis]) continue;
    const auto of = [&](const char* member) {
      return as_index("windows[" + std::to_string(number) + "]." + member + "[" + std::to_string(axis) + "]");
    };
    text += (text.empty() ? "(" : " && ") + std::string("static_cast<Bound>(i") + std::to_string(axis) +
            (axis == expression.ndim - 1 ? further : "") + " - " + of("begin") + ") < static_cast<Bound>(" +
            of("extents") + ")";
  }
  return text.empty() ? "true" : text + ")";
}

std::string take_text(const Expression& expression, std::size_t input, std::size_t array, const std::string& type,
                      const std::string& index) {
  const Layout& layout = expression.inputs[input];
  return "take<" + std::to_string(layout.taken->ndim) + ">(args.t" + std::to_string(input) + ", static_cast<const " +
         type + "*>(args.arrays[" + std::to_string(array) + "]) + o" + std::to_string(array) + " + i * " +
         inner_step(expression, layout, array) + ", " + index + ")";
}

Divisor divisor(std::int64_t by) {
  std::uint32_t shift = 0;
  while ((std::int64_t{1} << shift) < by) ++shift;
  const auto divided = static_cast<std::uint64_t>(by);
  const std::uint64_t factor = ((((std::uint64_t{1} << shift) - divided) << 32) / divided) + 1;
  return {static_cast<std::uint32_t>(factor), shift};
}

}  // namespace refrain::jit
