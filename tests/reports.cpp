// Programs that users of CUDA graphs and streams were surprised by.

#include "support.hpp"

using boost::unit_test::label;
namespace rf = refrain;
using rf::Hazards;
using rf::test::Edges;
using rf::test::edges;
using rf::test::filled;
using rf::test::HazardsScope;
using rf::test::holds;
using rf::test::live_modes;

namespace {

void increment_on(const rf::Stream& stream, rf::Array& array) {
  const rf::StreamGuard on(stream);
  array += 1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reports)

// Names and storage

BOOST_AUTO_TEST_CASE(an_in_place_op_counts_up_with_each_replay, *label("report-30")) {
  for (const bool live : live_modes) {
    rf::Array x = filled(0);
    const rf::GraphExec exec = rf::capture([&] { x += 1; }, {.live = live}).instantiate();
    BOOST_TEST(holds(x, 0));
    for (int i = 0; i < 3; ++i) exec.replay();
    BOOST_TEST(holds(x, 3));
  }
}

BOOST_AUTO_TEST_CASE(rebinding_a_name_leaves_the_original, *label("report-30")) {
  for (const bool live : live_modes) {
    const rf::Array original = filled(0);
    rf::Array x = original;
    const rf::GraphExec exec = rf::capture([&] { x = x + 1; }, {.live = live}).instantiate();
    for (int i = 0; i < 3; ++i) {
      exec.replay();
      BOOST_TEST(holds(x, 1));
      BOOST_TEST(holds(original, 0));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_name_rebound_after_the_capture_is_not_the_graphs, *label("report-30")) {
  for (const bool live : live_modes) {
    const rf::Array original = filled(0);
    rf::Array x = original;
    const rf::GraphExec exec = rf::capture([&] { x += 1; }, {.live = live}).instantiate();
    x = filled(50);
    exec.replay();
    BOOST_TEST(holds(x, 50));
    BOOST_TEST(holds(original, 1));
  }
}

// Waits

BOOST_AUTO_TEST_CASE(a_stream_that_waits_for_itself_in_a_capture_records_a_plain_chain, *label("report-13")) {
  for (const bool live : live_modes) {
    rf::Array x = filled(0);
    rf::synchronize();
    const auto body = [&] {
      const rf::Stream stream = rf::current_stream();
      x += 1;
      const rf::Event event = stream.record_event();
      for (int i = 0; i < 2; ++i) stream.wait_event(event);
      for (int i = 0; i < 2; ++i) stream.wait_stream(stream);
      x *= 2;
    };
    for (const rf::Graph& graph :
         {rf::capture(body, {.live = live}), rf::capture(rf::Stream(), body, {.live = live})}) {
      BOOST_TEST((edges(graph) == Edges{{0, 1}}));
      graph.instantiate().replay();
    }
    BOOST_TEST(holds(x, 6));  // 2, 6
  }
}

BOOST_AUTO_TEST_CASE(a_forked_stream_that_waits_for_itself_records_a_plain_chain, *label("report-13")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    rf::Array x = filled(0);
    rf::synchronize();
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          forked.wait_stream(origin);
                                          increment_on(forked, x);
                                          const rf::Event event = forked.record_event();
                                          for (int i = 0; i < 2; ++i) forked.wait_event(event);
                                          increment_on(forked, x);
                                          origin.wait_stream(forked);
                                        },
                                        {.live = live});
    BOOST_TEST((edges(graph) == Edges{{0, 1}}));
    graph.instantiate().replay();
    BOOST_TEST(holds(x, 2));
  }
}

BOOST_AUTO_TEST_CASE(a_wait_for_another_event_than_the_recorded_one_does_not_hang, *label("report-21")) {
  const rf::Stream stream;
  const rf::Event never;
  rf::bench::empty(rf::current_stream());
  rf::current_stream().record_event();
  stream.wait_event(never);
  rf::Array x = filled(0);
  rf::synchronize();
  increment_on(stream, x);
  stream.synchronize();
  BOOST_TEST(holds(x, 1));
}

BOOST_AUTO_TEST_CASE(a_wait_for_another_event_than_the_recorded_one_joins_no_capture, *label("report-21")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream other;
    const rf::Event never;
    rf::Array captured = filled(0);
    rf::Array eager = filled(0);
    rf::synchronize();
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          captured += 1;
                                          origin.record_event();
                                          other.wait_event(never);
                                          BOOST_TEST(!other.is_capturing());
                                          increment_on(other, eager);
                                          other.synchronize();
                                        },
                                        {.live = live});
    BOOST_TEST(graph.node_count() == 1);
    BOOST_TEST(holds(eager, 1));
    graph.instantiate().replay();
    BOOST_TEST(holds(captured, 1));
    BOOST_TEST(holds(eager, 1));
  }
}

// Order passes through what is no command

BOOST_AUTO_TEST_CASE(order_passes_through_an_op_without_elements, *label("report-15")) {
  const HazardsScope mode(Hazards::error);  // nothing is added: the waits do it
  const rf::Stream first;
  const rf::Stream second;
  const rf::Stream third;
  rf::Array shared = filled(0);
  rf::Array copy = filled(0);
  rf::Array nothing = rf::zeros({0});
  rf::synchronize();
  for (int round = 1; round <= 50; ++round) {
    first.wait_stream(third);
    if (round % 10 == 0) rf::test::keep_busy(first, 5);
    increment_on(first, shared);
    second.wait_stream(first);
    increment_on(second, nothing);
    third.wait_event(second.record_event());
    const rf::StreamGuard on(third);
    copy.assign(shared);
    if (round % 10 == 0) BOOST_TEST(holds(copy, round));
  }
}

BOOST_AUTO_TEST_CASE(captured_order_passes_through_an_op_without_elements, *label("report-15")) {
  const HazardsScope mode(Hazards::error);
  for (const bool live : live_modes) {
    const rf::Stream first;
    const rf::Stream second;
    const rf::Stream third;
    rf::Array shared = filled(0);
    rf::Array copy = filled(0);
    rf::Array nothing = rf::zeros({0});
    rf::synchronize();
    const rf::Graph graph = rf::capture(first,
                                        [&] {
                                          shared += 1;
                                          second.wait_stream(first);
                                          increment_on(second, nothing);
                                          third.wait_event(second.record_event());
                                          {
                                            const rf::StreamGuard on(third);
                                            copy.assign(shared);
                                          }
                                          first.wait_stream(third);
                                        },
                                        {.live = live});
    BOOST_TEST((edges(graph) == Edges{{0, 1}}));
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 1; i <= 500; ++i) {
      exec.replay();
      if (i % 50 == 0) BOOST_TEST(holds(copy, i));
    }
  }
}

BOOST_AUTO_TEST_CASE(captured_order_passes_through_a_stream_without_commands, *label("report-15")) {
  const HazardsScope mode(Hazards::error);
  for (const bool live : live_modes) {
    const rf::Stream second;
    const rf::Stream third;
    rf::Array shared = filled(0);
    rf::synchronize();
    const rf::Graph graph = rf::capture(
        [&] {
          shared += 1;
          second.wait_stream(rf::current_stream());
          third.wait_stream(second);
          increment_on(third, shared);
        },
        {.live = live});
    BOOST_TEST((edges(graph) == Edges{{0, 1}}));
  }
}

// Eager work between two captured segments

BOOST_AUTO_TEST_CASE(a_segment_reads_what_eager_work_on_a_side_stream_left, *label("report-16")) {
  for (const bool live : live_modes) {
    for (int round = 0; round < 10; ++round) {
      const rf::Stream side;
      rf::Array b = filled(1);
      rf::capture([&] { b += 1; }, {.live = live}).instantiate().replay();
      side.wait_stream(rf::current_stream());
      {
        const rf::StreamGuard on(side);
        rf::test::keep_busy(side, 5);
        b *= 10;
      }
      const auto [segment, result] = rf::capture([&] { return b + 3; }, {.live = live});
      segment.instantiate().replay();
      BOOST_TEST(holds(result, 23));
    }
  }
}

BOOST_AUTO_TEST_CASE(jobs_left_on_a_side_stream_are_not_in_the_next_segment, *label("report-16")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream side;
    rf::Array eager = filled(0);
    rf::Array captured = filled(0);
    rf::synchronize();
    rf::test::keep_busy(side, 10);
    increment_on(side, eager);
    const rf::Graph graph = rf::capture(origin, [&] { captured += 1; }, {.live = live});
    BOOST_TEST(graph.node_count() == 1);
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < 3; ++i) exec.replay();
    BOOST_TEST(holds(captured, 3));
    BOOST_TEST(holds(eager, 1));
  }
}

BOOST_AUTO_TEST_SUITE_END()
