// Handles of graphs and executables that are emptied and used again.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// x = x * factor + 1
Graph capture_step(Array& x, int factor, Mode mode) {
  return capture(
      [&] {
        x *= factor;
        x += 1;
      },
      capture_options(mode));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resets)

BOOST_AUTO_TEST_CASE(a_reset_may_be_repeated_and_leaves_an_empty_handle, *label("report-48")) {
  for (const Mode mode : graph_modes) {
    Array x = filled(1);
    Graph graph = capture_step(x, 2, mode);
    GraphExec exec = graph.instantiate(instantiate_options(mode));
    exec.replay();
    for (int i = 0; i < 2; ++i) {
      exec = {};
      graph = {};
      BOOST_TEST(!exec.defined());
      BOOST_TEST(!graph.defined());
      require_error(Errc::illegal_state, [&] { exec.replay(); }, {"replay", "empty"});
      require_error(Errc::illegal_state, [&] { graph.instantiate(); }, {"instantiate", "empty"});
    }
    BOOST_TEST(holds(x, 3));
  }
}

BOOST_AUTO_TEST_CASE(handles_take_another_capture_after_a_reset, *label("report-48")) {
  for (const Mode mode : graph_modes) {
    Array x = filled(1);
    Graph graph;
    GraphExec exec;
    double expected = 1;
    for (int factor = 2; factor < 6; ++factor) {
      for (int i = 0; i < factor % 3; ++i) {
        exec = {};
        graph = {};
      }
      graph = capture_step(x, factor, mode);  // with no reset before it, in place of the old graph
      exec = graph.instantiate(instantiate_options(mode));
      for (int i = 0; i < 2; ++i) {
        exec.replay();
        expected = expected * factor + 1;
      }
      BOOST_TEST(holds(x, expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_reset_while_a_replay_is_in_flight_lets_it_finish, *label("report-48")) {
  for (const Mode mode : graph_modes) {
    const Stream stream;
    Array x = filled(1);
    Graph graph = capture_step(x, 2, mode);
    GraphExec exec = graph.instantiate(instantiate_options(mode));
    Gate gate(stream);
    exec.replay(stream);
    for (int i = 0; i < 2; ++i) {
      exec = {};
      graph = {};
    }
    graph = capture_step(x, 10, mode);
    exec = graph.instantiate(instantiate_options(mode));
    exec.replay(stream);
    exec = {};
    exec = graph.instantiate(instantiate_options(mode));
    exec.replay(stream);
    BOOST_TEST(gate.open());
    BOOST_TEST(holds(x, 311));  // 3, 31, 311
  }
}

BOOST_AUTO_TEST_CASE(a_graph_instantiated_twice_is_captured_again_with_other_arrays, *label("conformance-52")) {
  for (const Mode mode : graph_modes) {
    const auto program = [](const Array& input) { return input * 2 + 1; };
    Array input = filled(1, 1000);
    auto captured = capture([&] { return program(input); }, capture_options(mode));
    for (int i = 0; i < 2; ++i) {
      input += 1;
      captured.first.instantiate(instantiate_options(mode)).replay();
      BOOST_TEST(holds(captured.second, 2 * (2 + i) + 1));
    }
    captured.first = {};
    const Array old_input = std::exchange(input, filled(20, 1000));
    const Array old_output = captured.second;
    captured = capture([&] { return program(input); }, capture_options(mode));
    for (int i = 0; i < 2; ++i) {
      input += 1;
      captured.first.instantiate(instantiate_options(mode)).replay();
      BOOST_TEST(holds(captured.second, 2 * (21 + i) + 1));
    }
    BOOST_TEST(holds(old_input, 3));
    BOOST_TEST(holds(old_output, 7));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
