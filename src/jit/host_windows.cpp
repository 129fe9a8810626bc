#include "jit/host_windows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace refrain::jit {

using kernels::Row;
using kernels::RowInput;

std::vector<int> find_parts(const Expression& expression) {
  const auto& code = expression.code;
  constexpr int unused = -2;
  std::vector<int> parts(code.size(), unused);
  for (const int result : expression.results) parts[static_cast<std::size_t>(result)] = -1;
  for (std::size_t i = code.size(); i-- > 0;) {
    if (parts[i] == unused) parts[i] = -1;
    for (int k = 0; k < code[i].operand_count(); ++k) {
      int& part = parts[static_cast<std::size_t>(code[i].operands[k])];
      const int needed = code[i].kind == Instruction::Kind::choose && k == 0 ? code[i].number : parts[i];
      part = part == unused || part == needed ? needed : -1;
    }
  }
  return parts;
}

void find_segments(const Expression& expression, std::int64_t* index, std::int64_t n, Segments& segments) {
  const int last = expression.ndim - 1;
  for (auto& of_window : segments) of_window.clear();
  for (std::int64_t at = 0; at < n;) {
    const std::int64_t row = std::min(expression.extents[last] - index[last], n - at);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Window& window = expression.windows[i];
      bool is_inside = true;
      for (int axis = 0; axis < last; ++axis) {
        is_inside = is_inside && index[axis] >= window.begin[axis] && index[axis] < window.end[axis];
      }
      const std::int64_t begin = std::max<std::int64_t>(window.begin[last] - index[last], 0);
      const std::int64_t end = std::min(window.end[last] - index[last], row);
      if (!is_inside || begin >= end) continue;
      if (!segments[i].empty() && segments[i].back().end == at + begin) {
        segments[i].back().end = at + end;
      } else {
        segments[i].push_back({at + begin, at + end});
      }
    }
    at += row;
    index[last] += row;
    for (int axis = last; axis > 0 && index[axis] == expression.extents[axis]; --axis) {
      index[axis] = 0;
      ++index[axis - 1];
    }
  }
}

std::vector<Segments> find_all_segments(const Expression& expression, std::int64_t tile) {
  constexpr std::int64_t most_positions = 1 << 16;  // of more, finding them is little beside the ops
  std::vector<Segments> all;
  if (expression.windows.empty() || expression.size > most_positions) return all;
  std::int64_t index[kernels::max_ndim] = {};
  for (std::int64_t at = 0; at < expression.size; at += tile) {
    all.emplace_back(expression.windows.size());
    find_segments(expression, index, std::min(tile, expression.size - at), all.back());
  }
  return all;
}

RowInput fetch_parts(kernels::Type type, const RowInput& row, const std::vector<Segment>& segments, std::int64_t n,
                     void* room) {
  const std::int64_t bytes = kernels::element_size(type);
  const Row copy = kernels::Finders<kernels::RowOf>::copy(type, type);
  auto* const to = static_cast<std::byte*>(room);
  std::memset(to, 0, static_cast<std::size_t>(n * bytes));
  for (const auto [begin, end] : segments) {
    const RowInput part{static_cast<const std::byte*>(row.data) + begin * row.stride * bytes, row.stride};
    copy(&part, {to + begin * bytes, 1}, end - begin);
  }
  return {room, 1};
}

}  // namespace refrain::jit
