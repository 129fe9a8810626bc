#include "graph/passes/iteration.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>

namespace refrain::graph {

namespace {

/// How many positions lie behind each axis and the ones after it, the last axis first. Returns the end of what it
/// wrote.
std::int64_t* write_suffixes(const Extents& extents, std::int64_t* to) {
  std::int64_t product = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) *to++ = product *= extents[axis];
  return to;
}

}  // namespace

std::optional<Extents> refine(const Extents& a, const Extents& b) {
  if (a == b) return a;
  std::array<std::int64_t, 2 * PerAxis::most> bounds{};
  std::int64_t* const middle = write_suffixes(a, bounds.data());
  std::int64_t* end = write_suffixes(b, middle);
  if (middle[-1] != end[-1]) return std::nullopt;
  std::sort(bounds.data(), end);
  end = std::unique(bounds.data(), end);
  if (end - bounds.data() > kernels::max_ndim) return std::nullopt;
  Extents fine;
  std::int64_t below = 1;
  for (const std::int64_t bound : std::span(bounds.data(), end)) {
    if (bound % below != 0) return std::nullopt;
    fine.push_back(bound / below);
    below = bound;
  }
  std::reverse(fine.begin(), fine.end());
  return fine;
}

WalkStrides refine_strides(const Extents& coarse, const WalkStrides& strides, const Extents& fine) {
  WalkStrides all(fine.size());
  std::size_t at = fine.size();
  for (std::size_t axis = coarse.size(); axis-- > 0;) {
    std::int64_t stride = strides[axis];
    for (std::int64_t left = coarse[axis]; left > 1;) {
      const std::int64_t extent = fine[--at];
      all[at] = stride;
      stride *= extent;
      left /= extent;
    }
  }
  return all;
}

std::int64_t size_of(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t further_axes(const Extents& coarse, const Extents& fine) {
  std::size_t count = 0;
  for (std::int64_t left = size_of(fine) / size_of(coarse); left > 1;) left /= fine[fine.size() - ++count];
  return count;
}

WalkStrides strides_along(const Extents& coarse, const WalkStrides& strides, const Extents& fine) {
  const auto further = static_cast<std::ptrdiff_t>(further_axes(coarse, fine));
  WalkStrides all = refine_strides(coarse, strides, Extents(fine.begin(), fine.end() - further));
  while (all.size() < fine.size()) all.push_back(0);
  return all;
}

std::vector<jit::Wrap> refine_wraps(const Extents& coarse, std::vector<jit::Wrap> wraps, const Extents& fine) {
  if (wraps.empty()) return wraps;
  std::vector<int> first(coarse.size() + 1, static_cast<int>(fine.size()));  // by coarse axis, of the fine ones it is
  for (std::size_t axis = coarse.size(); axis-- > 0;) {
    first[axis] = first[axis + 1];
    for (std::int64_t left = coarse[axis]; left > 1;) left /= fine[static_cast<std::size_t>(--first[axis])];
  }
  for (jit::Wrap& wrap : wraps) {
    wrap.last = first[static_cast<std::size_t>(wrap.last) + 1] - 1;
    wrap.first = first[static_cast<std::size_t>(wrap.first)];
  }
  return wraps;
}

WalkStrides dense_strides(const Extents& extents) {
  WalkStrides strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
  return strides;
}

}  // namespace refrain::graph
