// Arrays in the place of those that a graph was recorded with.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <vector>

namespace rf = refrain;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(exec_bindings)

BOOST_AUTO_TEST_CASE(an_input_is_replaced_and_put_back) {
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return x * 10; });
  const rf::GraphExec exec = graph.instantiate();
  {
    const rf::Array other = filled(2);
    exec.bind(x, other);
  }  // the executable holds it
  exec.replay();
  BOOST_TEST(holds(y, 20));
  exec.bind(x, filled(3));
  exec.replay();
  BOOST_TEST(holds(y, 30));
  exec.bind(x, x);
  exec.replay();
  BOOST_TEST(holds(y, 10));
}

BOOST_AUTO_TEST_CASE(an_output_is_written_elsewhere_and_the_old_one_stays) {
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return x + 1; });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  const rf::Array mine = rf::zeros({4});
  exec.bind(y, mine);
  exec.bind(x, filled(5));
  exec.replay();
  BOOST_TEST(holds(mine, 6));
  BOOST_TEST(holds(y, 2));
  BOOST_TEST(holds(exec.output(y), 6));
  BOOST_TEST(exec.output(y).buffer() == mine.buffer());
}

BOOST_AUTO_TEST_CASE(slices_of_the_recorded_array_move_with_it) {
  rf::Array x = rf::zeros({4, 8});
  const rf::GraphExec exec = rf::capture([&] {
                               rf::Array row = x.slice(1, 3);
                               row += 1;
                             }).instantiate();
  rf::Array big = rf::zeros({10, 8});
  exec.bind(x, big.slice(2, 6));
  exec.replay();
  BOOST_TEST(holds(x, 0));
  BOOST_TEST(holds(big.slice(3, 5), 1));
  BOOST_TEST(holds(big.slice(0, 3), 0));
  BOOST_TEST(holds(big.slice(5, 10), 0));
}

BOOST_AUTO_TEST_CASE(two_arrays_change_places_at_each_step) {
  rf::Array now = filled(1);
  rf::Array next = rf::zeros({4});
  const rf::Array from = now;
  const rf::Array to = next;
  const rf::GraphExec exec = rf::capture([&] { next.assign(now * 2); }).instantiate();
  for (int i = 0; i < 10; ++i) {
    exec.bind(from, now);
    exec.bind(to, next);
    exec.replay();
    std::swap(now, next);
  }
  BOOST_TEST(holds(now, 1024));
  BOOST_TEST(holds(next, 512));
}

BOOST_AUTO_TEST_CASE(replays_under_way_keep_their_arrays_and_later_work_is_in_order) {
  const rf::Stream side;
  const rf::Array x = filled(1);
  rf::Array y = rf::zeros({4});
  const rf::GraphExec exec = rf::capture([&] { y += x; }).instantiate();
  for (int i = 1; i <= 20; ++i) {
    rf::Array other;
    {
      const rf::StreamGuard on(side);
      rf::test::keep_busy(side, 2);
      other = filled(static_cast<float>(i));
    }
    rf::current_stream().wait_stream(side);
    exec.bind(x, other);
    exec.replay();
    other *= 0;  // after the replay has read it
  }
  BOOST_TEST(holds(y, 210));
}

BOOST_AUTO_TEST_CASE(eager_writes_to_bound_and_to_left_arrays_are_ordered_with_replays) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  const rf::Array x = filled(1, 1 << 16);
  rf::Array bound = filled(2, 1 << 16);
  rf::Array y;
  auto [graph, out] = rf::capture([&] { return x + 0; });
  y = out;
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  exec.bind(x, bound);
  rf::test::keep_busy(rf::current_stream(), 20);
  exec.replay();
  {
    const rf::StreamGuard on(side);
    bound += 40;  // on a stream that waits for nothing
  }
  BOOST_TEST(holds(y, 2));
  exec.replay();
  BOOST_TEST(holds(y, 42));
}

BOOST_AUTO_TEST_CASE(executables_of_one_graph_stay_ordered_whatever_they_are_bound_to) {
  const rf::Stream side;
  const rf::Array x = filled(1, 1 << 16);
  rf::Array sum = rf::zeros({1 << 16});
  const rf::Graph graph = rf::capture([&] { sum += x; });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec other = graph.instantiate();
  rf::Array ten = filled(10, 1 << 16);
  one.replay();
  other.replay(side);
  one.bind(x, ten);
  for (int i = 0; i < 20; ++i) {
    one.replay();
    other.replay(side);
  }
  one.bind(x, x);
  one.replay();
  BOOST_TEST(holds(sum, 2 + 220 + 1));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_and_nothing_changes) {
  const rf::Array x = filled(1);
  auto [graph, y] = rf::capture([&] { return x + 1; });
  const rf::GraphExec exec = graph.instantiate();
  require_error(rf::Errc::invalid_value, [&] { exec.bind(x, filled(1, 5)); }, {"[5]", "[4]"});
  require_error(rf::Errc::invalid_value, [&] { exec.bind(x, rf::zeros({4}, {.dtype = rf::DType::int64})); }, {"int64"});
  require_error(rf::Errc::invalid_value, [&] { exec.bind(filled(1), x); }, {"neither an input nor an output"});
  require_error(rf::Errc::invalid_value, [&] { exec.bind(x.slice(0, 2), filled(1, 2)); }, {"view"});
  require_error(rf::Errc::invalid_value, [&] { exec.bind(x, rf::Array()); }, {"empty"});
  require_error(rf::Errc::invalid_value, [&] { exec.output(filled(1)); }, {"neither"});
  float somewhere = 0;
  require_error(rf::Errc::invalid_value, [&] { exec.bind(&somewhere, &somewhere); }, {"address"});
  exec.replay();
  BOOST_TEST(holds(y, 2));
}

BOOST_AUTO_TEST_CASE(two_arrays_that_come_to_share_elements_are_refused_at_the_replay) {
  const rf::Array x = filled(1);
  rf::Array y = rf::zeros({4});
  const rf::GraphExec exec = rf::capture([&] { y.assign(x + 1); }).instantiate();
  exec.replay();
  exec.bind(x, y);
  require_error(rf::Errc::illegal_state, [&] { exec.replay(); }, {"same elements"});
  exec.bind(y, x);  // they have changed places now
  exec.replay();
  BOOST_TEST(holds(x, 3));
}

BOOST_AUTO_TEST_CASE(what_one_command_reads_elsewhere_and_what_it_writes_do_not_come_to_share_elements) {
  const std::vector<float> numbers = {1, 2, 3, 4};
  const rf::Array indices = rf::from_host(std::vector<std::int64_t>{3, 0, 0, 1}, {4});
  const auto require = [&](auto program) {
    const rf::Array x = rf::from_host(numbers, {4});
    rf::Array y = rf::zeros({4});
    const rf::Array expected = program(x);
    const auto [graph, made] = rf::capture([&] {
      y.assign(program(x));
      return program(x) + 1;
    });
    const rf::GraphExec exec = graph.instantiate();
    exec.replay();
    for (const rf::Array& output : {y, made}) {
      exec.bind(x, output);
      require_error(rf::Errc::illegal_state, [&] { exec.replay(); }, {"same elements"});
      exec.bind(x, x);
      exec.bind(output, x);
      require_error(rf::Errc::illegal_state, [&] { exec.replay(); }, {"same elements"});
      exec.bind(output, output);
    }
    exec.replay();
    BOOST_TEST(y.to_vector<float>() == expected.to_vector<float>());
  };
  require([&](const rf::Array& x) { return rf::roll(x, 1) * 2; });
  require([&](const rf::Array& x) { return rf::take(x, indices) * 2; });
  require([&](const rf::Array& x) {
    rf::Array shifted = x * 2;
    shifted.slice(1, 4) -= x.slice(0, 3);
    return shifted;
  });
}

BOOST_AUTO_TEST_CASE(two_arrays_that_overlap_move_together_or_apart_and_not_into_another_overlap) {
  const rf::test::Memory memory(64);
  const rf::test::Memory other(64);
  rf::Array x = rf::from_blob(memory.at(), {32});
  const rf::Array same = rf::from_blob(memory.at(), {32}, {.deleter = [](void*) {}});  // another array's memory
  const rf::GraphExec exec = rf::capture([&] { x += same; }).instantiate();
  memory.fill(1);
  other.fill(1);
  exec.replay();
  exec.bind(x, rf::from_blob(other.at(8), {32}));
  exec.replay();  // apart
  exec.bind(same, rf::from_blob(other.at(8), {32}));
  exec.replay();  // together
  BOOST_TEST(holds(rf::from_blob(memory.at(), {32}), 2));
  BOOST_TEST(holds(rf::from_blob(other.at(8), {32}), 6));
  exec.bind(same, rf::from_blob(other.at(7), {32}));  // elements are read after they were written
  require_error(rf::Errc::illegal_state, [&] { exec.replay(); }, {"same elements"});
  exec.bind(same, same);
  exec.replay();
  BOOST_TEST(holds(rf::from_blob(other.at(8), {32}), 8));
}

BOOST_AUTO_TEST_CASE(two_inputs_may_be_one_array) {
  const rf::Array a = filled(1);
  const rf::Array b = filled(2);
  auto [graph, sum] = rf::capture([&] { return a * 10 + b; });
  const rf::GraphExec exec = graph.instantiate();
  exec.bind(b, a);
  exec.replay();
  BOOST_TEST(holds(sum, 11));
}

BOOST_AUTO_TEST_CASE(an_address_is_replaced_by_another) {
  const auto is_host = rf::current_device().kind == rf::DeviceKind::host;
  if (!is_host) return;  // tests/cuda has memory of a device
  std::vector<float> one(4, 1.0F);
  std::vector<float> two(4, 2.0F);
  const rf::Array x = rf::from_blob(one.data(), {4});
  auto [graph, y] = rf::capture([&] { return x * 10; });
  const rf::GraphExec exec = graph.instantiate();
  exec.bind(one.data(), two.data());
  exec.replay();
  BOOST_TEST(holds(y, 20));
  exec.bind(one.data(), one.data());
  exec.replay();
  BOOST_TEST(holds(y, 10));
}

BOOST_AUTO_TEST_CASE(the_address_of_an_array_with_strides_is_that_of_its_first_element) {
  const rf::test::Memory memory(16);
  const rf::test::Memory other(16);
  rf::from_blob(memory.at(), {16}).assign(1);
  rf::from_blob(other.at(), {16}).assign(2);
  rf::Array backwards = rf::from_blob(memory.at(14), {2, 4}, {.strides = {1, -3}});
  const rf::GraphExec exec = rf::capture([&] { backwards.select(1).slice(0, 2) += 10; }).instantiate();
  require_error(rf::Errc::invalid_value, [&] { exec.bind(memory.at(5), other.at(5)); }, {"address"});
  exec.bind(memory.at(14), other.at(9));
  exec.replay();
  exec.bind(memory.at(14), memory.at(14));
  exec.replay();
  std::vector<float> expected(16, 2);
  expected[10] = expected[7] = 12;
  BOOST_TEST(other.values() == expected, boost::test_tools::per_element());
  expected.assign(16, 1);
  expected[15] = expected[12] = 11;
  BOOST_TEST(memory.values() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(executables_of_one_graph_each_see_who_met_their_own_arrays) {
  const rf::Stream main;
  const rf::Stream other;
  const rf::Array x = filled(0);
  const rf::Array second = filled(2);
  rf::Array first = filled(1);
  auto [graph, y] = rf::capture([&] { return x * 10; });
  const rf::GraphExec a = graph.instantiate();
  const rf::GraphExec b = graph.instantiate();
  a.bind(x, first);
  b.bind(x, second);
  a.replay(main);
  b.replay(main);
  rf::test::Gate gate(other);
  {
    const rf::StreamGuard on(other);
    first += 5;  // not before the gate is open
  }
  b.replay(main);
  a.replay(main);
  gate.open();
  BOOST_TEST(holds(y, 60));
}

BOOST_AUTO_TEST_SUITE_END()
