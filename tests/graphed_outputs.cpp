// Results of a graphed function: never overwritten while the caller holds them.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <deque>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(graphed_outputs)

BOOST_AUTO_TEST_CASE(results_that_are_held_keep_their_values) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  std::vector<rf::Array> all;
  for (int i = 0; i < 40; ++i) all.push_back(step(filled(static_cast<float>(i))));
  for (int i = 0; i < 40; ++i) BOOST_TEST(holds(all[static_cast<std::size_t>(i)], i + 1));
  BOOST_TEST(step.statistics().recordings == 1);
  BOOST_TEST(step.statistics().instantiations <= 4);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_result_holds_all_of_it) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  rf::Array part;
  for (int i = 0; i < 8; ++i) {
    const rf::Array y = step(filled(static_cast<float>(i)));
    if (i == 2) part = y.slice(1, 3);
  }
  BOOST_TEST(holds(part, 3));
}

BOOST_AUTO_TEST_CASE(a_graph_that_reads_a_result_holds_it_too) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  rf::GraphExec exec;
  rf::Array doubled;
  {
    const rf::Array y = step(filled(5));
    auto [graph, twice] = rf::capture([&] { return y * 2; });
    exec = graph.instantiate();
    doubled = twice;
  }
  for (int i = 0; i < 8; ++i) step(filled(static_cast<float>(i)));
  exec.replay();
  BOOST_TEST(holds(doubled, 12));
}

BOOST_AUTO_TEST_CASE(the_result_of_the_same_call_settles_on_two_executables) {
  auto step = rf::graphed([](const rf::Array& x) { return x * 2; });
  const rf::Array x = filled(3);
  rf::Array y = step(x);
  for (int i = 0; i < 3; ++i) y = step(x);
  const auto settled = step.statistics();
  for (int i = 0; i < 30; ++i) {
    y = step(x);
    BOOST_TEST(holds(y, 6));
  }
  const auto after = step.statistics();
  BOOST_TEST(settled.instantiations == 2);
  BOOST_TEST(settled.instantiations_for_results == 1);
  BOOST_TEST(after.instantiations == 2);
  BOOST_TEST(after.rebinds == 0);
}

BOOST_AUTO_TEST_CASE(a_result_that_is_the_next_argument_settles_on_three_at_most) {
  auto step = rf::graphed([](const rf::Array& x) { return x * 0.5 + 1; });
  rf::Array x = filled(8);
  float expected = 8;
  for (int i = 0; i < 30; ++i) {
    x = step(x);
    expected = expected * 0.5F + 1;
    BOOST_TEST(holds(x, expected));
  }
  BOOST_TEST(step.statistics().instantiations <= 3);
  BOOST_TEST(step.statistics().rebinds == 0);
}

BOOST_AUTO_TEST_CASE(buffers_that_change_with_each_call_are_rebound) {
  auto step = rf::graphed([](const rf::Array& a, const rf::Array& b) { return a - b; });
  std::deque<rf::Array> held;
  for (int i = 0; i < 50; ++i) {
    held.push_back(filled(static_cast<float>(i)));
    held.push_back(filled(1));
    if (held.size() > 14) held.erase(held.begin(), held.begin() + 2);
    BOOST_TEST(holds(step(held[held.size() - 2], held.back()), i - 1));
  }
  const auto done = step.statistics();
  BOOST_TEST(done.recordings == 1);
  BOOST_TEST(done.instantiations == 4);
  BOOST_TEST(done.instantiations_for_arguments == 3);
  BOOST_TEST(done.rebinds >= 30);
}

BOOST_AUTO_TEST_CASE(a_result_is_written_after_those_that_still_read_its_block) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  const rf::Stream other;
  std::vector<rf::Array> sums;
  for (int i = 0; i < 20; ++i) {
    const rf::Array y = step(filled(static_cast<float>(i)));
    const rf::StreamGuard on(other);
    rf::test::keep_busy(other, 1);
    sums.push_back(y * 2);
  }
  for (int i = 0; i < 20; ++i) BOOST_TEST(holds(sums[static_cast<std::size_t>(i)], 2 * (i + 1)));
}

BOOST_AUTO_TEST_CASE(arguments_are_read_before_others_write_them_again) {
  auto step = rf::graphed([](const rf::Array& x) { return rf::sum(x); });
  const rf::Stream other;
  rf::Array x = filled(0, 1000);
  std::vector<rf::Array> sums;
  for (int i = 0; i < 20; ++i) {
    sums.push_back(step(x));
    const rf::StreamGuard on(other);
    x += 1;
  }
  for (int i = 0; i < 20; ++i) BOOST_TEST(holds(sums[static_cast<std::size_t>(i)], 1000 * i));
}

BOOST_AUTO_TEST_CASE(calls_on_several_streams_are_in_order) {
  rf::Array total = filled(0);
  auto step = rf::graphed([&](const rf::Array& x) {
    total += x;
    return total * 2;
  });
  const std::vector<rf::Stream> streams(3);
  std::vector<rf::Array> results;
  for (int i = 0; i < 30; ++i) {
    const rf::StreamGuard on(streams[static_cast<std::size_t>(i % 3)]);
    results.push_back(step(filled(1)));
  }
  for (int i = 0; i < 30; ++i) BOOST_TEST(holds(results[static_cast<std::size_t>(i)], 2 * (i + 1)));
}

BOOST_AUTO_TEST_CASE(the_function_may_be_gone_before_its_results) {
  rf::Array y;
  {
    auto step = rf::graphed([](const rf::Array& x) { return x * 3; });
    y = step(filled(2));
    y = step(filled(3));
  }
  BOOST_TEST(holds(y, 9));
  y += 1;
  BOOST_TEST(holds(y, 10));
}

BOOST_AUTO_TEST_CASE(results_may_be_written_in_place) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  const rf::Array x = filled(1);
  for (int i = 0; i < 6; ++i) {
    rf::Array y = step(x);
    BOOST_TEST(holds(y, 2));
    y *= 5;
    BOOST_TEST(holds(y, 10));
  }
}

BOOST_AUTO_TEST_CASE(forgetting_everything_leaves_results_and_later_calls_right) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  const rf::Array y = step(filled(1));
  step.clear();
  BOOST_TEST(step.statistics().signatures == 0);
  BOOST_TEST(holds(step(filled(2)), 3));
  BOOST_TEST(holds(y, 2));
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_SUITE_END()
