// Plans of random programs, looked into before they are lowered: whatever the passes did, commands that touch the same
// memory are in order, and that of the program.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/cost.hpp"
#include "graph/passes/passes.hpp"
#include "graph/planner.hpp"
#include "runtime/order.hpp"
#include "support.hpp"
#include "support_views.hpp"

#include <random>
#include <string>
#include <vector>

namespace refrain::test {

namespace {

using graph::Draft;
using runtime::Access;
using runtime::AccessMode;
using runtime::PlannedCommand;

constexpr std::int64_t extent = 32;

/// Values of three streams that make new ones of each other and change old ones, some large.
void random_program(std::mt19937& random, const std::vector<Stream>& streams, std::vector<Array>& states,
                    const Array& large) {
  std::vector<Array> values = states;
  const auto any = [&]() -> const Array& { return values[random() % values.size()]; };
  const auto count = 4 + random() % 60;
  for (std::size_t i = 0; i < count; ++i) {
    const StreamGuard on(streams[random() % streams.size()]);
    Array& state = states[random() % states.size()];
    switch (random() % 9) {
      case 0: values.push_back(any() + any()); break;
      case 1: values.push_back(exp(any()) * 0.5F); break;
      case 2: values.push_back(any() - sum(any(), 1, true)); break;
      case 3: values.push_back(any().transpose(0, 1) * any()); break;
      case 4: values.push_back(roll(any(), 1, 0)); break;
      case 5: state += any(); break;
      case 6: state.slice(0, extent / 2).assign(any().slice(extent / 2, extent)); break;
      case 7: values.push_back(large.slice(0, extent) * sum(large * any().select(0).select(0))); break;
      default: streams[random() % streams.size()].wait_stream(streams[random() % streams.size()]); break;
    }
  }
}

/// The lowest byte that an access touches, and the one behind the last.
std::pair<const std::byte*, const std::byte*> bytes_of(const PlannedCommand& planned, std::size_t access) {
  const Access& of = planned.command->accesses[access];
  const auto* begin = static_cast<const std::byte*>(planned.addresses[access]) - of.first;
  return {begin, begin + (of.end - of.begin)};
}

bool meet(const PlannedCommand& a, const PlannedCommand& b) {
  for (std::size_t i = 0; i < a.addresses.size(); ++i) {
    for (std::size_t k = 0; k < b.addresses.size(); ++k) {
      const auto [x, x_end] = bytes_of(a, i);
      const auto [y, y_end] = bytes_of(b, k);
      const bool writes =
          a.command->accesses[i].mode == AccessMode::write || b.command->accesses[k].mode == AccessMode::write;
      if (writes && x < y_end && y < x_end) return true;
    }
  }
  return false;
}

/// Pairs of commands of which the later one must come after the earlier one.
using Conflicts = std::vector<std::pair<const runtime::Command*, const runtime::Command*>>;

Conflicts conflicts_of(const Draft& draft) {
  Conflicts all;
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const auto& later = draft.steps[i].command->accesses;
      const auto& earlier = draft.steps[k].command->accesses;
      bool found = false;
      for (const Access& a : later) {
        for (const Access& b : earlier) found = found || runtime::conflict(a, b);
      }
      if (found) all.emplace_back(draft.steps[k].command, draft.steps[i].command);
    }
  }
  return all;
}

/// What is wrong with a plan; empty: nothing.
std::string fault_in(const runtime::Plan& plan, const Conflicts& conflicts) {
  graph::Ancestors ancestors(plan.commands.size());
  for (std::size_t i = 0; i < plan.commands.size(); ++i) {
    for (const int before : plan.commands[i].dependencies) {
      if (before >= static_cast<int>(i)) return "command " + std::to_string(i) + " waits for a later one";
      if (ancestors.holds(i, static_cast<std::size_t>(before))) return "an edge that follows from others";
    }
    for (const int before : plan.commands[i].dependencies) ancestors.add(i, static_cast<std::size_t>(before));
  }
  for (std::size_t i = 0; i < plan.commands.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (ancestors.holds(i, k) || !meet(plan.commands[i], plan.commands[k])) continue;
      return "commands " + std::to_string(k) + " and " + std::to_string(i) + " touch the same memory at once";
    }
  }
  const auto find = [&](const runtime::Command* command) {
    const auto at = std::find_if(plan.commands.begin(), plan.commands.end(),
                                 [&](const PlannedCommand& planned) { return planned.command == command; });
    return static_cast<std::size_t>(at - plan.commands.begin());
  };
  for (const auto& [earlier, later] : conflicts) {
    if (!ancestors.holds(find(later), find(earlier))) {
      return std::string("'") + later->label + "' does not come after '" + earlier->label + "'";
    }
  }
  return {};
}

/// Makes the plan with some of the passes, branches as on a device of those costs.
std::string fault_with(const Graph& graph, unsigned passes, const graph::DeviceCosts& costs) {
  graph::Planner planner(graph.program(), graph.program()->room);
  Draft& draft = planner.draft();
  if ((passes & 1) != 0) graph::drop_dead_work(draft);
  if ((passes & 2) != 0) graph::relax_order(draft);
  if ((passes & 4) != 0) graph::fuse(draft);
  const Conflicts conflicts = conflicts_of(draft);
  if ((passes & 8) != 0) graph::choose_lanes(draft, costs);
  if ((passes & 16) != 0) graph::work_in_place(draft);
  if ((passes & 32) != 0) graph::plan_memory(draft, costs);
  const ArenaUse use = graph::arena_use(draft);
  if (use.size_bytes > use.total_bytes || use.live_bytes > use.size_bytes) return "the arena's sizes do not fit";
  return fault_in(std::move(planner).plan(SourceLocation::current()), conflicts);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(internal_plans)

BOOST_AUTO_TEST_CASE(commands_of_random_programs_meet_in_memory_in_the_programs_order) {
  const HazardsScope hazards(Hazards::ignore);
  const std::vector<Stream> streams(3);
  std::vector<Array> states;
  for (int i = 0; i < 3; ++i) states.push_back(wave({extent, extent}, i));
  const Array large = wave({1 << 12, extent});
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = capture([&] { random_program(random, streams, states, large); });
    for (const unsigned passes : {8U, 58U, 63U, static_cast<unsigned>(random() % 64)}) {
      for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::host}) {
        const std::string fault = fault_with(graph, passes, graph::costs_of(kind));
        BOOST_REQUIRE_MESSAGE(fault.empty(), "program " << seed << " with passes " << passes << ": " << fault);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(commands_that_keep_their_order_keep_it_with_all_others) {
  const std::vector<Stream> streams(3);
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = capture([&] {
      for (int i = 0; i < 40; ++i) {
        const Stream& stream = streams[random() % streams.size()];
        const StreamGuard on(stream);
        switch (random() % 8) {
          case 0: stream.launch_host_func([] {}); break;
          case 1: stream.wait_stream(streams[random() % streams.size()]); break;
          default: exp(ones({4})); break;
        }
      }
    });
    graph::Planner planner(graph.program(), graph.program()->room);
    const std::vector<graph::Step>& steps = planner.draft().steps;
    const graph::Ancestors written(steps);
    graph::relax_order(planner.draft());
    const graph::Ancestors relaxed(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const bool is_kept = graph::keeps_order(*steps[i].command) || graph::keeps_order(*steps[k].command);
        if (is_kept && written.holds(i, k)) BOOST_REQUIRE(relaxed.holds(i, k));
      }
    }
  }
}

// The model says what was measured: see cost.cpp.

/// Branches of as many `add`s.
Graph branches_of(std::int64_t n, std::size_t branches, int commands) {
  std::vector<Array> starts;
  for (std::size_t i = 0; i < branches; ++i) starts.push_back(ones({n}));
  return capture([&] {
           std::vector<Array> ends;
           for (Array value : starts) {
             for (int i = 0; i < commands; ++i) value = value + 1;
             ends.push_back(value);
           }
           return ends;
         })
      .first;
}

int lanes_of(const Graph& graph) {
  graph::Planner planner(graph.program(), graph.program()->room);
  graph::relax_order(planner.draft());
  graph::choose_lanes(planner.draft(), graph::costs_of(DeviceKind::cuda));
  int lanes = 0;
  for (const graph::Step& step : planner.draft().steps) lanes += step.dependencies.empty() ? 1 : 0;
  return lanes;
}

BOOST_AUTO_TEST_CASE(branches_are_kept_where_they_pay) {
  BOOST_TEST(lanes_of(branches_of(1000, 2, 16)) == 2);
  BOOST_TEST(lanes_of(branches_of(1 << 17, 2, 16)) == 2);
  BOOST_TEST(lanes_of(branches_of(1000, 200, 1)) > 2);  // many small ones share few branches
  BOOST_TEST(lanes_of(branches_of(1000, 200, 1)) <= 16);
  BOOST_TEST(lanes_of(branches_of(1000, 8, 16)) == 8);
}

BOOST_AUTO_TEST_CASE(branches_that_cost_more_than_they_save_are_a_line) {
  const Array x = ones({1000});
  const Graph graph = capture([&] {
                        const Array y = abs(x);
                        return sin(y) + cos(y);
                      }).first;
  graph::Planner planner(graph.program(), graph.program()->room);
  graph::relax_order(planner.draft());
  BOOST_TEST(!graph::are_line(planner.draft().steps));
  graph::choose_lanes(planner.draft(), graph::costs_of(DeviceKind::cuda));
  BOOST_TEST(graph::are_line(planner.draft().steps));
}

BOOST_AUTO_TEST_CASE(the_longest_line_comes_first) {
  const Array x = ones({1000});
  const Graph graph = capture([&] {
                        std::vector<Array> ends;
                        for (int i = 0; i < 12; ++i) ends.push_back(exp(x));
                        Array chain = x;
                        for (int i = 0; i < 12; ++i) chain = chain + 1;
                        ends.push_back(chain);
                        return ends;
                      }).first;
  graph::Planner planner(graph.program(), graph.program()->room);
  graph::relax_order(planner.draft());
  graph::choose_lanes(planner.draft(), graph::costs_of(DeviceKind::cuda));
  BOOST_TEST(std::string(planner.draft().steps[0].command->label) == "add");
}

BOOST_AUTO_TEST_CASE(on_the_host_there_is_one_line) {
  graph::Planner planner(branches_of(1000, 4, 3).program(), std::make_shared<graph::ArenaRoom>());
  graph::relax_order(planner.draft());
  graph::choose_lanes(planner.draft(), graph::costs_of(DeviceKind::host));
  BOOST_TEST(graph::are_line(planner.draft().steps));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
