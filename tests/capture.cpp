#include "support.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::live_modes;
using rf::test::require_error;

namespace {

/// Issues one more command, ends the capture and checks that it has so many.
rf::Graph finish(rf::Capture& capture, const rf::Stream& origin, int nodes) {
  rf::bench::empty(origin);
  const rf::Graph graph = capture.end();
  BOOST_TEST(graph.node_count() == nodes);
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(capture)

// Recording

BOOST_AUTO_TEST_CASE(captured_adds_run_on_replay_alone, *label("conformance-24")) {
  for (const bool live : live_modes) {
    rf::Array sum = rf::zeros({1000});
    const rf::Stream stream;
    const rf::Graph graph = rf::capture(stream,
                                        [&] {
                                          for (int i = 0; i < 10; ++i) sum += 1;
                                        },
                                        {.live = live});
    BOOST_TEST(rf::test::holds(sum, 0));
    const rf::GraphExec exec = graph.instantiate();
    exec.replay();
    BOOST_TEST(rf::test::holds(sum, 10));
    exec.replay();
    BOOST_TEST(rf::test::holds(sum, 20));
  }
}

BOOST_AUTO_TEST_CASE(capture_hands_back_the_bodys_result) {
  const rf::Array input = rf::test::filled(2);
  auto [graph, result] = rf::capture([&] { return input * 3; });
  const auto [other_graph, number] = rf::capture([&] { return 17; });
  BOOST_TEST(number == 17);
  BOOST_TEST(other_graph.node_count() == 0);
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(result, 6));
}

BOOST_AUTO_TEST_CASE(capture_by_stream_makes_the_origin_current) {
  const rf::Stream origin;
  const auto [graph, was_current] = rf::capture(origin, [&] { return rf::current_stream() == origin; });
  BOOST_TEST(was_current);
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

BOOST_AUTO_TEST_CASE(is_capturing_is_true_in_the_capture_alone, *label("conformance-23")) {
  for (const bool live : live_modes) {
    const rf::Stream stream;
    const rf::Stream other;
    BOOST_TEST(!rf::is_capturing());
    BOOST_TEST(!stream.is_capturing());
    rf::Capture capture(stream, {.live = live});
    BOOST_TEST(!rf::is_capturing());  // the default stream is current
    BOOST_TEST(stream.is_capturing());
    BOOST_TEST(!other.is_capturing());
    {
      const rf::StreamGuard on(stream);
      BOOST_TEST(rf::is_capturing());
    }
    finish(capture, stream, 1);
    BOOST_TEST(!stream.is_capturing());
  }
}

BOOST_AUTO_TEST_CASE(is_capturing_of_a_thread_scope_is_the_threads_own, *label("conformance-23")) {
  for (const bool live : live_modes) {
    const rf::Stream stream;
    const rf::Capture capture(rf::CaptureOptions{.live = live});
    BOOST_TEST(rf::is_capturing());
    BOOST_TEST(stream.is_capturing());
    BOOST_TEST(!rf::test::on_another_thread([&] { return rf::is_capturing() || stream.is_capturing(); }));
  }
  BOOST_TEST(!rf::is_capturing());
}

BOOST_AUTO_TEST_CASE(a_capture_without_commands_is_a_valid_graph_that_does_nothing, *label("conformance-32")) {
  for (const bool live : live_modes) {
    for (const rf::Graph& graph :
         {rf::capture([] {}, {.live = live}), rf::capture(rf::Stream(), [] {}, {.live = live})}) {
      BOOST_TEST(graph.node_count() == 0);
      BOOST_TEST(graph.edge_count() == 0);
      const auto warnings = rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::empty_capture);
      BOOST_REQUIRE(warnings.size() == 1U);
      BOOST_TEST((warnings[0].severity == rf::Severity::warning));
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      rf::synchronize();
    }
  }
}

BOOST_AUTO_TEST_CASE(an_object_may_hold_one_capture_after_another, *label("conformance-28")) {
  const rf::Stream stream;
  rf::Array array = rf::zeros({3});
  rf::Graph graph = rf::capture(stream, [&] { array += 1; });
  rf::GraphExec exec = graph.instantiate();
  exec.replay();
  exec = {};
  graph = {};
  BOOST_TEST(!graph.defined());
  graph = rf::capture(stream, [&] { array += 10; });
  exec = graph.instantiate();
  exec.replay();
  BOOST_TEST(rf::test::holds(array, 11));
}

// Begin

BOOST_AUTO_TEST_CASE(the_default_stream_cannot_be_an_origin, *label("conformance-31")) {
  for (const bool live : live_modes) {
    const auto body = [] { return rf::test::filled(1); };
    const rf::CaptureOptions options{.live = live};
    require_error(rf::Errc::capture_unsupported, [&] { rf::capture(rf::default_stream(), body, options); },
                  {"default stream", "capture(fn)"});
    BOOST_TEST(!rf::default_stream().is_capturing());
    auto [graph, array] = rf::capture(body, options);  // the remedy
    BOOST_TEST(graph.nodes().at(0).stream == rf::default_stream().id());
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 1));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_capturing_cannot_begin_again) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    member.wait_stream(origin);
    for (const rf::Stream& stream : {origin, member}) {
      require_error(rf::Errc::illegal_state, [&] { rf::Capture again(stream); }, {"capturing already"});
      require_error(rf::Errc::illegal_state, [&] { rf::test::on_another_thread([&] { rf::Capture again(stream); }); });
      const rf::StreamGuard on(stream);
      require_error(rf::Errc::illegal_state, [&] { rf::Capture again; }, {"capturing already"});
    }
    finish(capture, origin, 2);
  }
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_capturing_cannot_begin_again) {
  const rf::Stream stream;
  rf::Capture capture;
  require_error(rf::Errc::illegal_state, [&] { rf::Capture again; }, {"capturing already"});
  require_error(rf::Errc::illegal_state, [&] { rf::Capture again(stream); }, {"capturing already"});
  finish(capture, rf::current_stream(), 1);
}

BOOST_AUTO_TEST_CASE(two_threads_capture_at_once) {
  const rf::Stream mine;
  const rf::Stream theirs;
  rf::Capture capture(mine);
  const int other = rf::test::on_another_thread([&] {
    return rf::capture(theirs, [&] { rf::bench::empty(theirs); }).node_count() +
           rf::capture([] { rf::bench::empty(rf::current_stream()); }).node_count();
  });
  BOOST_TEST(other == 2);
  finish(capture, mine, 1);
}

// End

BOOST_AUTO_TEST_CASE(ending_twice_is_refused) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Capture capture(origin, {.live = live});
    BOOST_TEST(capture.is_open());
    finish(capture, origin, 1);
    BOOST_TEST(!capture.is_open());
    require_error(rf::Errc::illegal_state, [&] { capture.end(); }, {"over"});
    require_error(rf::Errc::illegal_state, [&] { capture.end(origin); });
  }
}

BOOST_AUTO_TEST_CASE(ending_on_a_stream_that_is_not_capturing_is_refused) {
  const rf::Stream origin;
  const rf::Stream stranger;
  rf::Capture capture(origin);
  require_error(rf::Errc::illegal_state, [&] { capture.end(stranger); }, {"not capturing"});
  BOOST_TEST(capture.is_open());
  finish(capture, origin, 1);
}

BOOST_AUTO_TEST_CASE(ending_on_a_member_that_is_not_the_origin_is_refused) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Capture capture(origin, {.live = live});
    member.wait_stream(origin);
    require_error(rf::Errc::capture_unmatched, [&] { capture.end(member); }, {"origin"});
    BOOST_TEST(capture.is_open());
    rf::bench::empty(origin);
    BOOST_TEST(capture.end(origin).node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(another_thread_may_end_a_capture_by_stream) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    const rf::Graph graph = rf::test::on_another_thread([&] { return capture.end(); });
    BOOST_TEST(graph.node_count() == 1);
    BOOST_TEST(!origin.is_capturing());
    origin.synchronize();
  }
}

BOOST_AUTO_TEST_CASE(a_thread_scope_is_ended_by_its_own_thread_and_survives_others) {
  rf::Capture capture;
  require_error(rf::Errc::capture_wrong_thread, [&] { rf::test::on_another_thread([&] { capture.end(); }); });
  BOOST_TEST(capture.is_open());
  finish(capture, rf::current_stream(), 1);
}

// Discarded

BOOST_AUTO_TEST_CASE(a_throw_from_the_body_is_what_the_caller_sees) {
  struct Own {};
  for (const bool live : live_modes) {
    const rf::CaptureOptions options{.live = live};
    const rf::Stream origin;
    const rf::Stream forked;
    const auto body = [&] {
      rf::bench::empty(rf::current_stream());
      forked.wait_stream(rf::current_stream());
      rf::bench::empty(forked);  // never joined: not what the caller hears of
      throw Own{};
    };
    BOOST_CHECK_THROW(rf::capture(origin, body, options), Own);
    BOOST_CHECK_THROW(rf::capture(body, options), Own);
    BOOST_TEST(!rf::is_capturing());
    for (const rf::Stream& stream : {origin, forked, rf::default_stream()}) {
      BOOST_TEST(!stream.is_capturing());
      const rf::StreamGuard on(stream);
      BOOST_TEST(rf::test::holds(rf::test::filled(3) + 1, 4));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_scope_left_before_the_end_discards_its_capture) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    {
      const rf::Capture capture(origin, {.live = live});
      rf::bench::empty(origin);
    }
    BOOST_TEST(!origin.is_capturing());
    BOOST_TEST(rf::capture(origin, [&] { rf::bench::empty(origin); }).node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(events_of_a_discarded_capture_are_refused_until_recorded_again) {
  const rf::Stream origin;
  const rf::Stream other;
  rf::Event event;
  {
    const rf::Capture capture(origin);
    event.record(origin);
  }
  require_error(rf::Errc::captured_event, [&] { event.query(); }, {"discarded"});
  require_error(rf::Errc::captured_event, [&] { event.synchronize(); }, {"discarded"});
  require_error(rf::Errc::captured_event, [&] { other.wait_event(event); }, {"discarded"});
  event.record(other);
  event.synchronize();
  BOOST_TEST(event.query());
}

BOOST_AUTO_TEST_CASE(arrays_of_a_discarded_capture_allow_destruction_alone) {
  const rf::Stream origin;
  rf::Array array;
  {
    const rf::Capture capture(origin);
    const rf::StreamGuard on(origin);
    array = rf::test::filled(1, 1);
  }
  require_error(rf::Errc::illegal_state, [&] { array.to_vector<float>(); }, {"discarded"});
  require_error(rf::Errc::illegal_state, [&] { array.item<float>(); }, {"discarded"});
  require_error(rf::Errc::illegal_state, [&] { array + 1; }, {"discarded"});
  require_error(rf::Errc::illegal_state, [&] { array += 1; }, {"discarded"});
  require_error(rf::Errc::illegal_state, [&] { rf::test::filled(1, 1).assign(array); }, {"discarded"});
  require_error(rf::Errc::illegal_state, [&] { rf::capture([&] { return array + 1; }); }, {"discarded"});
  array = rf::Array();
}

BOOST_AUTO_TEST_CASE(a_capture_whose_origin_dies_is_discarded_and_others_live_on) {
  for (const bool live : live_modes) {
    std::optional<rf::Stream> origin(std::in_place);
    const rf::Stream member;
    const rf::Stream other_origin;
    rf::Capture capture(*origin, {.live = live});
    rf::Capture other(other_origin, {.live = live});
    rf::bench::empty(*origin);
    member.wait_stream(*origin);
    origin.reset();
    BOOST_TEST(!capture.is_open());
    BOOST_TEST(!member.is_capturing());
    require_error(rf::Errc::illegal_state, [&] { capture.end(); }, {"destroyed"});
    member.synchronize();
    finish(other, other_origin, 1);
  }
}

// Out of memory

BOOST_AUTO_TEST_CASE(memory_that_runs_out_is_reported_as_such, *label("conformance-33")) {
  const rf::Device device = rf::current_device();
  constexpr std::int64_t bytes = std::int64_t{1} << 20;
  rf::set_memory_limit(device, rf::memory_stats(device).live + bytes);
  const rf::Stream stream;
  const auto run = [&](bool live) {
    const auto [graph, array] = rf::capture(stream, [] { return rf::zeros({bytes}); }, {.live = live});
    graph.instantiate();
  };
  for (const bool live : live_modes) {
    require_error(rf::Errc::out_of_memory, [&] { run(live); });
    BOOST_TEST(!stream.is_capturing());
  }
  rf::set_memory_limit(device, 0);
  run(false);
}

// Threads

BOOST_AUTO_TEST_CASE(threads_may_issue_to_the_origin_while_the_capture_ends) {
  const rf::Stream origin;
  std::atomic<bool> over{false};
  std::atomic<int> refused{0};
  std::thread issues([&] {
    while (!over) {
      try {
        rf::bench::empty(origin);  // recorded or run at once
      } catch (const rf::Error&) {
        ++refused;
      }
    }
  });
  for (int i = 0; i < 2000; ++i) {
    rf::Capture capture(origin);
    capture.end();
  }
  over = true;
  issues.join();
  BOOST_TEST(refused == 0);
  origin.synchronize();
  BOOST_TEST(origin.query());
}

BOOST_AUTO_TEST_CASE(a_thread_scope_destroyed_by_another_thread_is_over) {
  auto capture = std::make_unique<rf::Capture>();
  rf::test::on_another_thread([&] { capture.reset(); });
  BOOST_TEST(!rf::is_capturing());
  BOOST_TEST(rf::test::holds(rf::test::filled(1) + 1, 2));
  BOOST_TEST(rf::capture([] { rf::bench::empty(rf::current_stream()); }).node_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
