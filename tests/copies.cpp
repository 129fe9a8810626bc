// Copies between devices and to memory of the program's, eager and in graphs.

#include "support.hpp"

#include <future>
#include <numeric>
#include <thread>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;

Numbers numbers(const Array& array) { return array.to_vector<float>(); }

Array counted(std::int64_t size) {
  Numbers all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0.0F);
  return from_host(all, {size});
}

/// The device of another kind or ordinal to copy to and from: the host in a CUDA run, the second ordinal on the host.
Device elsewhere() {
  return current_device().kind == DeviceKind::cuda ? Device{DeviceKind::host, 0} : Device{DeviceKind::host, 1};
}

bool is_of_one_kind() { return elsewhere().kind == current_device().kind; }

}  // namespace

BOOST_AUTO_TEST_SUITE(copies, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_copy_to_another_device_has_the_values_and_is_apart) {
  Array x = counted(1000);
  const Array there = to_device(x, elsewhere());
  x += 1;
  BOOST_TEST((there.device() == elsewhere()));
  BOOST_TEST((there.shape() == x.shape()));
  const Array back = to_device(there, current_device());
  BOOST_TEST(back.device() == current_device());
  BOOST_TEST(numbers(back)[999] == 999);
  BOOST_TEST(numbers(there)[999] == 999);
  BOOST_TEST(numbers(x)[999] == 1000);
}

BOOST_AUTO_TEST_CASE(an_array_that_is_there_already_is_not_copied) {
  Array x = zeros({2});
  Array same = to_device(x, current_device());
  same += 1;
  BOOST_TEST(holds(x, 1));
}

BOOST_AUTO_TEST_CASE(slices_dtypes_and_arrays_without_elements_can_be_copied) {
  const Array x = counted(10);
  BOOST_TEST(numbers(to_device(x.slice(3, 6), elsewhere())) == (Numbers{3, 4, 5}), per_element());
  const Array whole = to_device(array({1, -2, 3}), elsewhere());
  BOOST_TEST(whole.to_vector<std::int64_t>() == (std::vector<std::int64_t>{1, -2, 3}), per_element());
  BOOST_TEST(to_device(array({true, false}), elsewhere()).to_vector<bool>()[0]);
  BOOST_TEST(to_device(zeros({0, 3}), elsewhere()).size() == 0);
  BOOST_TEST(to_device(to_device(zeros({0}), elsewhere()), current_device()).size() == 0);
}

BOOST_AUTO_TEST_CASE(a_copy_comes_after_what_was_issued_before_and_before_what_comes_later) {
  const HazardsScope hazards(Hazards::error);
  for (int round = 0; round < 20; ++round) {
    Array x = slowly(static_cast<float>(round), 2);
    const Array there = to_device(x, elsewhere());
    x.assign(-1);
    BOOST_TEST(holds(there, round));
    BOOST_TEST(holds(x, -1));
  }
}

BOOST_AUTO_TEST_CASE(work_on_a_copy_waits_for_it) {
  Array there = to_device(slowly(3, 20), elsewhere());
  {
    const DeviceGuard on(elsewhere());
    there += 1;
    there *= 2;
  }
  BOOST_TEST(holds(to_device(there, current_device()), 8));
}

BOOST_AUTO_TEST_CASE(a_copy_may_be_dropped_while_it_is_made) {
  const auto bytes = [] {
    synchronize();
    synchronize(elsewhere());
    return memory_stats(elsewhere()).live;
  };
  const std::int64_t before = bytes();
  for (int i = 0; i < 20; ++i) to_device(slowly(1, 2), elsewhere());
  BOOST_TEST(bytes() == before);
}

BOOST_AUTO_TEST_CASE(each_replay_makes_a_captured_copy_anew) {
  for (const bool live : live_modes) {
    Array x = zeros({100});
    auto [graph, there] = capture(
        [&] {
          x += 1;
          return to_device(x, elsewhere());
        },
        {.live = live});
    require_error(Errc::illegal_state, [&] { numbers(there); });
    const GraphExec exec = graph.instantiate();
    for (int i = 1; i <= 3; ++i) {
      exec.replay();
      BOOST_TEST(holds(there, i));
    }
    exec.replay();
    x.assign(50);  // not before the copy
    BOOST_TEST(holds(there, 4));
  }
}

BOOST_AUTO_TEST_CASE(a_copy_back_has_the_values_of_its_time_whatever_becomes_of_its_source) {
  for (const bool is_dropped : {false, true}) {
    Array there = to_device(full({16}, 5), elsewhere());
    holds(there, 5);
    keep_busy(current_stream(), 20);
    const Array back = to_device(there, current_device());
    if (is_dropped) {
      there = Array();
      for (int i = 0; i < 5; ++i) holds(to_device(full({16}, 9), elsewhere()), 9);
    } else {
      const DeviceGuard on(elsewhere());
      there += 1;
    }
    BOOST_TEST(holds(back, 5));
  }
}

BOOST_AUTO_TEST_CASE(an_array_without_values_is_not_copied) {
  auto [graph, made] = capture([] { return ones({4}); });
  const GraphExec exec = graph.instantiate();
  std::vector<float> memory(4);
  require_error(Errc::illegal_state, [&made = made] { to_device(made, elsewhere()); });
  require_error(Errc::illegal_state, [&, &made = made] { copy_to(made, borrowed(std::span<float>(memory))); });
  exec.replay();
  BOOST_TEST(holds(to_device(made, elsewhere()), 1));
}

BOOST_AUTO_TEST_CASE(a_copy_to_borrowed_memory_stops_no_other_thread) {
  std::vector<float> memory(1 << 20);
  const Stream stream;
  const Array x = full({1 << 20}, 3);
  synchronize();
  std::promise<void> gate;
  stream.launch_host_func([opened = gate.get_future().share()] { opened.wait(); });
  std::thread other([&] {
    const Array y = ones({4});
    gate.set_value();
  });
  {
    const StreamGuard on(stream);
    copy_to(x, borrowed(std::span<float>(memory)));
  }
  other.join();
  stream.synchronize();
  BOOST_TEST(memory.front() == 3);
  BOOST_TEST(memory.back() == 3);
}

BOOST_AUTO_TEST_CASE(work_elsewhere_is_ordered_with_replays_that_write_there) {
  Array x = zeros({100});
  auto [graph, there] = capture([&] {
    x += 1;
    return to_device(x, elsewhere());
  });
  const GraphExec exec = graph.instantiate();
  exec.replay();
  Array seen;
  for (int i = 0; i < 20; ++i) {
    {
      const DeviceGuard on(elsewhere());
      seen = there + 0;
    }
    exec.replay();
    BOOST_TEST(holds(seen, 1 + i));
  }
}

BOOST_AUTO_TEST_CASE(a_copied_output_outlives_its_graph) {
  Array there;
  {
    auto [graph, copy] = capture([] { return to_device(full({100}, 7), elsewhere()); });
    graph.instantiate().replay();
    there = copy;
  }
  BOOST_TEST(holds(there, 7));
}

BOOST_AUTO_TEST_CASE(a_copy_whose_array_is_dropped_in_the_capture_is_harmless) {
  Array x = zeros({4});
  const GraphExec exec = capture([&] {
                           to_device(x, elsewhere());
                           x += 1;
                         }).instantiate();
  exec.replay();
  exec.replay();
  BOOST_TEST(holds(x, 2));
}

BOOST_AUTO_TEST_CASE(an_array_of_another_kind_is_copied_into_the_graph_one_of_the_kind_is_an_input) {
  Array there = to_device(full({4}, 2), elsewhere());
  auto [graph, here] = capture([&] { return to_device(there, current_device()) * 10; });
  {
    const DeviceGuard on(elsewhere());
    there.assign(3);
  }
  graph.instantiate().replay();
  BOOST_TEST(holds(here, is_of_one_kind() ? 30 : 20));
}

BOOST_AUTO_TEST_CASE(copies_between_ordinals_are_edges_to_and_from_both_streams) {
  const auto devices = two_devices();
  if (!devices) return;
  Array x = zeros({4}, {.device = devices->first});
  const Graph graph = capture([&] {
                        x += 1;
                        const Array there = to_device(x, devices->second);
                        x += 1;
                        return there;
                      }).first;
  BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 2}}));
  BOOST_TEST((graph.nodes()[1].device == devices->second));
  BOOST_TEST(graph.nodes()[1].kind == "copy");
}

BOOST_AUTO_TEST_CASE(memory_of_the_program_is_read_and_written_when_the_copy_runs) {
  std::vector<float> in{1, 2, 3};
  std::vector<float> out(3);
  Array x = empty({3});
  const GraphExec exec = capture([&] {
                           copy_from(x, borrowed(std::span<const float>(in)));
                           x *= 2;
                           copy_to(x, borrowed(std::span<float>(out)));
                         }).instantiate();
  for (int i = 0; i < 3; ++i) {
    in[0] = static_cast<float>(i);
    exec.replay();
    synchronize();
    BOOST_TEST(out == (Numbers{2.0F * static_cast<float>(i), 4, 6}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(borrowed_memory_serves_eager_copies) {
  std::vector<std::int32_t> in{1, 2, 3};
  std::vector<std::int32_t> out(3);
  Array x = zeros({3}, {.dtype = DType::int32});
  copy_from(x, borrowed(std::span<std::int32_t>(in)));
  x += 1;
  copy_to(x, borrowed(std::span<std::int32_t>(out)));
  synchronize();
  BOOST_TEST(out == (std::vector<std::int32_t>{2, 3, 4}), per_element());
}

BOOST_AUTO_TEST_CASE(borrowed_memory_that_does_not_fit_is_refused) {
  std::vector<float> memory(3);
  const std::span<float> span(memory);
  Array x = zeros({4});
  Array ints = zeros({3}, {.dtype = DType::int32});
  require_error(Errc::invalid_value, [&] { copy_to(x, borrowed(span)); }, {"3 elements", "[4]", "copies.cpp:"});
  require_error(Errc::invalid_value, [&] { copy_from(x, borrowed(span)); }, {"copy_from", "3 elements"});
  require_error(Errc::invalid_value, [&] { copy_to(ints, borrowed(span)); }, {"float32", "int32"});
  require_error(Errc::invalid_value, [&] { copy_to(x.slice(0, 3), borrowed(std::span<const float>(memory))); },
                {"const"});
  require_error(Errc::invalid_value, [&] { to_device(Array(), current_device()); });
  require_error(Errc::no_device, [&] { to_device(x, {DeviceKind::host, 50}); });
}

BOOST_AUTO_TEST_CASE(an_array_that_is_kept_is_an_output_though_nobody_holds_it_yet) {
  for (const bool is_kept : {false, true}) {
    const Graph graph = capture([&] {
      const Array made = full({4}, 6) + 1;
      if (is_kept) keep(made);
    });
    const GraphExec exec = graph.instantiate();
    BOOST_TEST(of_kind(exec.diagnostics(), DiagnosticKind::output_kept).size() == (is_kept ? 1U : 0U));
    exec.replay();
    synchronize();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
