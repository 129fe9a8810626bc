// Executables that become those of other graphs, and second ones of the same graph.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <future>

namespace rf = refrain;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

/// Every command is a node of its own.
constexpr rf::InstantiateOptions literal{.optimize = rf::Optimize::none};

}  // namespace

BOOST_AUTO_TEST_SUITE(exec_updates)

BOOST_AUTO_TEST_CASE(a_graph_of_the_same_form_is_taken_in_place) {
  const rf::Array x = filled(1);
  auto [first, y] = rf::capture([&] { return (x + 1) * 2; });
  auto [second, z] = rf::capture([&] { return (x + 5) * 3; });
  const rf::GraphExec exec = first.instantiate(literal);
  exec.replay();
  const rf::GraphUpdate update = exec.update(second);
  BOOST_TEST(update.in_place);
  BOOST_TEST(update.difference == "");
  exec.replay();
  BOOST_TEST(holds(y, 4));
  BOOST_TEST(holds(z, 18));
  BOOST_TEST(exec.node_count() == 2);
}

BOOST_AUTO_TEST_CASE(a_graph_of_another_form_is_made_anew_and_the_first_difference_told) {
  const rf::Array x = filled(1);
  auto [first, y] = rf::capture([&] { return x + 1; });
  auto [second, z] = rf::capture([&] { return rf::rand({4}) * 0 + x; });
  auto [third, w] = rf::capture([&] { return x + 1 + 1; });
  const rf::GraphExec exec = first.instantiate(literal);
  rf::GraphUpdate update = exec.update(second);
  BOOST_TEST(!update.in_place);
  BOOST_TEST((update.difference.find("command 0, 'rand' at") == 0));
  BOOST_TEST((update.difference.find("is a random where 'add'") != std::string::npos));
  exec.replay();
  BOOST_TEST(holds(z, 1));
  update = exec.update(third);
  BOOST_TEST(!update.in_place);
  exec.replay();
  BOOST_TEST(holds(w, 3));
  update = exec.update(first);
  BOOST_TEST((update.difference.find("command 1") == 0));
  BOOST_TEST((update.difference.find("in one of them only") != std::string::npos));
  exec.replay();
  BOOST_TEST(holds(y, 2));
}

BOOST_AUTO_TEST_CASE(edges_that_differ_are_a_difference) {
  const rf::Stream side;
  rf::Array a = filled(1);
  rf::Array b = filled(1);
  const auto body = [&](bool wait) {
    a += 1;
    if (wait) side.wait_stream(rf::current_stream());
    const rf::StreamGuard on(side);
    b += 1;
  };
  const rf::Graph parallel = rf::capture([&] { body(false); });
  const rf::Graph serial = rf::capture([&] { body(true); });
  const rf::GraphExec exec = parallel.instantiate(literal);
  const rf::GraphUpdate update = exec.update(serial);
  BOOST_TEST(!update.in_place);
  BOOST_TEST((update.difference.find("waits for other commands") != std::string::npos));
  exec.replay();
  BOOST_TEST(holds(b, 2));
  BOOST_TEST(parallel.instantiate().update(serial).in_place);  // neither needs the edge
}

BOOST_AUTO_TEST_CASE(replays_under_way_end_as_they_began) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Array sum = rf::zeros({1 << 14});
  rf::GraphExec exec;
  rf::test::keep_busy(stream, 20);
  for (int i = 1; i <= 20; ++i) {
    const rf::Graph graph = rf::capture([&] {
      const rf::Array step = rf::zeros({1 << 14}) + i;
      sum += step * rf::array({1.0});
    });
    if (exec.defined()) {
      BOOST_TEST(exec.update(graph).in_place);
    } else {
      exec = graph.instantiate();
    }
    exec.replay();
  }
  BOOST_TEST(holds(sum, 210));
}

BOOST_AUTO_TEST_CASE(random_numbers_go_on_through_updates) {
  rf::manual_seed(3);
  const std::vector<float> expected = [] {
    std::vector<float> all;
    for (int i = 0; i < 3; ++i) {
      for (const float value : rf::rand({100}).to_vector<float>()) all.push_back(value);
    }
    return all;
  }();
  rf::manual_seed(3);
  std::vector<float> drawn;
  rf::GraphExec exec;
  for (int i = 0; i < 3; ++i) {
    auto [graph, x] = rf::capture([] { return rf::rand({100}); });
    if (exec.defined()) {
      exec.update(graph);
    } else {
      exec = graph.instantiate();
    }
    exec.replay();
    for (const float value : x.to_vector<float>()) drawn.push_back(value);
  }
  BOOST_TEST(drawn == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_and_bindings_go_back_to_what_the_graph_has) {
  const rf::Param<float> step(1);
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return x + step; });
  const rf::GraphExec exec = graph.instantiate();
  exec.set(step, 10);
  exec.bind(x, filled(100));
  exec.enable("add", false);
  exec.update(graph);
  exec.replay();
  BOOST_TEST(holds(y, 2));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_taken_is_refused_and_the_old_one_stays) {
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return x + 1; });
  const rf::GraphExec exec = graph.instantiate();
  require_error(rf::Errc::illegal_state, [&] { exec.update(rf::Graph()); }, {"empty Graph"});
  exec.replay();
  BOOST_TEST(holds(y, 2));
}

BOOST_AUTO_TEST_CASE(a_clone_has_outputs_of_its_own) {
  rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return (x + 1) * 2; });
  const rf::GraphExec exec = graph.instantiate();
  const rf::GraphExec copy = exec.clone();
  exec.replay();
  x += 10;
  copy.replay();
  BOOST_TEST(holds(y, 4));
  BOOST_TEST(holds(copy.output(y), 24));
  BOOST_TEST(holds(exec.output(y), 4));
  BOOST_TEST(copy.output(y).buffer() != y.buffer());
}

BOOST_AUTO_TEST_CASE(an_output_of_a_clone_has_no_values_before_its_first_replay_and_outlives_it) {
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return x + 1; });
  rf::Array out;
  {
    const rf::GraphExec copy = graph.instantiate().clone();
    out = copy.output(y);
    require_error(rf::Errc::illegal_state, [&] { out.to_vector<float>(); }, {"replay"});
    copy.replay();
  }
  graph = {};
  BOOST_TEST(holds(out, 2));
}

BOOST_AUTO_TEST_CASE(clones_run_at_the_same_time_and_give_their_own_results) {
  const rf::Stream left;
  const rf::Stream right;
  const rf::Param<float> step(1);
  const rf::Array x = filled(1, 1 << 16);
  auto [graph, y] = rf::capture([&] {
    rf::Array z = x;
    for (int i = 0; i < 50; ++i) z = z + step;
    return z;
  });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec two = one.clone();
  two.set(step, 3);
  for (int i = 0; i < 20; ++i) {
    one.replay(left);
    two.replay(right);
  }
  BOOST_TEST(holds(y, 51));
  BOOST_TEST(holds(two.output(y), 151));
}

BOOST_AUTO_TEST_CASE(in_place_targets_are_shared_by_clones_and_ordered) {
  const rf::Stream left;
  const rf::Stream right;
  rf::Array sum = rf::zeros({1 << 16});
  const rf::GraphExec one = rf::capture([&] { sum += 1; }).instantiate();
  const rf::GraphExec two = one.clone();
  for (int i = 0; i < 50; ++i) {
    one.replay(left);
    two.replay(right);
  }
  BOOST_TEST(holds(sum, 100));
}

BOOST_AUTO_TEST_CASE(a_clone_takes_over_what_was_set_bound_and_left_out) {
  const rf::Param<float> step(1);
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return (x + step) * 2 - 1; });
  const rf::GraphExec exec = graph.instantiate(literal);
  exec.replay();
  exec.set(step, 9);
  exec.bind(x, filled(11));
  exec.enable("sub", false);
  const rf::GraphExec copy = exec.clone();
  copy.enable("sub", true);
  copy.replay();
  BOOST_TEST(holds(copy.output(y), 39));
  exec.set(step, 0);
  copy.replay();
  BOOST_TEST(holds(copy.output(y), 39));
}

BOOST_AUTO_TEST_CASE(clones_draw_from_the_one_sequence) {
  rf::manual_seed(11);
  auto [graph, y] = rf::capture([] { return rf::randn({100}); });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec two = one.clone();
  one.replay();
  two.replay();
  const std::vector<float> first = y.to_vector<float>();
  const std::vector<float> second = two.output(y).to_vector<float>();
  rf::manual_seed(11);
  BOOST_TEST(first == rf::randn({100}).to_vector<float>(), boost::test_tools::per_element());
  BOOST_TEST(second == rf::randn({100}).to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_of_clones_comes_back) {
  const rf::Device device = rf::current_device();
  auto [graph, y] = rf::capture([] { return rf::ones({1 << 16}) * 2; });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  rf::synchronize();
  const std::int64_t before = rf::memory_stats(device).live;
  for (int i = 0; i < 10; ++i) {
    const rf::GraphExec copy = exec.clone();
    copy.replay();
    exec.update(graph);
  }
  rf::synchronize();
  BOOST_TEST(rf::memory_stats(device).live == before);
}

BOOST_AUTO_TEST_SUITE_END()
