#pragma once

#include "graph/arena.hpp"
#include "graph/draft.hpp"
#include "graph/passes/ancestors.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace refrain::graph {

/// The bytes of an arena that a block takes.
inline std::int64_t arena_bytes(const Block& block) {
  return (block.buffer->size_bytes() + arena_alignment - 1) / arena_alignment * arena_alignment;
}

/// By block, the steps that use it, ascending; of temporaries alone.
std::vector<std::vector<std::size_t>> users_of_temporaries(const Draft& draft);

/// A place in an arena from its first use to its last: of a temporary, and of those that take over its memory.
struct Life {
  std::size_t block = 0;    ///< that takes over no other's
  std::int64_t bytes = 0;   ///< of the arena
  std::size_t begin = 0;    ///< the first step that uses it
  std::size_t end = 0;      ///< the last one
  std::vector<int> firsts;  ///< steps that use it and come after no other such step
  std::vector<int> lasts;   ///< steps that use it and come before no other such step
  double begin_us = 0;      ///< of the first of those steps, as far as anybody knows
  double end_us = 0;        ///< of the last one

  /// Whether all uses are over before the other's first ones.
  bool ends_before(const Life& other, const Ancestors& ancestors) const {
    if (end >= other.begin) return false;
    for (const int first : other.firsts) {
      for (const int last : lasts) {
        if (!ancestors.holds(static_cast<std::size_t>(first), static_cast<std::size_t>(last))) return false;
      }
    }
    return true;
  }
  /// Whether they are thought to be over so long before the other's begin.
  bool is_over_for(const Life& other, double lead_us) const {
    return end < other.begin && std::isfinite(end_us) && end_us + lead_us <= other.begin_us;
  }
};

/// Those on one device, in the order they begin.
struct DeviceLives {
  Device device;
  std::vector<Life> lives;
  std::int64_t total_bytes = 0;
  std::int64_t live_bytes = 0;  ///< the largest sum of those that some step of the list finds alive
};

/// `ancestors`: null: `firsts` and `lasts` are left out.
std::vector<DeviceLives> find_lives(const Draft& draft, const Ancestors* ancestors);

}  // namespace refrain::graph
