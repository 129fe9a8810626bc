#pragma once

#include "graph/draft.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace refrain::graph {

/// Whether each step comes right after the one before it in the list.
inline bool are_line(const std::vector<Step>& steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto& before = steps[i].dependencies;
    if (before.empty() || before.back() != static_cast<int>(i) - 1) return false;
  }
  return true;
}

/// For each step of a draft, all that come before it: a bit a pair, so that a look-up is one and 10 000 steps are
/// 12 MB. Of a line nothing need be kept.
class Ancestors {
 public:
  /// Of more steps the table would be larger than what it is good for.
  static constexpr std::size_t most_steps = 1 << 15;
  static bool can_hold(const std::vector<Step>& steps) { return steps.size() <= most_steps || are_line(steps); }

  explicit Ancestors(std::size_t steps) : words_((steps + 63) / 64), bits_(words_ * steps) {}
  explicit Ancestors(const std::vector<Step>& steps) : Ancestors(are_line(steps) ? 0 : steps.size()) {
    if (words_ == 0) return;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const int before : steps[i].dependencies) add(i, static_cast<std::size_t>(before));
    }
  }

  /// `before`, and what comes before it, comes before `step` too. All of `before`'s own have been added.
  void add(std::size_t step, std::size_t before) {
    std::uint64_t* const to = bits_.data() + step * words_;
    const std::uint64_t* const from = bits_.data() + before * words_;
    for (std::size_t word = 0; word <= before / 64; ++word) to[word] |= from[word];
    to[before / 64] |= std::uint64_t{1} << (before % 64);
  }
  /// Whether `before` comes before `step`.
  bool holds(std::size_t step, std::size_t before) const {
    if (words_ == 0) return before < step;
    return (bits_[step * words_ + before / 64] >> (before % 64) & 1) != 0;
  }

 private:
  std::size_t words_;  ///< 0: of a line
  std::vector<std::uint64_t> bits_;
};

/// Of what a step waits for, each once and ascending: those that the others do not wait for, directly or not.
/// `follows(other)`: whether one does for which `take` has been called.
template <class Follows, class Take>
std::vector<int> reduced(std::vector<int> before, Follows follows, Take take) {
  std::sort(before.begin(), before.end(), std::greater<>());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  std::erase_if(before, [&](int other) {  // the latest first, for it may wait for the others
    if (follows(other)) return true;
    take(other);
    return false;
  });
  std::reverse(before.begin(), before.end());
  return before;
}

/// The same by ancestors, to which they are added.
inline std::vector<int> reduced(std::vector<int> before, Ancestors& ancestors, std::size_t step) {
  return reduced(
      std::move(before), [&](int other) { return ancestors.holds(step, static_cast<std::size_t>(other)); },
      [&](int other) { ancestors.add(step, static_cast<std::size_t>(other)); });
}

}  // namespace refrain::graph
