// The arenas of plans with branches, as made for CUDA devices: measured by what the plan lets live at once.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/cost.hpp"
#include "graph/passes/lives.hpp"
#include "graph/passes/passes.hpp"
#include "graph/planner.hpp"
#include "support.hpp"
#include "support_programs.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace refrain::test {

namespace {

using graph::Ancestors;
using graph::Draft;
using graph::Life;

/// The largest sum of lives none of which is over before another one begins, whatever branch runs first: what any
/// arena must have room for. All of them less the most that can follow others in their memory, by augmenting paths.
class LargestSum {
 public:
  LargestSum(const std::vector<Life>& lives, const Ancestors& ancestors)
      : lives_(lives),
        follows_(lives.size(), std::vector<char>(lives.size())),
        given_(lives.size(), std::vector<std::int64_t>(lives.size())) {
    for (std::size_t i = 0; i < lives.size(); ++i) {
      left_to_give_.push_back(lives[i].bytes);
      left_to_take_.push_back(lives[i].bytes);
      for (std::size_t k = 0; k < lives.size(); ++k) follows_[k][i] = lives[i].ends_before(lives[k], ancestors) ? 1 : 0;
    }
  }

  std::int64_t find() {
    std::int64_t sum = 0;
    for (const Life& life : lives_) sum += life.bytes;
    for (std::int64_t more = augment(); more > 0; more = augment()) sum -= more;
    return sum;
  }

 private:
  static constexpr std::size_t nobody = SIZE_MAX;

  /// Of the shortest path from one that can give to one that can take: by taker who gives, by giver who gives back.
  struct Path {
    std::vector<std::size_t> giver_of;
    std::vector<std::size_t> taker_of;
    std::size_t end = nobody;
  };

  Path search() const {
    Path path{std::vector<std::size_t>(lives_.size(), nobody), std::vector<std::size_t>(lives_.size(), nobody)};
    std::vector<char> is_seen(lives_.size(), 0);
    std::vector<std::size_t> givers;
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      if (left_to_give_[i] == 0) continue;
      is_seen[i] = 1;
      givers.push_back(i);
    }
    for (std::size_t at = 0; at < givers.size(); ++at) {
      for (std::size_t k = 0; k < lives_.size(); ++k) {
        if (follows_[k][givers[at]] == 0 || path.giver_of[k] != nobody) continue;
        path.giver_of[k] = givers[at];
        if (left_to_take_[k] > 0) {
          path.end = k;
          return path;
        }
        for (std::size_t i = 0; i < lives_.size(); ++i) {
          if (given_[i][k] == 0 || is_seen[i] != 0) continue;
          is_seen[i] = 1;
          path.taker_of[i] = k;
          givers.push_back(i);
        }
      }
    }
    return path;
  }

  /// Calls `fn(giver, taker, back)` along the path from its end; `back`: from whom the giver takes it back, or nobody.
  template <class Fn>
  static void walk(const Path& path, Fn fn) {
    for (std::size_t taker = path.end; taker != nobody;) {
      const std::size_t giver = path.giver_of[taker];
      fn(giver, taker, path.taker_of[giver]);
      taker = path.taker_of[giver];
    }
  }

  std::int64_t augment() {
    const Path path = search();
    if (path.end == nobody) return 0;
    std::int64_t by = left_to_take_[path.end];
    walk(path, [&](std::size_t giver, std::size_t, std::size_t back) {
      by = std::min(by, back == nobody ? left_to_give_[giver] : given_[giver][back]);
    });
    left_to_take_[path.end] -= by;
    walk(path, [&](std::size_t giver, std::size_t taker, std::size_t back) {
      given_[giver][taker] += by;
      (back == nobody ? left_to_give_[giver] : given_[giver][back]) -= by;
    });
    return by;
  }

  const std::vector<Life>& lives_;
  std::vector<std::vector<char>> follows_;        ///< by life and an earlier one
  std::vector<std::vector<std::int64_t>> given_;  ///< by life and a later one, bytes
  std::vector<std::int64_t> left_to_give_, left_to_take_;
};

/// A program planned for a CUDA device without fusion.
struct Planned {
  explicit Planned(const std::function<Array()>& program)
      : captured(capture(program)),
        planner(captured.first.program(), captured.first.program()->room),
        draft(planner.draft()) {
    const graph::DeviceCosts& costs = graph::costs_of(DeviceKind::cuda);
    graph::drop_dead_work(draft);
    graph::relax_order(draft);
    graph::choose_lanes(draft, costs);
    graph::work_in_place(draft);
    edges_before = edges();
    graph::plan_memory(draft, costs);
  }

  std::size_t edges() const {
    std::size_t count = 0;
    for (const graph::Step& step : draft.steps) count += step.dependencies.size();
    return count;
  }
  /// How late the last command ends when all wait for what they depend on, against how late it was to end.
  double delay() const {
    const double crossing = graph::costs_of(DeviceKind::cuda).crossing;
    std::vector<double> late(draft.steps.size(), 0);  // than planned
    double planned = 0;
    double last = 0;
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      const graph::Step& step = draft.steps[i];
      for (const int before : step.dependencies) {
        const auto k = static_cast<std::size_t>(before);
        const double spare = step.begin_us - draft.steps[k].end_us;
        late[i] = std::max(late[i], late[k] - (spare >= crossing ? spare - crossing : spare));
      }
      planned = std::max(planned, step.end_us);
      last = std::max(last, step.end_us + late[i]);
    }
    return last / planned;
  }

  double size_bytes() const { return static_cast<double>(graph::arena_use(draft).size_bytes); }
  /// Along the list of steps.
  double in_line() const { return static_cast<double>(graph::arena_use(draft).live_bytes); }
  /// As ordered by the edges.
  double at_once() const {
    const Ancestors ancestors(draft.steps);
    return static_cast<double>(LargestSum(graph::find_lives(draft, &ancestors).at(0).lives, ancestors).find());
  }

  std::pair<Graph, Array> captured;  ///< with its output, which keeps what makes it alive
  graph::Planner planner;
  Draft& draft;
  std::size_t edges_before = 0;
};

constexpr unsigned programs = 100;

}  // namespace

BOOST_AUTO_TEST_SUITE(internal_arenas)

BOOST_AUTO_TEST_CASE(arenas_of_branches_are_as_large_as_what_may_live_at_once) {
  for (unsigned seed = 0; seed < programs; ++seed) {
    BOOST_TEST_CONTEXT("program " << seed) {
      const Planned planned([&] { return program_of_many_sizes(seed); });
      BOOST_TEST(!graph::are_line(planned.draft.steps));
      BOOST_TEST(planned.at_once() <= planned.size_bytes());
      BOOST_TEST(planned.size_bytes() <= 1.11 * planned.at_once());
      BOOST_TEST(planned.size_bytes() <= 1.6 * planned.in_line());
    }
  }
}

BOOST_AUTO_TEST_CASE(waits_in_favour_of_memory_cost_next_to_no_time) {
  std::size_t with_waits = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    const Planned planned([&] { return program_of_many_sizes(seed); });
    BOOST_TEST_CONTEXT("program " << seed) { BOOST_TEST(planned.delay() <= 1.03); }
    with_waits += planned.edges() > planned.edges_before ? 1U : 0U;
  }
  BOOST_TEST(with_waits > programs / 4);
}

// Options' prices op by op: large arrays, of which branches take next to no time off.
BOOST_AUTO_TEST_CASE(where_waits_cost_next_to_nothing_branches_take_what_a_line_takes) {
  const Shape shape = {1 << 20};
  const Array spot = ones(shape);
  const Array strike = ones(shape);
  const Array years = ones(shape);
  const auto share = [](const Array& x) { return (erf(x * 0.7F) + 1) * 0.5F; };
  const Planned planned([&] {
    const Array spread = sqrt(years) * 0.3F;
    const Array d1 = (log(spot / strike) + years * 0.065F) / spread;
    const Array d2 = d1 - spread;
    const Array discounted = strike * exp(years * -0.02F);
    const Array put = discounted * share(-d2) - spot * share(-d1);
    return spot * share(d1) - discounted * share(d2) + put;
  });
  BOOST_TEST(!graph::are_line(planned.draft.steps));
  BOOST_TEST(planned.edges() > planned.edges_before);
  BOOST_TEST(planned.size_bytes() == planned.in_line());
  BOOST_TEST(planned.delay() <= 1.03);
}

// In a line two would do for each of them in turn.
BOOST_AUTO_TEST_CASE(branches_that_run_beside_each_other_keep_memory_of_their_own) {
  const Planned planned([] {
    std::vector<Array> ends;
    for (int i = 0; i < 4; ++i) ends.push_back(roll(roll(roll(ones({4096}), 1), 1), 1));
    return ends[0] + ends[1] + (ends[2] + ends[3]);
  });
  BOOST_TEST(planned.size_bytes() == planned.at_once());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
