// Memory that other code made, in captures and their graphs.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"
#include "support_scopes.hpp"

#include <random>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;

template <class Fn>
void on(const Stream& stream, Fn fn) {
  const StreamGuard guard(stream);
  fn();
}

/// An op in place on a range of memory, with another range of it, on one of several streams.
struct Step {
  int target;
  int source;
  int size;
  std::size_t stream;
};

constexpr int memory_size = 16;

std::vector<Step> random_steps(std::mt19937& random, int count, int streams) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    const int size = 1 + pick(memory_size - 1);
    steps.push_back(
        {pick(memory_size - size + 1), pick(memory_size - size + 1), size, static_cast<std::size_t>(pick(streams))});
  }
  return steps;
}

/// target = target / 2 + source + 1, in numbers that stay small.
void run(const std::vector<Step>& steps, const Memory& memory, const std::vector<Stream>& streams) {
  for (const Step& step : steps) {
    const StreamGuard guard(streams[step.stream]);
    Array target = from_blob(memory.at(step.target), {step.size});
    target /= 2;
    target += from_blob(memory.at(step.source), {step.size}) * 0.25;
    target += 1;
  }
}

void run_one_after_another(const std::vector<Step>& steps, Numbers& memory) {
  for (const Step& step : steps) {
    const auto at = [&](int i) -> float& { return memory[static_cast<std::size_t>(i)]; };
    for (int i = 0; i < step.size; ++i) at(step.target + i) /= 2;
    const Numbers source(memory.begin() + step.source, memory.begin() + step.source + step.size);
    for (int i = 0; i < step.size; ++i) at(step.target + i) += source[static_cast<std::size_t>(i)] * 0.25F;
    for (int i = 0; i < step.size; ++i) at(step.target + i) += 1;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blob_graphs, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(each_replay_reads_and_writes_what_is_there) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Memory in(4);
      const Memory out(4);
      const Stream origin;
      Array x = from_blob(in.at(), {4});
      Array y = from_blob(out.at(), {4});
      const Graph graph = record(scope, origin, [&] {
        y.assign(x * 2);
        x += 1;
      });
      BOOST_TEST(holds(y, 0));
      const GraphExec exec = graph.instantiate();
      for (const float value : {10.0F, 20.0F, 30.0F}) {
        x.assign(value);
        exec.replay();
        BOOST_TEST(holds(x, value + 1));
        BOOST_TEST(holds(y, value * 2));
        in.fill(value + 5);  // by other code
        exec.replay(origin);
        BOOST_TEST(out.values()[3] == (value + 5) * 2);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(arrays_named_in_the_body_may_be_dropped) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Memory memory(4);
      const Stream origin;
      const GraphExec exec = record(scope, origin, [&] {
                               from_blob(memory.at(), {4}) += 1;
                               from_blob(memory.at(1), {2}) *= 2;
                             }).instantiate();
      for (int i = 0; i < 3; ++i) exec.replay();
      BOOST_TEST(memory.values() == (Numbers{3, 14, 14, 3}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_edge_is_added_where_two_arrays_name_the_same_bytes) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const HazardsScope hazards(Hazards::add);
      const Memory memory(8);
      const Stream origin;
      const Stream side;
      Array x = from_blob(memory.at(), {4});
      Array overlapping = from_blob(memory.at(2), {4});
      Array apart = from_blob(memory.at(6), {2});
      const Graph graph = record(scope, origin, [&] {
        bench::empty(origin);
        side.wait_stream(origin);
        x += 1;
        on(side, [&] {
          apart += 1;
          overlapping += 1;
        });
        origin.wait_stream(side);
      });
      BOOST_TEST((edges(graph) == Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
      BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::edge_added).size() == 1U);
      const GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(memory.values() == (Numbers{2, 2, 4, 4, 2, 2, 2, 2}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_missing_order_in_a_capture_is_an_error_where_hazards_are) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const HazardsScope hazards(Hazards::error);
      const Memory memory(8);
      const Stream origin;
      const Stream side;
      const Graph graph = record(scope, origin, [&] {
        bench::empty(origin);
        side.wait_stream(origin);
        from_blob(memory.at(), {4}) += 1;
        on(side, [&] {
          require_error(Errc::illegal_state, [&] { from_blob(memory.at(3), {2}) += 1; }, {"add", "blob_graphs.cpp:"});
          from_blob(memory.at(4), {2}) += 1;
          from_blob(memory.at(2), {0}) += 1;
        });
        origin.wait_stream(side);
      });
      graph.instantiate().replay();
      BOOST_TEST(memory.values() == (Numbers{1, 1, 1, 1, 1, 1, 0, 0}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_are_ordered_with_eager_work_that_names_the_same_bytes) {
  for (const bool live : live_modes) {
    const HazardsScope hazards(Hazards::add);
    const Memory memory(4);
    const Stream a;
    const Stream b;
    const GraphExec exec = capture([&] { from_blob(memory.at(), {4}) *= 3; }, {.live = live}).instantiate();
    for (int i = 0; i < 3; ++i) {
      memory.fill(0);
      clear_diagnostics();
      {
        Gate gate(a);
        on(a, [&] { from_blob(memory.at(1), {2}) += 1; });
        exec.replay(b);
        BOOST_TEST(!b.query());
        BOOST_TEST(of_kind(diagnostics(), DiagnosticKind::edge_added).size() == 1U);
        BOOST_TEST(gate.open());
      }
      {
        Gate gate(b);
        exec.replay(b);
        on(a, [&] { from_blob(memory.at(1), {2}) += 1; });
        BOOST_TEST(!a.query());
        BOOST_TEST(of_kind(diagnostics(), DiagnosticKind::edge_added).size() == 2U);
        BOOST_TEST(gate.open());
      }
      BOOST_TEST(memory.values() == (Numbers{0, 10, 10, 0}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_of_graphs_that_name_the_same_bytes_are_ordered_and_others_are_free,
                     *boost::unit_test::label("pending")) {
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(8);
  const auto graph_over = [&](int begin, int size, float factor) {
    return capture([&] {
             Array x = from_blob(memory.at(begin), {size});
             x *= factor;
             x += 1;
           })
        .instantiate();
  };
  const GraphExec left = graph_over(0, 4, 2);
  const GraphExec middle = graph_over(2, 4, 3);
  const GraphExec right = graph_over(4, 4, 5);
  const Stream a;
  const Stream b;
  {
    Gate gate(a);
    left.replay(a);
    right.replay(b);
    b.synchronize();
    BOOST_TEST(gate.open());
  }
  {
    Gate gate(a);
    left.replay(a);
    middle.replay(b);
    BOOST_TEST(!b.query());
    BOOST_TEST(gate.open());
  }
  BOOST_TEST(memory.values() == (Numbers{3, 3, 10, 10, 4, 4, 1, 1}), per_element());
}

BOOST_AUTO_TEST_CASE(a_nested_graph_is_ordered_with_what_names_the_same_bytes) {
  const Memory memory(4);
  const Stream side;
  const GraphExec inner = capture([&] { from_blob(memory.at(), {4}) *= 3; }).instantiate();
  for (const bool live : live_modes) {
    memory.fill(0);
    const GraphExec outer = capture(
                                [&] {
                                  from_blob(memory.at(1), {2}) += 1;
                                  inner.replay(side);
                                  from_blob(memory.at(2), {2}) += 1;
                                },
                                {.live = live})
                                .instantiate();
    outer.replay();
    outer.replay();
    BOOST_TEST(memory.values() == (Numbers{0, 12, 16, 4}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(random_programs_over_overlapping_memory_are_as_one_after_another) {
  const HazardsScope hazards(Hazards::ignore);
  std::mt19937 random(20261130);
  const std::vector<Stream> apart{Stream(), Stream(), Stream()};
  for (int round = 0; round < 20; ++round) {
    BOOST_TEST_CONTEXT("round " << round) {
      const Memory memory(memory_size);
      Numbers expected(memory_size);
      const std::vector<Step> steps = random_steps(random, 12, 3);
      run(steps, memory, apart);
      run_one_after_another(steps, expected);
      BOOST_TEST(memory.values() == expected, per_element());
      const bool live = round % 2 == 1;
      const std::vector<Step> more = random_steps(random, 12, 3);
      const GraphExec exec = capture([&] { run(more, memory, apart); }, {.live = live}).instantiate();
      for (int i = 0; i < 2; ++i) {
        exec.replay(apart[static_cast<std::size_t>(i)]);
        run_one_after_another(more, expected);
        run(steps, memory, apart);
        run_one_after_another(steps, expected);
      }
      BOOST_TEST(memory.values() == expected, per_element());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
