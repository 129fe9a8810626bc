// Values, geometry and commands that an executable is given anew between its replays.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace rf = refrain;
using rf::test::holds;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(exec_parameters)

BOOST_AUTO_TEST_CASE(eager_work_takes_the_value_that_the_parameter_has) {
  rf::Param<float> step(2, "step");
  const rf::Array x = rf::test::filled(3);
  BOOST_TEST(holds(x * step, 6));
  step = 5;
  BOOST_TEST(step.value() == 5);
  BOOST_TEST(holds(x * step, 15));
  BOOST_TEST(holds(step - x, 2));
}

BOOST_AUTO_TEST_CASE(a_value_is_read_as_a_whole_while_another_thread_gives_it) {
  struct Pair {
    std::int64_t first;
    std::int64_t second;
    std::int64_t third;
  };
  rf::Param<Pair> wide({0, 0, 0});
  rf::Param<std::array<std::int32_t, 2>> narrow({0, 0});
  std::atomic<bool> is_over{false};
  std::thread giver([&] {
    for (int i = 1; i < 20000; ++i) {
      wide = Pair{i, i, i};
      narrow = std::array<std::int32_t, 2>{i, i};
    }
    is_over = true;
  });
  bool is_whole = true;
  while (!is_over) {
    const Pair pair = wide.value();
    const auto two = narrow.value();
    is_whole = is_whole && pair.first == pair.second && pair.second == pair.third && two[0] == two[1];
  }
  giver.join();
  BOOST_TEST(is_whole);
  BOOST_TEST(wide.value().third == 19999);
  BOOST_TEST(narrow.value()[1] == 19999);
}

BOOST_AUTO_TEST_CASE(a_value_set_holds_from_the_next_replay_on) {
  const rf::Param<float> step(1, "step");
  rf::Array x = rf::zeros({1000});
  const rf::Graph graph = rf::capture([&] { x += (x * 0 + 1) * step; });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  exec.set(step, 10);
  exec.replay();
  exec.replay();
  exec.set(step, 100);
  exec.replay();
  BOOST_TEST(holds(x, 121));
}

BOOST_AUTO_TEST_CASE(replays_under_way_keep_their_value) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  const rf::Param<int> step(1);
  rf::Array x = rf::zeros({100}, {.dtype = rf::DType::int64});
  const rf::GraphExec exec = rf::capture([&] { x += step; }).instantiate();
  rf::test::keep_busy(stream, 20);
  for (int i = 1; i <= 50; ++i) {
    exec.set(step, i);
    exec.replay();
  }
  BOOST_TEST(holds(x, 50 * 51 / 2));
}

BOOST_AUTO_TEST_CASE(a_value_is_set_in_every_command_that_uses_it_and_in_no_other) {
  const rf::Param<double> a(2, "a");
  const rf::Param<double> b(3, "b");
  const rf::Array x = rf::ones({10});
  const auto [graph, sum] = rf::capture([&] {
    const rf::Array left = x * a + a;
    const rf::Array right = b - x * 2;
    return left * 100 + right;
  });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  BOOST_TEST(holds(sum, 401));
  exec.set(a, 7);
  exec.replay();
  BOOST_TEST(holds(sum, 1401));
  exec.set(b, 4);
  exec.replay();
  BOOST_TEST(holds(sum, 1402));
}

BOOST_AUTO_TEST_CASE(one_executable_is_set_and_the_others_of_the_graph_are_not) {
  const rf::Param<float> step(1);
  rf::Array x = rf::zeros({10});
  const rf::Graph graph = rf::capture([&] { x += step; });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec other = graph.instantiate({.optimize = rf::Optimize::none});
  one.set(step, 50);
  one.replay();
  other.replay();
  graph.instantiate().replay();
  BOOST_TEST(holds(x, 52));
}

BOOST_AUTO_TEST_CASE(a_graph_in_a_graph_has_the_parameter_too) {
  const rf::Param<float> step(1);
  rf::Array x = rf::zeros({10});
  const rf::GraphExec inner = rf::capture([&] { x += step; }).instantiate();
  const rf::GraphExec outer = rf::capture([&] {
                                inner.replay();
                                x += step;
                                inner.replay();
                              }).instantiate();
  outer.set(step, 5);
  outer.replay();
  inner.replay();
  BOOST_TEST(holds(x, 16));
}

BOOST_AUTO_TEST_CASE(a_parameter_lives_on_in_the_graphs_that_use_it) {
  rf::Array x = rf::zeros({10});
  rf::GraphExec exec;
  {
    const rf::Param<float> step(4);
    exec = rf::capture([&] { x += step; }).instantiate();
    exec.set(step, 6);
  }
  const rf::Param<float> another(1, "another");
  require_error(rf::Errc::invalid_value, [&] { exec.set(another, 9); }, {"'another'", "'a parameter'"});
  exec.replay();
  BOOST_TEST(holds(x, 6));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_set_is_refused_and_nothing_changes) {
  const rf::Param<std::int64_t> step(1, "step");
  const rf::Param<float> unknown(1, "unknown");
  rf::Array wide = rf::zeros({10}, {.dtype = rf::DType::int64});
  rf::Array narrow = rf::zeros({10}, {.dtype = rf::DType::int32});
  const rf::GraphExec exec = rf::capture([&] {
                               wide += step;
                               narrow += step;
                             }).instantiate();
  require_error(rf::Errc::invalid_value, [&] { exec.set(unknown, 2); }, {"'unknown'", "'step'", "exec_parameters.cpp"});
  require_error(rf::Errc::invalid_value, [&] { exec.set(step, std::int64_t{1} << 40); }, {"does not fit", "int32"});
  exec.replay();
  BOOST_TEST(holds(wide, 1));
  BOOST_TEST(holds(narrow, 1));
  const rf::GraphExec empty;
  require_error(rf::Errc::illegal_state, [&] { empty.set(step, 2); });
  if (rf::current_device().kind == rf::DeviceKind::host) {
    const rf::GraphExec live = rf::capture([&] { wide += step; }, {.live = true}).instantiate();
    live.set(step, 2);  // held back there
    live.replay();
    BOOST_TEST(holds(wide, 3));
  } else {
    const rf::GraphExec live = rf::capture([&] { wide += step; }, {.live = true}).instantiate();
    require_error(rf::Errc::not_supported, [&] { live.set(step, 2); }, {"live"});
  }
}

BOOST_AUTO_TEST_CASE(a_command_that_is_left_out_passes_the_order_on, *boost::unit_test::label("report-15")) {
  const rf::Stream side;
  const rf::Array source = rf::test::filled(1, 1 << 16);
  rf::Array x = rf::zeros({1 << 16});
  rf::Array unused = rf::zeros({10});
  rf::Array y;
  const rf::Graph graph = rf::capture([&] {
    x.assign(x + 1);
    side.wait_stream(rf::current_stream());
    {
      const rf::StreamGuard on(side);
      unused -= 1;
    }
    rf::current_stream().wait_stream(side);
    y = x * 2;
  });
  const rf::GraphExec exec = graph.instantiate({.optimize = rf::Optimize::none});
  exec.replay();
  exec.enable("sub", false);
  for (int i = 2; i <= 50; ++i) {
    exec.replay();
    BOOST_REQUIRE(holds(y, 2 * i));
  }
  BOOST_TEST(holds(unused, -1));
  exec.enable("sub", true);
  exec.replay();
  BOOST_TEST(holds(unused, -2));
}

BOOST_AUTO_TEST_CASE(a_draw_that_is_left_out_takes_its_numbers_all_the_same) {
  const auto run = [](bool leave_out) {
    rf::manual_seed(7);
    rf::Array second;
    const rf::GraphExec exec = rf::capture([&] {
                                 const rf::Array first = rf::rand({1000});
                                 second = rf::randn({1000});
                               }).instantiate();
    exec.replay();
    if (leave_out) exec.enable("rand", false);
    exec.replay();
    exec.replay();
    if (leave_out) exec.enable("rand", true);
    exec.replay();
    return second.to_vector<float>();
  };
  BOOST_TEST(run(false) == run(true), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_left_out_is_refused_with_what_there_is) {
  rf::Array x = rf::zeros({10});
  const rf::GraphExec exec = rf::capture([&] {
                               x += 1;
                               rf::current_stream().launch_host_func([] {});
                             }).instantiate();
  require_error(rf::Errc::invalid_value, [&] { exec.enable("mul", false); }, {"'mul'", "'add'", "'launch_host_func'"});
  require_error(rf::Errc::not_supported, [&] { exec.enable("launch_host_func", false); }, {"host_function"});
  require_error(rf::Errc::invalid_value, [&] { exec.set("add", {.grid = 1}); }, {"labels no launch", "none"});
  exec.replay();
  BOOST_TEST(holds(x, 1));
}

BOOST_AUTO_TEST_SUITE_END()
