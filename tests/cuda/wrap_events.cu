// Events of other code's: Event::wrap.

#include "support.hpp"
#include "support_foreign.hpp"
#include "support_scopes.hpp"

#include <sstream>

namespace rf = refrain;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;

namespace {

constexpr Scope live_scopes[] = {{false, true}, {true, true}};
using NativeEdges = std::set<std::pair<int, int>>;

/// A raw event and its handle, a raw stream, an array on which order shows.
struct Wrapped : foreign::Case {
  explicit Wrapped(rf::EventFlags flags = {}, unsigned native_flags = cudaEventDisableTiming)
      : native(native_flags), event(rf::Event::wrap(native, flags)) {
    rf::synchronize();
  }

  /// Other code adds one to the array, not before the gate is open, and records the event.
  void add_held_and_record() {
    close_gate();
    hold(other);
    foreign::add(other, address);
    CUDA_REQUIRE(cudaEventRecord(native, other));
  }
  void triple_on(const rf::Stream& stream) {
    const rf::StreamGuard on(stream);
    x *= 3;
  }

  runtime::Event native;
  foreign::Stream other;
  rf::Event event;
  rf::Array x = rf::zeros({1});
  float* const address = foreign::address_of(x);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_wrap_events, *boost::unit_test::label("sanitize"))

// Eager

BOOST_AUTO_TEST_CASE(a_wait_covers_a_native_record) {
  Wrapped w;
  const rf::Stream stream;
  for (int i = 1; i <= 3; ++i) {
    w.x.assign(0);
    rf::synchronize();
    w.add_held_and_record();
    stream.wait_event(w.event);
    w.triple_on(stream);
    BOOST_TEST(!stream.query());
    w.open_gate();
    BOOST_TEST(holds(w.x, 3));
  }
}

BOOST_AUTO_TEST_CASE(query_and_synchronize_see_native_records) {
  Wrapped w;
  BOOST_TEST(w.event.query());
  w.event.synchronize();
  w.add_held_and_record();
  BOOST_TEST(!w.event.query());
  w.open_gate();
  w.event.synchronize();
  BOOST_TEST(w.event.query());
  BOOST_TEST(holds(w.x, 1));
  foreign::keep_busy(w.other, 100);
  foreign::add(w.other, w.address);
  CUDA_REQUIRE(cudaEventRecord(w.native, w.other));
  w.event.synchronize();
  BOOST_TEST(holds(w.x, 2));
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_that_nobody_recorded_orders_nothing, *boost::unit_test::label("pending")) {
  Wrapped w;
  const rf::Stream stream;
  w.hold(w.other);
  stream.wait_event(w.event);
  rf::bench::empty(stream);
  stream.synchronize();
  BOOST_TEST(cudaStreamQuery(w.other) == cudaErrorNotReady);
  w.open_gate();
}

BOOST_AUTO_TEST_CASE(other_code_waits_for_a_record_of_refrains) {
  Wrapped w;
  const rf::Stream stream;
  w.hold(stream.native());
  {
    const rf::StreamGuard on(stream);
    w.x.assign(5);
    w.event.record();
  }
  BOOST_TEST(cudaEventQuery(w.native) == cudaErrorNotReady);
  CUDA_REQUIRE(cudaStreamWaitEvent(w.other, w.native));
  foreign::add(w.other, w.address);
  w.open_gate();
  BOOST_TEST(foreign::read_after(w.other, w.address) == 6);
  BOOST_TEST((w.event.device() == rf::current_device()));
}

BOOST_AUTO_TEST_CASE(a_wait_covers_the_newest_record_whoever_made_it, *boost::unit_test::label("pending")) {
  Wrapped w;
  const rf::Stream recorder;
  const rf::Stream waiter;
  for (const rf::Stream& waits : {waiter, recorder}) {  // also where Refrain's own record was on the same stream
    w.x.assign(0);
    rf::synchronize();
    w.event.record(recorder);
    w.add_held_and_record();
    BOOST_TEST(!w.event.query());
    waits.wait_event(w.event);
    w.triple_on(waits);
    BOOST_TEST(!waits.query());
    w.open_gate();
    BOOST_TEST(holds(w.x, 3));
  }
  // Refrain's, after one of other code's that is still to come
  w.add_held_and_record();
  w.event.record(recorder);
  waiter.wait_event(w.event);
  rf::bench::empty(waiter);
  waiter.synchronize();
  BOOST_TEST(w.event.query());
  BOOST_TEST(cudaStreamQuery(w.other) == cudaErrorNotReady);
  w.open_gate();
}

BOOST_AUTO_TEST_CASE(elapsed_time_is_that_of_the_native_events) {
  const rf::EventFlags timing{.timing = true};
  Wrapped first(timing, cudaEventDefault);
  const Wrapped last(timing, cudaEventDefault);
  CUDA_REQUIRE(cudaEventRecord(first.native, first.other));
  foreign::keep_busy(first.other, 20);
  CUDA_REQUIRE(cudaEventRecord(last.native, first.other));
  last.event.synchronize();
  float expected = 0;
  CUDA_REQUIRE(cudaEventElapsedTime(&expected, first.native, last.native));
  BOOST_TEST(first.event.elapsed_time(last.event) == expected, boost::test_tools::tolerance(0.001F));
  BOOST_TEST(first.event.elapsed_time(last.event) >= 19);
  first.hold(first.other);
  CUDA_REQUIRE(cudaEventRecord(last.native, first.other));
  require_error(rf::Errc::not_ready, [&] { first.event.elapsed_time(last.event); });
  first.open_gate();
}

BOOST_AUTO_TEST_CASE(time_elapses_between_events_of_refrain_and_of_other_code) {
  const rf::EventFlags timing{.timing = true};
  Wrapped w(timing, cudaEventDefault);
  const rf::Stream stream = rf::Stream::wrap(w.other);
  rf::Event before(timing);
  rf::Event after(timing);
  before.record(stream);
  foreign::keep_busy(w.other, 20);
  CUDA_REQUIRE(cudaEventRecord(w.native, w.other));
  foreign::keep_busy(w.other, 20);
  after.record(stream);
  after.synchronize();
  BOOST_TEST(before.elapsed_time(w.event) >= 19);
  BOOST_TEST(w.event.elapsed_time(after) >= 19);
  w.event.record(stream);  // Refrain records it too
  w.event.synchronize();
  BOOST_TEST(before.elapsed_time(w.event) >= 38);
}

BOOST_AUTO_TEST_CASE(an_event_without_timing_has_no_elapsed_time) {
  const Wrapped w;
  const rf::Event mine({.timing = true});
  require_error(rf::Errc::invalid_value, [&] { w.event.elapsed_time(w.event); }, {"timing"});
  require_error(rf::Errc::invalid_value, [&] { mine.elapsed_time(w.event); }, {"timing"});
}

BOOST_AUTO_TEST_CASE(the_native_event_outlives_its_handles) {
  const rf::EventFlags flags{.timing = true, .blocking = true, .external = true};
  foreign::Case c;
  runtime::Event native(cudaEventDefault | cudaEventBlockingSync);
  {
    const rf::Event event = rf::Event::wrap(native, flags);
    BOOST_TEST((event.native() == native));
    BOOST_TEST((event.flags() == flags));
    BOOST_TEST(!event.device().has_value());
    std::ostringstream text;
    text << event;
    BOOST_TEST((text.str().find("wrapped") != std::string::npos), text.str());
  }
  const rf::Event last = rf::Event::wrap(native);
  CUDA_REQUIRE(cudaEventRecord(native, c.outside));
  last.synchronize();
  BOOST_TEST(native.reset() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(what_no_wrapped_event_can_do_is_refused) {
  Wrapped w;
  const rf::Stream host(rf::Device{rf::DeviceKind::host, 0});
  require_error(rf::Errc::invalid_value, [] { rf::Event::wrap(nullptr); }, {"null"});
  require_error(rf::Errc::not_supported, [&] { host.wait_event(w.event); }, {"CUDA"});
  require_error(rf::Errc::wrong_device, [&] { host.record_event(w.event); }, {host.device().str()});
  for (const bool live : rf::test::live_modes) {
    const rf::StreamGuard on(host);
    rf::capture(
        [&] {
          require_error(rf::Errc::not_supported, [&] { host.wait_event(w.event); });
          require_error(rf::Errc::wrong_device, [&] { host.record_event(w.event); });
        },
        {.live = live});
  }
  BOOST_TEST(w.event.query());
}

// Held-back captures

BOOST_AUTO_TEST_CASE(an_event_recorded_in_a_capture_joins_its_streams) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Wrapped w;
      const rf::Stream origin;
      const rf::Stream member;
      const rf::Graph graph = record(scope, origin, [&] {
        {
          const rf::StreamGuard on(origin);
          w.x += 1;
        }
        w.event.record(origin);
        require_error(rf::Errc::captured_event, [&] { w.event.query(); });
        member.wait_event(w.event);
        w.triple_on(member);
        origin.wait_stream(member);
      });
      BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}}));
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(holds(w.x, 12));
      require_error(rf::Errc::captured_event, [&] { w.event.query(); });
      w.event.record(origin);
      w.event.synchronize();
      BOOST_TEST(w.event.query());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_scoped_capture_refuses_a_record_of_outside) {
  for (const bool is_pending : {false, true}) {
    Wrapped w;
    const rf::Stream origin;
    w.add_held_and_record();
    if (!is_pending) {
      w.open_gate();
      w.event.synchronize();
    }
    const rf::Graph graph = rf::capture(origin, [&] {
      require_error(rf::Errc::capture_isolation, [&] { origin.wait_event(w.event); });
      w.triple_on(origin);
    });
    w.open_gate();
    w.event.synchronize();
    graph.instantiate().replay(origin);
    BOOST_TEST(holds(w.x, 3));
  }
}

BOOST_AUTO_TEST_CASE(a_thread_scoped_capture_waits_once_for_a_record_of_outside, *boost::unit_test::label("pending")) {
  Wrapped w;
  const rf::Stream stream;
  w.add_held_and_record();
  const rf::Graph graph = rf::capture([&] {
    rf::current_stream().wait_event(w.event);
    w.x *= 3;
  });
  BOOST_TEST(rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::outside_wait).size() == 1U);
  const rf::GraphExec exec = graph.instantiate();
  exec.replay(stream);
  BOOST_TEST(!stream.query());
  w.open_gate();
  BOOST_TEST(holds(w.x, 3));
  w.close_gate();
  w.hold(w.other);
  CUDA_REQUIRE(cudaEventRecord(w.native, w.other));  // later: no replay waits for it
  exec.replay(stream);
  stream.synchronize();
  BOOST_TEST(!w.event.query());
  w.open_gate();
  BOOST_TEST(holds(w.x, 9));
}

// Live captures

BOOST_AUTO_TEST_CASE(a_member_waits_for_a_native_record_in_the_same_live_capture) {
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Wrapped w;
      const rf::Stream origin;
      const rf::Stream member;
      const rf::Graph graph = record(scope, origin, [&] {
        foreign::add(origin.native(), w.address);
        CUDA_REQUIRE(cudaEventRecord(w.native, origin.native()));
        member.wait_event(w.event);
        w.triple_on(member);
        origin.wait_stream(member);
      });
      BOOST_TEST((read_graph(graph.native()).edges == NativeEdges{{0, 1}}));
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(holds(w.x, 12));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_member_waits_for_the_newest_record_in_a_live_capture) {
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Wrapped w;
      const rf::Stream origin;
      const rf::Stream member;
      const rf::Graph graph = record(scope, origin, [&] {
        rf::bench::empty(origin);
        w.event.record(origin);
        foreign::add(origin.native(), w.address);
        CUDA_REQUIRE(cudaEventRecord(w.native, origin.native()));
        member.wait_event(w.event);
        w.triple_on(member);
        origin.wait_stream(member);
      });
      BOOST_TEST((read_graph(graph.native()).edges == NativeEdges{{0, 1}, {1, 2}}));
    }
  }
}

BOOST_AUTO_TEST_CASE(other_code_waits_in_a_live_capture_for_a_record_of_refrains) {
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Wrapped w;
      const rf::Stream origin;
      const runtime::Event done;
      const rf::Graph graph = record(scope, origin, [&] {
        w.x += 1;
        w.event.record(origin);
        CUDA_REQUIRE(cudaStreamWaitEvent(w.other, w.native));
        foreign::add(w.other, w.address);
        CUDA_REQUIRE(cudaEventRecord(done, w.other));
        CUDA_REQUIRE(cudaStreamWaitEvent(origin.native(), done));
        w.x *= 2;
      });
      BOOST_TEST((read_graph(graph.native()).edges == NativeEdges{{0, 1}, {1, 2}}));
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(holds(w.x, 12));
    }
  }
}

// Nodes

BOOST_AUTO_TEST_CASE(an_external_record_is_a_node_that_other_code_waits_for) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Wrapped w({.external = true});
      const rf::Stream origin;
      const rf::Stream stream;
      const rf::GraphExec exec = record(scope, origin, [&] {
                                   const rf::StreamGuard on(origin);
                                   w.x += 1;
                                   w.event.record(origin);
                                 }).instantiate();
      for (int i = 1; i <= 3; ++i) {
        w.close_gate();
        w.hold(stream.native());
        exec.replay(stream);
        BOOST_TEST(!w.event.query());
        CUDA_REQUIRE(cudaStreamWaitEvent(w.other, w.native));
        foreign::add(w.other, w.address);
        BOOST_TEST(cudaStreamQuery(w.other) == cudaErrorNotReady);
        w.open_gate();
        w.event.synchronize();
        BOOST_TEST(foreign::read_after(w.other, w.address) == 2 * i);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_external_wait_is_a_node_that_waits_for_the_newest_native_record) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Wrapped w({.external = true});
      const rf::Stream origin;
      const rf::Stream stream;
      const rf::Graph graph = record(scope, origin, [&] {
        origin.wait_event(w.event);
        w.triple_on(origin);
      });
      BOOST_TEST(graph.node_count() == 2);
      const rf::GraphExec exec = graph.instantiate();
      double expected = 0;
      for (int i = 0; i < 3; ++i) {
        w.add_held_and_record();
        exec.replay(stream);
        BOOST_TEST(!stream.query());
        w.open_gate();
        expected = (expected + 1) * 3;
        BOOST_TEST(holds(w.x, expected));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(timing_events_of_other_code_time_a_graph) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::EventFlags timing{.timing = true};
      Wrapped first(timing, cudaEventDefault);
      Wrapped last(timing, cudaEventDefault);
      const rf::Stream origin;
      const rf::GraphExec exec = record(scope, origin, [&] {
                                   first.event.record(origin);
                                   rf::test::keep_busy(origin, 5);
                                   last.event.record(origin);
                                 }).instantiate();
      for (int i = 0; i < 2; ++i) {
        exec.replay();
        last.event.synchronize();
        float native = 0;
        CUDA_REQUIRE(cudaEventElapsedTime(&native, first.native, last.native));
        BOOST_TEST(native > 0);
        BOOST_TEST(first.event.elapsed_time(last.event) == native, boost::test_tools::tolerance(0.001F));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
