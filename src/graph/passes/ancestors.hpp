#pragma once

#include "graph/draft.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace refrain::graph {

/// For each step of a draft, all that come before it: a bit a pair, so that a look-up is one and 10 000 steps are
/// 12 MB.
class Ancestors {
 public:
  /// Of more steps the table would be larger than what it is good for.
  static constexpr std::size_t most_steps = 1 << 15;

  explicit Ancestors(std::size_t steps) : words_((steps + 63) / 64), bits_(words_ * steps) {}
  explicit Ancestors(const std::vector<Step>& steps) : Ancestors(steps.size()) {
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
    return (bits_[step * words_ + before / 64] >> (before % 64) & 1) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace refrain::graph
