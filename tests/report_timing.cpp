// Events that time a part of a captured program.

#include "support.hpp"
#include "support_scopes.hpp"

#include <chrono>

using boost::unit_test::label;
namespace rf = refrain;
using rf::Errc;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;
using rf::test::seen_pending;

namespace {

using std::chrono::nanoseconds;

const rf::EventFlags timing_flags{.timing = true};

/// Whether the two have no time between them yet since the work is not done.
bool is_too_early(const rf::Event& start, const rf::Event& end) {
  try {
    start.elapsed_time(end);
  } catch (const rf::Error& error) {
    BOOST_TEST(to_string(error.code()) == "not_ready");
    return true;
  }
  return false;
}

void events_time_a_part_of_each_replay(Scope scope, rf::EventFlags flags) {
  const rf::Stream origin;
  const rf::Stream stream;
  rf::Event a(flags);
  rf::Event b(flags);
  rf::Event c(flags);
  const rf::Graph graph = record(scope, origin, [&] {
    rf::test::keep_busy(origin, 1);
    a.record(origin);
    rf::test::keep_busy(origin, 3);
    b.record(origin);
    rf::test::keep_busy(origin, 1);
    c.record(origin);
  });
  require_error(Errc::invalid_value, [&] { a.elapsed_time(b); }, {"never recorded"});
  const rf::GraphExec exec = graph.instantiate();
  require_error(Errc::invalid_value, [&] { a.elapsed_time(b); }, {"never recorded"});
  rf::Event begin(timing_flags);
  begin.record(stream);
  nanoseconds last{0};
  for (int i = 0; i < 3; ++i) {
    exec.replay(stream);
    c.synchronize();
    BOOST_TEST(a.elapsed_time(b) > 0.0F);
    BOOST_TEST(b.elapsed_time(c) > 0.0F);
    BOOST_TEST(c.elapsed_time(a) < 0.0F);
    // The times are this replay's: after those of the one before, and before what follows on the stream.
    rf::Event end(timing_flags);
    end.record(stream);
    end.synchronize();
    BOOST_TEST((begin.elapsed(a) > last));
    BOOST_TEST((begin.elapsed(c) > begin.elapsed(b)));
    BOOST_TEST((begin.elapsed(end) >= begin.elapsed(c)));
    last = begin.elapsed(c);
  }
  BOOST_TEST(seen_pending(stream, [&] {
    exec.replay(stream);
    return !is_too_early(a, b);
  }));
  exec.replay(stream);
  stream.synchronize();
  BOOST_TEST(a.elapsed_time(b) > 0.0F);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_timing)

BOOST_AUTO_TEST_CASE(events_recorded_in_a_capture_time_a_part_of_each_replay, *label("report-20")) {
  for (const Scope scope : scopes) {
    for (const bool external : {false, true}) {
      BOOST_TEST_CONTEXT(scope << (external ? ", external" : "")) {
        events_time_a_part_of_each_replay(scope, {.timing = true, .external = external});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(events_without_timing_have_one_clear_error_and_the_graph_goes_on) {
  for (const Scope scope : scopes) {
    for (const bool external : {false, true}) {
      const rf::Stream origin;
      rf::Event a({.external = external});
      rf::Event b({.external = external});
      rf::Array x = rf::zeros({4});
      rf::synchronize();
      const rf::GraphExec exec = record(scope, origin, [&] {
                                   a.record(origin);
                                   x += 1;
                                   b.record(origin);
                                 }).instantiate();
      for (int i = 1; i <= 3; ++i) {
        exec.replay();
        require_error(Errc::invalid_value, [&] { a.elapsed_time(b); }, {"timing"});
        BOOST_TEST(holds(x, i));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
