// CaptureOptions::strict: what is a warning elsewhere is refused, and everything is usable afterwards.

#include "support.hpp"

namespace rf = refrain;
using rf::DiagnosticKind;
using rf::Errc;
using rf::Hazards;
using rf::test::HazardsScope;
using rf::test::live_modes;
using rf::test::require_error;

namespace {

constexpr rf::CaptureOptions strictly(bool live) { return {.strict = true, .live = live}; }

void increment_on(const rf::Stream& stream, rf::Array& array) {
  const rf::StreamGuard on(stream);
  array += 1;
}

/// A capture of either scope works, and its replay is right.
void require_captures_work(const rf::Stream& origin, bool live) {
  rf::Array count = rf::test::filled(0);
  rf::synchronize();
  rf::capture([&] { count += 1; }, strictly(live)).instantiate().replay();
  rf::capture(
      origin, [&] { count += 1; }, strictly(live))
      .instantiate()
      .replay();
  BOOST_TEST(rf::test::holds(count, 2));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(strict)

BOOST_AUTO_TEST_CASE(a_capture_without_warnings_is_as_any_other) {
  for (const bool live : live_modes) {
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const rf::Graph graph = rf::capture(
        [&] {
          array += 1;
          second.wait_stream(rf::current_stream());
          increment_on(second, array);
        },
        strictly(live));
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}}));
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

// An added edge

BOOST_AUTO_TEST_CASE(a_forgotten_wait_throws_naming_both_places_and_leaves_the_capture) {
  const HazardsScope mode(Hazards::add);
  for (const bool live : live_modes) {
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const rf::Graph graph = rf::capture(
        [&] {
          array += 1;
          require_error(Errc::illegal_state, [&] { increment_on(second, array); }, {"strict.cpp:", "wait_event"});
          second.wait_stream(rf::current_stream());
          increment_on(second, array);
        },
        strictly(live));
    BOOST_TEST(graph.node_count() == 2);
    BOOST_TEST(rf::test::of_kind(graph.diagnostics(), DiagnosticKind::edge_added).empty());
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

BOOST_AUTO_TEST_CASE(a_forgotten_wait_in_a_stream_scope_throws_and_leaves_the_capture) {
  const HazardsScope mode(Hazards::add);
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    rf::Capture capture(origin, strictly(live));
    second.wait_stream(origin);
    increment_on(origin, array);
    require_error(Errc::illegal_state, [&] { increment_on(second, array); });
    BOOST_TEST(capture.is_open());
    origin.wait_stream(second);
    increment_on(origin, array);
    const rf::Graph graph = capture.end();
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

BOOST_AUTO_TEST_CASE(a_forgotten_wait_that_leaves_the_body_discards_the_capture) {
  const HazardsScope mode(Hazards::add);
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const auto body = [&] {
      array += 1;
      increment_on(second, array);
    };
    require_error(Errc::illegal_state, [&] { rf::capture(body, strictly(live)); });
    BOOST_TEST(!rf::is_capturing());
    BOOST_TEST(!second.is_capturing());
    increment_on(second, array);
    BOOST_TEST(rf::test::holds(array, 2));
    require_captures_work(origin, live);
  }
}

BOOST_AUTO_TEST_CASE(ignored_hazards_are_not_refused) {
  const HazardsScope mode(Hazards::ignore);
  for (const bool live : live_modes) {
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const rf::Graph graph = rf::capture(
        [&] {
          array += 1;
          increment_on(second, array);
        },
        strictly(live));
    BOOST_TEST(rf::test::comes_before(graph, 0, 1));
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

BOOST_AUTO_TEST_CASE(strict_is_of_the_capture_and_not_of_eager_work) {
  const HazardsScope mode(Hazards::add);
  const rf::Stream first;
  const rf::Stream second;
  rf::Array array = rf::test::filled(1);
  rf::synchronize();
  rf::capture([&] { array += 1; }, strictly(false));
  rf::test::keep_busy(first, 10);
  increment_on(first, array);
  increment_on(second, array);
  BOOST_TEST(rf::test::holds(array, 3));
}

// An empty capture

BOOST_AUTO_TEST_CASE(an_empty_capture_throws_at_its_end_and_is_gone) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Capture by_stream(origin, strictly(live));
    require_error(Errc::illegal_state, [&] { by_stream.end(); }, {"strict"});
    BOOST_TEST(!by_stream.is_open());
    BOOST_TEST(!origin.is_capturing());
    require_error(Errc::illegal_state, [&] { by_stream.end(); });
    require_captures_work(origin, live);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_body_throws_and_the_next_capture_works) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    require_error(Errc::illegal_state, [&] { rf::capture([] {}, strictly(live)); });
    BOOST_TEST(!rf::is_capturing());
    require_error(Errc::illegal_state, [&] {
      rf::capture(
          origin, [] {}, strictly(live));
    });
    BOOST_TEST(!origin.is_capturing());
    require_captures_work(origin, live);
  }
}

BOOST_AUTO_TEST_CASE(a_capture_of_ops_without_elements_is_empty) {
  const rf::Array nothing = rf::zeros({0});
  require_error(Errc::illegal_state, [&] { rf::capture([&] { return nothing + 1; }, strictly(false)); });
  require_captures_work(rf::Stream(), false);
}

// An unarmed wait

BOOST_AUTO_TEST_CASE(an_unarmed_wait_throws_in_either_scope_and_leaves_the_capture) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const auto body = [&] {
      array += 1;
      const rf::Event never;
      require_error(Errc::invalid_value, [&] { rf::current_stream().wait_event(never); }, {"never recorded"});
      require_error(Errc::invalid_value, [&] { never.wait(rf::current_stream()); }, {"never recorded"});
      array += 1;
    };
    for (const rf::Graph& graph : {rf::capture(body, strictly(live)), rf::capture(origin, body, strictly(live))}) {
      BOOST_TEST(graph.node_count() == 2);
      BOOST_TEST(rf::test::of_kind(graph.diagnostics(), DiagnosticKind::unarmed_wait).empty());
      graph.instantiate().replay();
    }
    BOOST_TEST(rf::test::holds(array, 5));
  }
}

BOOST_AUTO_TEST_CASE(an_event_whose_wait_was_refused_may_be_recorded_and_waited_for) {
  for (const bool live : live_modes) {
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const rf::Graph graph = rf::capture(
        [&] {
          rf::Event event;
          array += 1;
          require_error(Errc::invalid_value, [&] { second.wait_event(event); });
          event.record();
          second.wait_event(event);
          increment_on(second, array);
        },
        strictly(live));
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}}));
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

BOOST_AUTO_TEST_SUITE_END()
