#include "support.hpp"

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::Edges;
using rf::test::live_modes;
using rf::test::require_error;
using rf::test::seen_pending;

namespace {

const rf::EventFlags external_flags{.external = true};
const rf::EventFlags timing_flags{.timing = true};

/// A program of one empty command after which the event is recorded.
rf::Graph records(const rf::Stream& origin, rf::Event& event, bool live) {
  return rf::capture(origin,
                     [&] {
                       rf::bench::empty(origin);
                       event.record(origin);
                     },
                     {.live = live});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_nodes, *boost::unit_test::label("sanitize"))

// External records

BOOST_AUTO_TEST_CASE(an_external_record_is_a_node_and_each_replay_records) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream stream;
    rf::Event event(external_flags);
    const rf::Graph graph = records(origin, event, live);
    BOOST_TEST(graph.node_count() == 2);
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < 3; ++i) {
      BOOST_TEST(seen_pending(stream, [&] {
        exec.replay(stream);
        return event.query();
      }));
      event.synchronize();
      BOOST_TEST(event.query());
    }
  }
}

BOOST_AUTO_TEST_CASE(another_stream_waits_for_the_replay_that_recorded) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream stream;
    const rf::Stream waiter;
    rf::Event event(external_flags);
    const rf::GraphExec exec = records(origin, event, live).instantiate();
    BOOST_TEST(seen_pending(stream, [&] {
      exec.replay(stream);
      waiter.wait_event(event);
      rf::bench::empty(waiter);
      const bool waiter_done = waiter.query();
      waiter.synchronize();
      BOOST_TEST(event.query());
      return waiter_done;
    }));
  }
}

BOOST_AUTO_TEST_CASE(an_external_event_is_refused_while_its_capture_is_open) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Event event(external_flags);
    rf::Capture capture(origin, {.live = live});
    event.record(origin);
    require_error(rf::Errc::captured_event, [&] { event.query(); });
    require_error(rf::Errc::captured_event, [&] { event.synchronize(); });
    rf::bench::empty(origin);
    BOOST_TEST(capture.end().node_count() == 2);
  }
}

BOOST_AUTO_TEST_CASE(an_external_event_of_a_discarded_capture_is_refused_until_recorded_again) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Event event(external_flags);
    {
      const rf::Capture capture(origin, {.live = live});
      event.record(origin);
    }
    require_error(rf::Errc::captured_event, [&] { event.query(); }, {"discarded"});
    event.record(origin);
    event.synchronize();
    BOOST_TEST(event.query());
  }
}

BOOST_AUTO_TEST_CASE(the_external_flag_has_no_effect_outside_a_capture) {
  const rf::Stream stream;
  rf::Event event(external_flags);
  BOOST_TEST(event.query());
  BOOST_TEST(seen_pending(stream, [&] {
    event.record(stream);
    return event.query();
  }));
  event.synchronize();
  BOOST_TEST(event.query());
}

// External waits

BOOST_AUTO_TEST_CASE(an_external_wait_is_a_node_and_each_replay_waits_for_the_newest_record) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream recorder;
    const rf::Stream stream;
    rf::Event event(external_flags);
    event.record(recorder);
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          origin.wait_event(event);
                                          rf::bench::empty(origin);
                                        },
                                        {.live = live});
    BOOST_TEST(graph.node_count() == 3);
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {1, 2}}));
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < 3; ++i) {
      BOOST_TEST(seen_pending(recorder, [&] {
        event.record(recorder);
        exec.replay(stream);
        const bool done = stream.query();
        stream.synchronize();
        BOOST_TEST(event.query());
        return done;
      }));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_replay_does_not_wait_for_a_record_that_comes_after_it) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream recorder;
    const rf::Stream stream;
    rf::Event event(external_flags);
    event.record(recorder);
    const rf::GraphExec exec = rf::capture(origin, [&] { origin.wait_event(event); }, {.live = live}).instantiate();
    BOOST_TEST(seen_pending(recorder, [&] {
      exec.replay(stream);
      event.record(recorder);
      stream.synchronize();
      return recorder.query();
    }));
  }
}

BOOST_AUTO_TEST_CASE(waiting_for_an_external_event_of_the_same_capture_is_an_edge) {
  for (const rf::EventFlags flags : {external_flags, timing_flags}) {
    for (const bool live : live_modes) {
      const rf::Stream origin;
      const rf::Stream member;
      rf::Event event(flags);
      const rf::Graph graph = rf::capture(origin,
                                          [&] {
                                            event.record(origin);
                                            member.wait_event(event);
                                            rf::bench::empty(member);
                                            origin.wait_stream(member);
                                          },
                                          {.live = live});
      BOOST_TEST(graph.node_count() == 2);
      BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
    }
  }
}

BOOST_AUTO_TEST_CASE(one_graph_waits_for_what_another_records) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream first;
    const rf::Stream second;
    rf::Event event(external_flags);
    const rf::GraphExec producer = records(origin, event, live).instantiate();
    const rf::GraphExec consumer = rf::capture(origin, [&] { origin.wait_event(event); }, {.live = live}).instantiate();
    for (int round = 0; round < 3; ++round) {
      BOOST_TEST(seen_pending(first, [&] {
        producer.replay(first);
        consumer.replay(second);
        const bool done = second.query();
        second.synchronize();
        BOOST_TEST(event.query());
        return done;
      }));
    }
  }
}

// Timing

BOOST_AUTO_TEST_CASE(timing_events_of_a_graph_time_its_newest_replay, *label("conformance-30")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Event start(timing_flags);
    rf::Event end(timing_flags);
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          start.record(origin);
                                          rf::test::keep_busy(origin, 5);
                                          end.record(origin);
                                        },
                                        {.live = live});
    require_error(rf::Errc::invalid_value, [&] { start.elapsed_time(end); }, {"never recorded"});
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < 2; ++i) {
      exec.replay(origin);
      end.synchronize();
      BOOST_TEST(start.elapsed_time(end) > 0.0F);
      BOOST_TEST(end.elapsed_time(start) < 0.0F);
    }
  }
}

BOOST_AUTO_TEST_CASE(timing_events_are_refused_while_their_capture_is_open) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Event start(timing_flags);
    rf::Event end(timing_flags);
    rf::Capture capture(origin, {.live = live});
    start.record(origin);
    end.record(origin);
    require_error(rf::Errc::captured_event, [&] { start.elapsed_time(end); });
    require_error(rf::Errc::captured_event, [&] { end.query(); });
    BOOST_TEST(capture.end().node_count() == 2);
  }
}

BOOST_AUTO_TEST_CASE(event_nodes_have_kinds_of_their_own) {
  const rf::Stream origin;
  rf::Event recorded(external_flags);
  const rf::Event awaited(external_flags);
  const rf::Graph graph = rf::capture(origin, [&] {
    origin.wait_event(awaited);
    recorded.record(origin);
  });
  BOOST_TEST(graph.nodes().at(0).kind == "event_wait");
  BOOST_TEST(graph.nodes().at(1).kind == "event_record");
  for (const rf::GraphNode& node : graph.nodes()) BOOST_TEST(node.device == origin.device());
}

// Devices

BOOST_AUTO_TEST_CASE(a_captured_wait_leaves_the_events_device_to_its_first_record) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream origin(devices->first);
  const rf::Stream far(devices->second);
  rf::Event event(external_flags);
  const rf::GraphExec exec = rf::capture(origin, [&] { origin.wait_event(event); }).instantiate();
  BOOST_TEST(!event.device().has_value());
  if (devices->first.kind == rf::DeviceKind::cuda) {
    // A CUDA event can be recorded on the device it was made on only.
    rf::test::require_error(rf::Errc::wrong_device, [&] { event.record(far); }, {"before that capture"});
    return;
  }
  event.record(far);
  BOOST_TEST((event.device() == devices->second));
  BOOST_TEST(seen_pending(far, [&] {
    event.record(far);
    exec.replay(origin);
    return origin.query();
  }));
}

// Two captures

BOOST_AUTO_TEST_CASE(the_end_of_one_capture_leaves_an_event_to_another_that_recorded_it_since) {
  rf::Event event(external_flags);
  const rf::Stream a;
  const rf::Stream b;
  const rf::Stream other;
  rf::Capture first(a);
  rf::Capture second(b);
  event.record(a);
  event.record(b);
  first.end();
  other.wait_event(event);
  BOOST_TEST(other.is_capturing());
  rf::bench::empty(other);
  b.wait_stream(other);
  const rf::Graph graph = second.end();
  BOOST_TEST(graph.node_count() == 2);
  BOOST_TEST(graph.edge_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_of_a_graph_hides_no_work_that_comes_after_its_node) {
  rf::Event recorded({.external = true});
  rf::Array before = rf::zeros({4});
  rf::Array after = rf::zeros({1 << 20});
  const rf::GraphExec exec = rf::capture([&] {
                               before += 1;
                               rf::current_stream().record_event(recorded);
                               for (int i = 0; i < 200; ++i) after += 1;
                             }).instantiate();
  const rf::Stream waiting;
  for (int round = 1; round <= 5; ++round) {
    const rf::test::HazardsScope hazards(rf::Hazards::error);
    exec.replay();
    waiting.wait_event(recorded);
    const rf::StreamGuard on(waiting);
    const rf::Array sum = after + before.slice(0, 1);
    BOOST_TEST(rf::test::holds(sum, 201 * round));
    rf::synchronize();
  }
}

BOOST_AUTO_TEST_SUITE_END()
