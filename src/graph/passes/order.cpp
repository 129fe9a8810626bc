#include "runtime/order.hpp"
#include "graph/passes/ancestors.hpp"
#include "graph/passes/passes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::Access;
using runtime::AccessMode;

/// Memory whose accesses may conflict: a block, or all that is other code's.
using Space = std::pair<const void*, int>;

struct SpaceHash {
  std::size_t operator()(const Space& space) const noexcept {
    return std::hash<const void*>()(space.first) ^ static_cast<std::size_t>(space.second) * 0x9e3779b97f4a7c15U;
  }
};

struct Earlier {
  int step;
  Access access;
};

/// Of one space. Reads are many, and conflict with writes alone.
struct History {
  std::vector<Earlier> writes;
  std::vector<Earlier> reads;
};

/// The accesses of earlier steps that a later one may conflict with.
class Histories {
 public:
  explicit Histories(const Draft& draft) : draft_(draft) {}

  /// Calls `found` for the earlier steps that one conflicts with, and takes note of it.
  template <class Found>
  void step(int number, Found found) {
    const Step& step = draft_.steps[static_cast<std::size_t>(number)];
    const auto& accesses = step.command->accesses;
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      const History& history = histories_[space_of(step.blocks[k])];
      const auto compare = [&](const std::vector<Earlier>& with) {
        for (const Earlier& earlier : with) {
          if (earlier.step != number && runtime::conflict(earlier.access, accesses[k])) found(earlier.step);
        }
      };
      compare(history.writes);
      if (accesses[k].mode == AccessMode::write) compare(history.reads);
    }
    for (std::size_t k = 0; k < accesses.size(); ++k) add(histories_[space_of(step.blocks[k])], number, accesses[k]);
  }

 private:
  Space space_of(int block) const {
    const Block& of = draft_.blocks[static_cast<std::size_t>(block)];
    if (of.buffer->is_foreign()) return {nullptr, -1 - static_cast<int>(of.buffer->device().kind)};
    const runtime::Buffer* const named = of.buffer->named();
    return {named != nullptr ? named : of.buffer, of.is_temporary ? block : -1};
  }

  /// A write drops what it covers: who conflicts with that conflicts with the write.
  static void add(History& history, int number, const Access& access) {
    if (access.begin >= access.end) return;
    if (access.mode == AccessMode::write && !access.has_gaps) {
      const std::int64_t origin = access.buffer->history_origin();
      const auto is_covered = [&](const Earlier& earlier) {
        const std::int64_t own = earlier.access.buffer->history_origin();
        return earlier.step != number && earlier.access.begin + own >= access.begin + origin &&
               earlier.access.end + own <= access.end + origin;
      };
      std::erase_if(history.writes, is_covered);
      std::erase_if(history.reads, is_covered);
    }
    (access.mode == AccessMode::write ? history.writes : history.reads).push_back({number, access});
  }

  const Draft& draft_;
  std::unordered_map<Space, History, SpaceHash> histories_;
};

/// The order as written, for commands that keep theirs with all others.
class Written {
 public:
  explicit Written(const Draft& draft) : ancestors_(draft.steps), seen_by_(draft.steps.size(), 0) {
    for (const Step& step : draft.steps) {
      before_.push_back(step.dependencies);
      keeps_.push_back(keeps_order(*step.command));
    }
  }

  bool holds(std::size_t step, std::size_t before) const { return ancestors_.holds(step, before); }

  /// Calls `found` for steps before this one, which keeps its order: all but those that come before a found one that
  /// keeps its own.
  template <class Found>
  void before(std::size_t step, Found found) {
    std::vector<std::size_t> left = {step};
    while (!left.empty()) {
      const std::size_t next = left.back();
      left.pop_back();
      for (const int dependency : before_[next]) {
        const auto other = static_cast<std::size_t>(dependency);
        if (std::exchange(seen_by_[other], step) == step) continue;
        found(other);
        if (!keeps_[other]) left.push_back(other);
      }
    }
  }

 private:
  Ancestors ancestors_;
  std::vector<std::vector<int>> before_;  ///< by step
  std::vector<bool> keeps_;
  std::vector<std::size_t> seen_by_;  ///< by step: the one that it was last found for; 0 is before nothing
};

/// A step that keeps its order with all others.
struct Keeper {
  std::size_t step = 0;
  bool follows_all = false;  ///< that do so before it
};

int edges_of(const Draft& draft) {
  std::size_t count = 0;
  for (const Step& step : draft.steps) count += step.dependencies.size();
  return static_cast<int>(count);
}

}  // namespace

void relax_order(Draft& draft) {
  const std::size_t count = draft.steps.size();
  if (count > Ancestors::most_steps) {
    draft.say("order: kept as written, for " + std::to_string(count) + " commands are too many to compare");
    return;
  }
  const int before = edges_of(draft);
  std::optional<Written> as_written;
  if (std::any_of(draft.steps.begin(), draft.steps.end(),
                  [](const Step& step) { return keeps_order(*step.command); })) {
    as_written.emplace(draft);
  }
  Ancestors relaxed(count);
  Histories histories(draft);
  std::vector<Keeper> ordered_with_all;
  for (std::size_t i = 0; i < count; ++i) {
    Step& step = draft.steps[i];
    std::vector<int> needed;
    histories.step(static_cast<int>(i), [&](int earlier) { needed.push_back(earlier); });
    if (!keeps_order(*step.command)) {
      for (auto other = ordered_with_all.rbegin(); other != ordered_with_all.rend(); ++other) {
        if (!as_written->holds(i, other->step)) continue;
        needed.push_back(static_cast<int>(other->step));
        if (other->follows_all) break;
      }
    } else {
      as_written->before(i, [&](std::size_t other) { needed.push_back(static_cast<int>(other)); });
      const auto follows = [&](const Keeper& other) { return as_written->holds(i, other.step); };
      const bool follows_all =
          (!ordered_with_all.empty() && ordered_with_all.back().follows_all && follows(ordered_with_all.back())) ||
          std::all_of(ordered_with_all.rbegin(), ordered_with_all.rend(), follows);
      ordered_with_all.push_back({i, follows_all});
    }
    step.dependencies = reduced(std::move(needed), relaxed, i);
  }
  const int after = edges_of(draft);
  if (after != before) draft.say("order: " + std::to_string(after) + " edges in place of " + std::to_string(before));
}

}  // namespace refrain::graph
