#include "support.hpp"

#include <optional>

namespace rf = refrain;
using rf::DiagnosticKind;
using rf::test::Edges;
using rf::test::live_modes;
using rf::test::of_kind;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(capture_events)

// Events of the capture

BOOST_AUTO_TEST_CASE(an_event_may_die_before_the_end_and_its_edge_stays) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    {
      std::optional<rf::Event> event = origin.record_event();
      member.wait_event(*event);
      event.reset();
    }
    rf::bench::empty(member);
    origin.wait_stream(member);
    BOOST_TEST((rf::test::edges(capture.end()) == Edges{{0, 1}}));
  }
}

BOOST_AUTO_TEST_CASE(a_wait_on_the_recording_stream_adds_neither_node_nor_edge) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          origin.wait_event(origin.record_event());
                                          origin.wait_stream(origin);
                                          rf::bench::empty(origin);
                                        },
                                        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
  }
}

BOOST_AUTO_TEST_CASE(a_captured_wait_covers_the_newest_record_of_its_time) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Event event;
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          event.record(origin);
                                          member.wait_event(event);
                                          rf::bench::empty(origin);
                                          event.record(origin);
                                          rf::bench::empty(member);  // after node 0, not after node 1
                                          origin.wait_stream(member);
                                        },
                                        {.live = live});
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {0, 2}}));
  }
}

BOOST_AUTO_TEST_CASE(many_streams_wait_for_one_captured_event_and_one_for_many) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const std::vector<rf::Stream> members = {rf::Stream(), rf::Stream(), rf::Stream()};
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          const rf::Event fork = origin.record_event();
                                          for (const rf::Stream& member : members) member.wait_event(fork);
                                          for (const rf::Stream& member : members) rf::bench::empty(member);
                                          for (const rf::Stream& member : members)
                                            origin.wait_event(member.record_event());
                                          rf::bench::empty(origin);
                                        },
                                        {.live = live});
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}}));
  }
}

BOOST_AUTO_TEST_CASE(one_capture_cannot_wait_for_another) {
  for (const bool live : live_modes) {
    const rf::Stream first;
    const rf::Stream second;
    rf::Capture one(first, {.live = live});
    rf::Capture two(second, {.live = live});
    rf::bench::empty(first);
    rf::bench::empty(second);
    const rf::Event of_one = first.record_event();
    require_error(rf::Errc::capture_merge, [&] { second.wait_event(of_one); });
    require_error(rf::Errc::capture_merge, [&] { first.wait_stream(second); });
    rf::bench::empty(first);
    rf::bench::empty(second);
    for (rf::Capture* capture : {&one, &two}) {
      BOOST_TEST(capture->is_open());
      BOOST_TEST((rf::test::edges(capture->end()) == Edges{{0, 1}}));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_array_of_one_capture_cannot_be_used_in_another) {
  const rf::Stream first;
  const rf::Stream second;
  rf::Capture one(first);
  rf::Capture two(second);
  rf::Array array;
  {
    const rf::StreamGuard on(first);
    array = rf::test::filled(1);
  }
  {
    const rf::StreamGuard on(second);
    require_error(rf::Errc::capture_merge, [&] { array += 1; });
    rf::bench::empty(second);
  }
  BOOST_TEST(one.end().node_count() == 1);
  BOOST_TEST(two.end().node_count() == 1);
}

// Events from outside

BOOST_AUTO_TEST_CASE(a_captured_wait_for_an_event_never_recorded_is_reported) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Event never;
    const auto body = [&] {
      rf::current_stream().wait_event(never);
      rf::bench::empty(rf::current_stream());
    };
    for (const rf::Graph& graph : {rf::capture(body, {.live = live}), rf::capture(origin, body, {.live = live})}) {
      BOOST_TEST(graph.edge_count() == 0);
      const auto warnings = of_kind(graph.diagnostics(), DiagnosticKind::unarmed_wait);
      BOOST_REQUIRE(warnings.size() == 1U);
      BOOST_TEST((warnings[0].severity == rf::Severity::warning));
    }
  }
}

BOOST_AUTO_TEST_CASE(strict_mode_refuses_a_wait_for_an_event_never_recorded) {
  const rf::Stream origin;
  const rf::Event never;
  rf::Capture capture(origin, {.strict = true});
  require_error(rf::Errc::invalid_value, [&] { origin.wait_event(never); }, {"never recorded"});
  rf::bench::empty(origin);
  BOOST_TEST(capture.end().node_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_stream_scope_cannot_wait_for_an_event_of_outside) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream outside;
    const rf::Event complete = outside.record_event();
    complete.synchronize();
    rf::Capture capture(origin, {.live = live});
    require_error(rf::Errc::capture_isolation, [&] { origin.wait_event(complete); }, {"outside", "capture(fn)"});
    require_error(rf::Errc::capture_isolation, [&] { origin.wait_stream(outside); });
    rf::test::keep_busy(outside);
    const rf::Event pending = outside.record_event();
    require_error(rf::Errc::capture_isolation, [&] { origin.wait_event(pending); });
    rf::bench::empty(origin);
    BOOST_TEST(capture.end().node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_thread_scope_waits_for_an_event_of_outside_once_before_the_first_replay) {
  for (const bool live : live_modes) {
    const rf::Stream producer;
    const rf::Stream consumer;
    const rf::Stream target;
    rf::test::keep_busy(producer);
    const rf::Event event = producer.record_event();
    const rf::Graph graph = rf::capture(
        [&] {
          consumer.wait_event(event);
          rf::bench::empty(consumer);
        },
        {.live = live});
    const auto found = of_kind(graph.diagnostics(), DiagnosticKind::outside_wait);
    BOOST_REQUIRE(found.size() == 1U);
    BOOST_TEST((found[0].text.find("before the first replay") != std::string::npos), found[0].text);
    const rf::GraphExec exec = graph.instantiate();
    exec.replay(target);
    target.synchronize();
    BOOST_TEST(event.query());
    // Once: the second replay does not wait for what was issued since.
    BOOST_TEST(rf::test::seen_pending(producer, [&] {
      exec.replay(target);
      target.synchronize();
      return producer.query();
    }));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_an_event_of_an_open_thread_scope_in_its_thread_alone) {
  for (const bool live : live_modes) {
    const rf::Stream stream;
    rf::Capture capture(rf::CaptureOptions{.live = live});
    rf::bench::empty(rf::current_stream());
    const rf::Event event = rf::current_stream().record_event();
    require_error(rf::Errc::captured_event, [&] { rf::test::on_another_thread([&] { stream.wait_event(event); }); },
                  {"thread"});
    stream.wait_event(event);
    rf::bench::empty(stream);
    BOOST_TEST((rf::test::edges(capture.end()) == Edges{{0, 1}}));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_of_any_thread_joins_an_open_stream_scope) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream joins;
    rf::Capture capture(origin, {.live = live, .join_all = true});
    rf::bench::empty(origin);
    const rf::Event event = origin.record_event();
    rf::test::on_another_thread([&] {
      joins.wait_event(event);
      rf::bench::empty(joins);
    });
    BOOST_TEST((rf::test::edges(capture.end()) == Edges{{0, 1}}));
  }
}

// Events after the capture

BOOST_AUTO_TEST_CASE(an_event_last_recorded_in_a_finished_capture_is_refused) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream other;
    rf::Event event;
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          event.record(origin);
                                        },
                                        {.live = live});
    const std::initializer_list<std::string_view> words = {"graph", "external"};
    require_error(
        rf::Errc::captured_event, [&] { event.query(); }, words);
    require_error(
        rf::Errc::captured_event, [&] { event.synchronize(); }, words);
    require_error(
        rf::Errc::captured_event, [&] { other.wait_event(event); }, words);
    rf::Capture by_stream(other);
    require_error(
        rf::Errc::captured_event, [&] { other.wait_event(event); }, words);
    BOOST_TEST(by_stream.end().node_count() == 0);
    rf::Capture by_thread;
    require_error(
        rf::Errc::captured_event, [&] { other.wait_event(event); }, words);
    BOOST_TEST(by_thread.end().node_count() == 0);
    // A replay does not record it either.
    graph.instantiate().replay();
    require_error(
        rf::Errc::captured_event, [&] { event.query(); }, words);

    event.record(other);
    event.synchronize();
    BOOST_TEST(event.query());
  }
}

BOOST_AUTO_TEST_CASE(a_program_with_events_runs_eagerly_and_captured_in_turns) {
  const rf::Stream producer;
  rf::Event event;
  const auto program = [&] {
    rf::Array array;
    {
      const rf::StreamGuard on(producer);
      array = rf::test::filled(3) * 2;
      event.record(producer);
    }
    rf::current_stream().wait_event(event);
    return array + 1;
  };
  for (const bool live : live_modes) {
    BOOST_TEST(rf::test::holds(program(), 7));
    const auto [graph, result] = rf::capture(program, {.live = live});
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(result, 7));
  }
  BOOST_TEST(rf::test::holds(program(), 7));
}

BOOST_AUTO_TEST_SUITE_END()
