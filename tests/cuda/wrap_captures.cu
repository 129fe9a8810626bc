// Wrapped streams in captures and their graphs.

#include "support.hpp"
#include "support_foreign.hpp"
#include "support_scopes.hpp"

#include <memory>
#include <optional>
#include <stdexcept>

namespace rf = refrain;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;

namespace {

constexpr Scope live_scopes[] = {{false, true}, {true, true}};

/// Two raw streams with their handles, and arrays.
struct Pair : foreign::Case {
  foreign::Stream native;
  foreign::Stream side_native;
  std::optional<rf::Stream> stream = rf::Stream::wrap(native);
  std::optional<rf::Stream> side = rf::Stream::wrap(side_native);
  rf::Array x = rf::zeros({4});
  rf::Array y = rf::zeros({4});

  Pair() { rf::synchronize(); }

  /// x becomes (x + 1) * 3, by work on both streams.
  void program() {
    x += 1;
    side->wait_stream(*stream);
    {
      const rf::StreamGuard on(*side);
      y.assign(x * 2);
    }
    stream->wait_stream(*side);
    x += y;
  }

  /// Other code goes on with the raw streams.
  void require_usable() {
    for (const cudaStream_t raw : {static_cast<cudaStream_t>(native), static_cast<cudaStream_t>(side_native)}) {
      *count = 0;
      add_one(raw);
      rf::synchronize();
      BOOST_TEST(*count == 1);
    }
  }

  void require_outside() const {
    BOOST_TEST(runtime::status(native) == cudaStreamCaptureStatusNone);
    BOOST_TEST(runtime::status(side_native) == cudaStreamCaptureStatusNone);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_wrap_captures, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(programs_on_wrapped_streams_are_captured_in_every_way) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      const rf::Graph graph = record(scope, *p.stream, [&] { p.program(); });
      p.require_outside();
      BOOST_TEST(holds(p.x, 0));
      const rf::GraphExec exec = graph.instantiate();
      double expected = 0;
      for (const rf::Stream& target : {*p.stream, *p.side, rf::default_stream(), rf::Stream()}) {
        exec.replay(target);
        expected = (expected + 1) * 3;
        BOOST_TEST(holds(p.x, expected));
      }
      p.program();
      BOOST_TEST(holds(p.x, (expected + 1) * 3));
      p.require_usable();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_graph_outlives_the_native_streams_that_it_was_captured_on) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      const rf::Graph graph = record(scope, *p.stream, [&] { p.program(); });
      p.stream.reset();
      p.side.reset();
      BOOST_TEST(p.native.reset() == cudaSuccess);
      BOOST_TEST(p.side_native.reset() == cudaSuccess);
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(holds(p.x, 12));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_may_be_wrapped_in_the_body_of_a_capture) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      p.side.reset();
      const rf::Graph graph = record(scope, *p.stream, [&] {
        p.side = rf::Stream::wrap(p.side_native);
        p.program();
      });
      p.require_outside();
      graph.instantiate().replay();
      BOOST_TEST(holds(p.x, 3));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_last_handle_of_a_joined_member_dies_in_the_capture) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      const rf::Graph graph = record(scope, *p.stream, [&] {
        p.program();
        p.side.reset();
        const rf::Stream another;  // looks for streams that are over
        p.x += 1;
      });
      p.require_outside();
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(holds(p.x, ((0 + 1) * 3 + 1 + 1) * 3 + 1));
      p.add_one(p.side_native);
      BOOST_TEST(p.side_native.reset() == cudaSuccess);
      rf::synchronize();
      BOOST_TEST(*p.count == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_origins_last_handle_dies_and_the_capture_is_discarded) {
  for (const bool live : rf::test::live_modes) {
    Pair p;
    rf::Capture capture(*p.stream, {.live = live});
    {
      const rf::StreamGuard on(*p.stream);
      p.program();
    }
    p.stream.reset();
    BOOST_TEST(!capture.is_open());
    p.require_outside();
    require_error(rf::Errc::illegal_state, [&] { capture.end(); });
    p.add_one(p.native);
    BOOST_TEST(p.native.reset() == cudaSuccess);
    rf::synchronize();
    BOOST_TEST(*p.count == 1);
    BOOST_TEST(holds(p.x, 0));
  }
}

BOOST_AUTO_TEST_CASE(a_capture_that_an_exception_leaves_gives_the_native_streams_back) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      const auto leave = [&] {
        record(scope, *p.stream, [&] {
          p.program();
          throw std::runtime_error("out");
        });
      };
      BOOST_CHECK_THROW(leave(), std::runtime_error);
      p.require_outside();
      p.require_usable();
      {
        const rf::StreamGuard on(*p.stream);
        p.program();
      }
      BOOST_TEST(holds(p.x, 3));
    }
  }
}

BOOST_AUTO_TEST_CASE(questions_to_a_wrapped_member_are_refused_and_leave_the_capture_intact) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      const rf::Graph graph = record(scope, *p.stream, [&] {
        p.program();
        for (const rf::Stream& member : {*p.stream, *p.side}) {
          BOOST_TEST(member.is_capturing());
          require_error(rf::Errc::capture_unsupported, [&] { member.query(); });
          require_error(rf::Errc::capture_unsupported, [&] { member.synchronize(); });
          if (!scope.live) require_error(rf::Errc::capture_unsupported, [&] { member.native(); });
        }
        p.x += 1;
      });
      graph.instantiate().replay();
      BOOST_TEST(holds(p.x, 4));
    }
  }
}

// Native work in live captures

BOOST_AUTO_TEST_CASE(native_work_in_a_live_capture_is_done_by_each_replay) {
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      float* const address = foreign::address_of(p.x);
      const rf::Graph graph = record(scope, *p.stream, [&] {
        p.x *= 2;
        const cudaStream_t lane = p.stream->native();
        BOOST_TEST((lane == p.native) == scope.by_stream);
        BOOST_TEST(runtime::status(lane) == cudaStreamCaptureStatusActive);
        foreign::add(lane, address);
        p.x *= 3;
      });
      p.require_outside();
      const NativeGraph native = read_graph(graph.native());
      BOOST_TEST(native.types.size() == 3U);
      BOOST_TEST((native.edges == std::set<std::pair<int, int>>{{0, 1}, {1, 2}}));
      const rf::GraphExec exec = graph.instantiate();
      exec.replay(*p.stream);  // 3
      exec.replay(*p.stream);  // 21
      BOOST_TEST(foreign::read_after(p.native, address) == 21);
    }
  }
}

BOOST_AUTO_TEST_CASE(native_work_on_the_raw_handles_of_a_stream_scoped_live_capture_is_done_by_each_replay) {
  Pair p;
  float* const address = foreign::address_of(p.x);
  const rf::Graph graph = record({true, true}, *p.stream, [&] {
    p.side->wait_stream(*p.stream);
    foreign::add(p.side_native, address);  // nobody asked for the native stream
    p.stream->wait_stream(*p.side);
    p.x *= 3;
  });
  BOOST_TEST((read_graph(graph.native()).edges == std::set<std::pair<int, int>>{{0, 1}}));
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  exec.replay();
  rf::synchronize();
  BOOST_TEST(foreign::read_after(p.native, address) == 12);
}

BOOST_AUTO_TEST_CASE(native_work_of_a_live_graph_is_not_lost_in_another_capture) {
  for (const Scope scope : live_scopes) {
    for (const Scope outer_scope : scopes) {
      BOOST_TEST_CONTEXT(scope << " in " << outer_scope) {
        Pair p;
        float* const address = foreign::address_of(p.x);
        const rf::GraphExec inner = record(scope, *p.stream, [&] {
                                      p.x *= 2;
                                      foreign::add(p.stream->native(), address);
                                    }).instantiate();
        rf::Graph outer;
        bool is_refused = false;
        try {
          outer = record(outer_scope, *p.stream, [&] { inner.replay(*p.stream); });
        } catch (const rf::Error& error) {
          BOOST_TEST((error.code() == rf::Errc::not_supported), error.what());
          is_refused = true;
        }
        if (is_refused) continue;
        outer.instantiate().replay();
        rf::synchronize();
        BOOST_TEST(foreign::read_after(p.native, address) == 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_handle_of_a_stream_that_other_code_captures_leaves_that_capture_intact) {
  foreign::Case c;
  for (const cudaStreamCaptureMode mode : runtime::any_mode) {
    const foreign::Stream native;
    runtime::begin(native, mode);
    {
      const rf::Stream stream = rf::Stream::wrap(native);
      BOOST_TEST((stream.native() == native));
    }
    { const rf::Stream another; }  // looks for streams that are over
    c.add_one(native);
    const runtime::Graph graph = runtime::end(native);
    BOOST_TEST(runtime::node_count(graph) == 1);
    BOOST_TEST(rf::Stream::wrap(native).query());
  }
}

// The legacy stream

BOOST_AUTO_TEST_CASE(the_legacy_stream_is_no_origin_of_a_capture) {
  const rf::Stream legacy = rf::Stream::wrap(nullptr);
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      require_error(rf::Errc::capture_unsupported, [&] { record(scope, legacy, [] {}); }, {"legacy"});
      BOOST_TEST(!legacy.is_capturing());
      const rf::StreamGuard on(legacy);
      BOOST_TEST(holds(rf::test::filled(1) + 1, 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_legacy_stream_cannot_join_a_capture_and_leaves_it_intact) {
  const rf::Stream legacy = rf::Stream::wrap(nullptr);
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Pair p;
      const rf::Graph graph = record(scope, *p.stream, [&] {
        p.program();
        require_error(rf::Errc::capture_unsupported, [&] { legacy.wait_stream(*p.stream); }, {"legacy"});
        const rf::Event event = p.stream->record_event();
        require_error(rf::Errc::capture_unsupported, [&] { legacy.wait_event(event); }, {"legacy"});
        if (!scope.by_stream) {
          require_error(rf::Errc::capture_unsupported, [&] { rf::bench::empty(legacy); }, {"legacy"});
          const rf::StreamGuard on(legacy);
          require_error(rf::Errc::capture_unsupported, [&] { p.x += 1; }, {"legacy"});
        }
        p.x += 1;
      });
      graph.instantiate().replay();
      BOOST_TEST(holds(p.x, 4));
      legacy.synchronize();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_thread_scoped_capture_waits_once_for_work_on_the_legacy_stream) {
  Pair p;
  const rf::Stream legacy = rf::Stream::wrap(nullptr);
  float* const address = foreign::address_of(p.x);
  foreign::keep_busy(nullptr, 50);
  foreign::add(nullptr, address);
  const rf::StreamGuard on(*p.stream);
  const rf::Graph graph = rf::capture([&] {
    p.stream->wait_stream(legacy);
    p.x *= 3;
  });
  BOOST_TEST(rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::outside_wait).size() == 1U);
  const rf::GraphExec exec = graph.instantiate();
  exec.replay(*p.stream);
  BOOST_TEST(foreign::read_after(p.native, address) == 3);
  exec.replay(*p.stream);
  BOOST_TEST(foreign::read_after(p.native, address) == 9);
}

BOOST_AUTO_TEST_SUITE_END()
