// Streams that fork from a capture and never come back, and work of outside that a capture waits for.

#include "support.hpp"
#include "support_scopes.hpp"

#include <atomic>

using boost::unit_test::label;
namespace rf = refrain;
using rf::DiagnosticKind;
using rf::Errc;
using rf::test::Edges;
using rf::test::filled;
using rf::test::holds;
using rf::test::live_modes;
using rf::test::of_kind;
using rf::test::record;
using rf::test::require_error;

namespace {

void increment_on(const rf::Stream& stream, rf::Array& array) {
  const rf::StreamGuard on(stream);
  array += 1;
}

/// A way not to join the stream `forked`, whose commands add 1 to `y`.
struct NoJoin {
  const char* name;
  int commands;
  void (*make)(const rf::Stream& origin, const rf::Stream& forked, rf::Array& y);
};

constexpr std::initializer_list<NoJoin> no_joins = {
    {"never", 1, [](auto&, auto& forked, auto& y) { increment_on(forked, y); }},
    {"the host waits instead", 1,
     [](auto&, auto& forked, auto& y) {
       increment_on(forked, y);
       const rf::Event end = forked.record_event();
       require_error(Errc::capture_unsupported, [&] { forked.synchronize(); }, {"synchronize"});
       require_error(Errc::captured_event, [&] { end.synchronize(); }, {"synchronize"});
     }},
    {"before its last command", 2,
     [](auto& origin, auto& forked, auto& y) {
       increment_on(forked, y);
       const rf::Event early = forked.record_event();
       increment_on(forked, y);
       origin.wait_event(early);
     }},
    {"before its first command", 1,
     [](auto& origin, auto& forked, auto& y) {
       const rf::Event early = forked.record_event();
       increment_on(forked, y);
       origin.wait_event(early);
     }},
    {"once, and then used again", 2,
     [](auto& origin, auto& forked, auto& y) {
       increment_on(forked, y);
       origin.wait_stream(forked);
       increment_on(forked, y);
     }},
    {"the wrong way round", 1,
     [](auto& origin, auto& forked, auto& y) {
       increment_on(forked, y);
       forked.wait_stream(origin);
     }},
    {"by another event", 1,
     [](auto& origin, auto& forked, auto& y) {
       increment_on(forked, y);
       forked.record_event();
       origin.wait_event(rf::Event());
     }},
};

void fork(const NoJoin& way, const rf::Stream& origin, const rf::Stream& forked, rf::Array& x, rf::Array& y) {
  x += 1;
  forked.wait_event(origin.record_event());
  way.make(origin, forked, y);
}

void is_refused_as_unjoined(const NoJoin& way, bool live) {
  const rf::Stream origin;
  const rf::Stream forked;
  rf::Array x = filled(0);
  rf::Array y = filled(0);
  rf::synchronize();
  require_error(Errc::capture_unjoined,
                [&] { rf::capture(origin, [&] { fork(way, origin, forked, x, y); }, {.live = live}); },
                {"stream " + std::to_string(forked.id()), "report_joins.cpp:"});
  for (const rf::Stream& stream : {origin, forked}) {
    BOOST_TEST(!stream.is_capturing());
    increment_on(stream, x);
    stream.synchronize();
  }
  BOOST_TEST(holds(x, 2));
  BOOST_TEST(holds(y, 0));
  const auto joined = [&] {
    fork(way, origin, forked, x, y);
    origin.wait_stream(forked);
  };
  const rf::GraphExec exec = rf::capture(origin, joined, {.live = live}).instantiate();
  for (int i = 0; i < 3; ++i) exec.replay(forked);
  BOOST_TEST(holds(x, 5));
  BOOST_TEST(holds(y, 3 * way.commands));
}

void is_joined_by_a_thread_scope(const NoJoin& way, bool live) {
  const rf::Stream origin;
  const rf::Stream forked;
  rf::Array x = filled(0);
  rf::Array y = filled(0);
  rf::synchronize();
  const rf::Graph graph = record({.by_stream = false, .live = live}, origin, [&] { fork(way, origin, forked, x, y); });
  BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::joined).size() == 1U);
  const rf::GraphExec exec = graph.instantiate();
  const rf::Stream target;
  for (int i = 1; i <= 3; ++i) {
    exec.replay(target);
    target.synchronize();  // covers the forked stream's commands
    BOOST_TEST(holds(y, i * way.commands));
  }
  BOOST_TEST(holds(x, 3));
}

/// Host work on `stream`, some time from now, that sets the flag; the event recorded behind it.
rf::Event set_later(const rf::Stream& stream, std::atomic<bool>& flag) {
  rf::test::keep_busy(stream, 80);
  stream.launch_host_func([&flag] { flag = true; });
  return stream.record_event();
}

/// Whether the first replay of what `wait` and a host function record finds the outside work done.
bool sees_outside_work(bool live, const std::function<void(const rf::Stream&, const rf::Event&)>& wait) {
  const rf::Stream outside;
  const rf::Stream target;
  std::atomic<bool> is_set{false};
  std::atomic<bool> was_seen{false};
  const rf::Event event = set_later(outside, is_set);
  const rf::Graph graph = rf::capture(
      [&] {
        wait(outside, event);
        rf::current_stream().launch_host_func([&] { was_seen = is_set.load(); });
      },
      {.live = live});
  graph.instantiate().replay(target);
  rf::synchronize();
  return was_seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_joins)

BOOST_AUTO_TEST_CASE(a_forked_stream_that_is_not_joined_is_named_and_all_streams_stay_usable, *label("report-11")) {
  for (const bool live : live_modes) {
    for (const NoJoin& way : no_joins) {
      BOOST_TEST_CONTEXT("joined " << way.name << (live ? ", live" : "")) {
        is_refused_as_unjoined(way, live);
        is_joined_by_a_thread_scope(way, live);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_joined_by_another_unjoined_one_is_not_joined) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    const rf::Stream between;
    rf::Array x = filled(0);
    rf::synchronize();
    const auto body = [&] {
      forked.wait_stream(origin);
      increment_on(forked, x);
      between.wait_stream(forked);
    };
    require_error(Errc::capture_unjoined, [&] { rf::capture(origin, body, {.live = live}); }, {"stream "});
    const auto joined = [&] {
      body();
      origin.wait_stream(between);
    };
    rf::capture(origin, joined, {.live = live}).instantiate().replay();
    BOOST_TEST(holds(x, 1));
  }
}

BOOST_AUTO_TEST_CASE(a_wait_for_work_of_outside_is_refused_or_done_and_never_dropped, *label("report-14")) {
  for (const bool live : live_modes) {
    // Stream-scoped: refused, whichever member waits; the remedy is to wait before.
    const rf::Stream origin;
    const rf::Stream forked;
    const rf::Stream outside;
    rf::Array x = filled(0);
    rf::synchronize();
    rf::test::keep_busy(outside, 10);
    increment_on(outside, x);
    const rf::Event event = outside.record_event();
    const rf::Event own = origin.record_event();
    const rf::Graph graph = rf::capture(
        origin,
        [&] {
          x *= 10;
          forked.wait_stream(origin);
          for (const rf::Stream& member : {origin, forked}) {
            require_error(Errc::capture_isolation, [&] { member.wait_event(event); }, {"outside", "before"});
            require_error(Errc::capture_isolation, [&] { event.wait(member); });
            require_error(Errc::capture_isolation, [&] { member.wait_stream(outside); });
            require_error(Errc::capture_isolation, [&] { member.wait_event(own); });
          }
          increment_on(forked, x);
          origin.wait_stream(forked);
        },
        {.live = live});
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
    origin.wait_event(event);
    graph.instantiate().replay(origin);
    BOOST_TEST(holds(x, 11));

    // Thread-scoped: waited for before the first replay, whichever stream waits.
    BOOST_TEST(sees_outside_work(live, [](auto&, auto& done) { rf::current_stream().wait_event(done); }));
    BOOST_TEST(sees_outside_work(live, [](auto&, auto& done) {
      const rf::Stream between;
      between.wait_event(done);
      rf::current_stream().wait_stream(between);
    }));
  }
}

BOOST_AUTO_TEST_CASE(a_thread_scope_that_waits_for_a_stream_waits_for_what_was_issued_there_before) {
  for (const bool live : live_modes) {
    BOOST_TEST(sees_outside_work(live, [](auto& other, auto&) { rf::current_stream().wait_stream(other); }));
  }
}

BOOST_AUTO_TEST_SUITE_END()
