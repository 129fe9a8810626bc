#include "graph/passes/cost.hpp"
#include "graph/passes/lives.hpp"
#include "graph/passes/passes.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace refrain::graph {

namespace {

/// So many pairs of temporaries are looked at, some nanoseconds each, where the quick ways take more than is live.
constexpr std::size_t most_pairs = std::size_t{1} << 20;
constexpr std::size_t most_tries = 256;

/// Times what is live at once along the list: where a layout is larger, commands wait for others in its favour.
constexpr double enough = 1.1;
/// Times how long the plan takes: what waits may make of it. Less is within what the model knows.
constexpr double most_delay = 1.03;
/// How much later a command may begin for one wait, in microseconds, from what gives the smallest layout on.
constexpr double allowances_us[] = {std::numeric_limits<double>::infinity(), 2, 1, 0};

/// Where a life lies.
struct Placed {
  const Life* life;
  std::int64_t begin;
  std::int64_t end() const { return begin + life->bytes; }
};

/// Which lives may have the same memory one after another.
struct Order {
  const Ancestors& ancestors;
  bool is_line;
  double lead_us;  ///< what is thought to be over so long before may be waited for; infinite: nothing is

  bool allows(const Life& earlier, const Life& later) const {
    return earlier.ends_before(later, ancestors) || earlier.is_over_for(later, lead_us);
  }
};

/// The offsets of a device's lives, and the end of the last one.
struct Layout {
  std::vector<std::int64_t> begins;
  std::int64_t size = 0;
};

enum class Fit { lowest, tightest };

/// A place between those that are in the way, sorted by where they begin, or behind them.
std::int64_t find_place(const std::vector<Placed>& in_the_way, std::int64_t bytes, Fit fit) {
  std::int64_t end = 0;
  std::int64_t best = -1;
  std::int64_t best_gap = INT64_MAX;
  for (const Placed& other : in_the_way) {
    const std::int64_t gap = other.begin - end;
    if (gap >= bytes && gap < best_gap) {
      best = end;
      best_gap = gap;
      if (fit == Fit::lowest) return best;
    }
    end = std::max(end, other.end());
  }
  return best >= 0 ? best : end;
}

/// One after another as they begin.
Layout place_in_order(const std::vector<Life>& lives, const Order& may_follow, Fit fit) {
  Layout layout;
  std::vector<Placed> placed;  // what may be in the way of later ones, by where they begin
  std::vector<Placed> in_the_way;
  for (const Life& life : lives) {
    // Of a line, what is over for this one is over for all that begin later.
    if (may_follow.is_line) std::erase_if(placed, [&](const Placed& other) { return other.life->end < life.begin; });
    in_the_way.clear();
    for (const Placed& other : placed) {
      if (may_follow.is_line || !may_follow.allows(*other.life, life)) in_the_way.push_back(other);
    }
    const Placed here{&life, find_place(in_the_way, life.bytes, fit)};
    layout.begins.push_back(here.begin);
    layout.size = std::max(layout.size, here.end());
    // What is covered whole is over before this one; who comes after this one comes after that.
    if (!may_follow.is_line) {
      std::erase_if(placed, [&](const Placed& other) {
        return other.begin >= here.begin && other.end() <= here.end() && may_follow.allows(*other.life, life);
      });
    }
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  here);
  }
  return layout;
}

/// In any order of the lives.
Layout place_all(const std::vector<Life>& lives, const Order& may_follow, const std::vector<std::size_t>& order) {
  Layout layout;
  layout.begins.resize(lives.size());
  std::vector<Placed> placed;  // by where they begin
  std::vector<Placed> in_the_way;
  for (const std::size_t i : order) {
    const Life& life = lives[i];
    in_the_way.clear();
    for (const Placed& other : placed) {
      if (!may_follow.allows(*other.life, life) && !may_follow.allows(life, *other.life)) in_the_way.push_back(other);
    }
    const Placed here{&life, find_place(in_the_way, life.bytes, Fit::lowest)};
    layout.begins[i] = here.begin;
    layout.size = std::max(layout.size, here.end());
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed& x, const Placed& y) { return x.begin < y.begin; }),
                  here);
  }
  return layout;
}

/// The largest first, which leaves the gaps between them to the small ones. Then again and again with the one that lay
/// at the very end put before some other, as long as that makes it no worse.
Layout search(const DeviceLives& of, const Order& may_follow) {
  const std::vector<Life>& lives = of.lives;
  const std::size_t tries = std::min(most_pairs / (lives.size() * lives.size()), most_tries);
  std::vector<std::size_t> order(lives.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return lives[x].bytes > lives[y].bytes; });
  std::minstd_rand random;  // the same numbers each time: one program has one plan
  Layout best;
  best.size = INT64_MAX;
  std::vector<std::size_t> next = order;
  for (std::size_t i = 0; i < tries && best.size > of.live_bytes; ++i) {
    Layout layout = place_all(lives, may_follow, next);
    if (layout.size <= best.size) {
      best = std::move(layout);
      order = next;
    }
    next = order;
    const auto last = std::find_if(
        next.begin(), next.end(), [&](std::size_t life) { return best.begins[life] + lives[life].bytes == best.size; });
    const auto before = last - next.begin();
    std::rotate(next.begin() + static_cast<std::ptrdiff_t>(random() % static_cast<unsigned long>(before + 1)), last,
                last + 1);
  }
  return best;
}

/// The smallest that one of the ways gives; the first way usually takes no more than what is live at once.
Layout place(const DeviceLives& of, const Order& may_follow) {
  Layout best = place_in_order(of.lives, may_follow, Fit::lowest);
  const auto try_better = [&](Layout other) {
    if (other.size < best.size) best = std::move(other);
  };
  if (best.size > of.live_bytes) try_better(place_in_order(of.lives, may_follow, Fit::tightest));
  if (best.size > of.live_bytes) try_better(search(of, may_follow));
  return best;
}

/// Pairs of steps, of which the second is to wait for the first one.
using Waits = std::vector<std::pair<int, int>>;

/// Those that a layout needs beyond the order there is.
Waits waits_for(const std::vector<Life>& lives, const Layout& layout, const Ancestors& ancestors) {
  struct Owned {
    std::int64_t end;
    const Life* by;
  };
  std::map<std::int64_t, Owned> newest;  // by where it begins: a piece of the arena and who had it last
  Waits waits;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const std::int64_t begin = layout.begins[i];
    const std::int64_t end = begin + lives[i].bytes;
    auto piece = newest.upper_bound(begin);
    if (piece != newest.begin()) --piece;
    while (piece != newest.end() && piece->first < end) {
      const auto [at, owned] = *piece;
      if (owned.end <= begin) {
        ++piece;
        continue;
      }
      if (!owned.by->ends_before(lives[i], ancestors)) {
        for (const int first : lives[i].firsts) {
          for (const int last : owned.by->lasts) waits.emplace_back(last, first);
        }
      }
      piece = newest.erase(piece);
      if (at < begin) newest.emplace(at, Owned{begin, owned.by});
      if (owned.end > end) newest.emplace(end, owned);
    }
    newest.emplace(begin, Owned{end, &lives[i]});
  }
  return waits;
}

/// What the waits make of the plan's time, times what it was thought to take.
double delay_by(const std::vector<Step>& steps, const Waits& waits, double crossing_us) {
  std::vector<std::vector<int>> waited_for(steps.size());
  for (const auto& [before, after] : waits) waited_for[static_cast<std::size_t>(after)].push_back(before);
  std::vector<double> ends;
  double planned = 0;
  double last = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    double begin = steps[i].begin_us;
    for (const int before : steps[i].dependencies) {
      const auto k = static_cast<std::size_t>(before);
      const bool is_crossing = steps[i].begin_us - steps[k].end_us >= crossing_us;
      begin = std::max(begin, ends[k] + (is_crossing ? crossing_us : 0));
    }
    for (const int before : waited_for[i])
      begin = std::max(begin, ends[static_cast<std::size_t>(before)] + crossing_us);
    ends.push_back(begin + steps[i].end_us - steps[i].begin_us);
    planned = std::max(planned, steps[i].end_us);
    last = std::max(last, ends.back());
  }
  return last / planned;
}

/// Adds the waits, and leaves out what follows from others.
void add_waits(std::vector<Step>& steps, const Waits& waits) {
  for (const auto& [before, after] : waits) steps[static_cast<std::size_t>(after)].dependencies.push_back(before);
  Ancestors so_far(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].dependencies = reduced(std::move(steps[i].dependencies), so_far, i);
  }
}

/// Makes the layout smaller by waits that cost next to no time; returns those.
Waits wait_for_less(const DeviceLives& of, const std::vector<Step>& steps, const Ancestors& ancestors,
                    double crossing_us, Layout& layout) {
  Waits chosen;
  for (const double allowance : allowances_us) {
    if (static_cast<double>(layout.size) <= enough * static_cast<double>(of.live_bytes)) break;
    Layout smaller = place(of, {ancestors, false, crossing_us - allowance});
    if (smaller.size >= layout.size) continue;
    Waits waits = waits_for(of.lives, smaller, ancestors);
    if (delay_by(steps, waits, crossing_us) > most_delay) continue;
    layout = std::move(smaller);
    chosen = std::move(waits);
  }
  return chosen;
}

}  // namespace

void plan_memory(Draft& draft) { plan_memory(draft, costs_of(draft.program.device.kind)); }

void plan_memory(Draft& draft, const DeviceCosts& costs) {
  if (!Ancestors::can_hold(draft.steps)) {
    draft.say("memory: no temporaries share any, for there are too many commands to compare");
    return;
  }
  const Ancestors ancestors(draft.steps);
  const bool is_line = are_line(draft.steps);
  Waits waits;
  for (const DeviceLives& of : find_lives(draft, &ancestors)) {
    Layout layout = place(of, {ancestors, is_line, std::numeric_limits<double>::infinity()});
    if (!is_line) {
      const std::int64_t without = layout.size;
      const Waits more = wait_for_less(of, draft.steps, ancestors, costs.crossing, layout);
      if (!more.empty()) {
        draft.say("memory: " + std::to_string(layout.size) + " bytes in place of " + std::to_string(without) +
                  ", for commands wait for others that have done with them by then, or nearly");
      }
      waits.insert(waits.end(), more.begin(), more.end());
    }
    for (std::size_t i = 0; i < of.lives.size(); ++i) draft.blocks[of.lives[i].block].offset = layout.begins[i];
    draft.say("memory: " + std::to_string(layout.size) + " bytes for temporaries of " + std::to_string(of.total_bytes) +
              " bytes on " + of.device.str() + ", of which at most " + std::to_string(of.live_bytes) +
              " are in use at once along the order of the plan");
  }
  if (!waits.empty()) add_waits(draft.steps, waits);
}

}  // namespace refrain::graph
