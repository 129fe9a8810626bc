// Live captures that foreign code breaks.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_runtime.hpp"
#include "support_scopes.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

namespace rf = refrain;

BOOST_AUTO_TEST_SUITE(cuda_live)

BOOST_AUTO_TEST_CASE(a_capture_that_foreign_code_invalidates_is_gone_and_its_streams_are_usable) {
  for (const rf::test::Scope scope : {rf::test::Scope{false, true}, rf::test::Scope{true, true}}) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      rf::Array x = rf::zeros({4});
      const rf::StreamGuard on(origin);
      rf::test::require_error(rf::Errc::capture_invalidated, [&] {
        rf::test::record(scope, origin, [&] {
          x += 1;
          BOOST_TEST(cudaStreamSynchronize(origin.native()) == cudaErrorStreamCaptureUnsupported);
          x += 1;
        });
      });
      BOOST_TEST(!origin.is_capturing());
      x += 5;
      BOOST_TEST(rf::test::holds(x, 5));
      const rf::Graph graph = rf::test::record(scope, origin, [&] { x += 1; });
      graph.instantiate().replay();
      BOOST_TEST(rf::test::holds(x, 6));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_capture_that_is_found_invalidated_at_its_end_is_gone) {
  for (const rf::test::Scope scope : {rf::test::Scope{false, true}, rf::test::Scope{true, true}}) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      rf::Array x = rf::zeros({4});
      rf::test::require_error(rf::Errc::capture_invalidated, [&] {
        rf::test::record(scope, origin, [&] {
          x += 1;
          static_cast<void>(cudaStreamQuery(origin.native()));
        });
      });
      x += 5;
      BOOST_TEST(rf::test::holds(x, 5));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_scoped_capture_that_waits_for_a_wrapped_event_of_outside_is_over_as_cudas_is) {
  const runtime::Stream outside;
  const runtime::Event native;
  const rf::Event event = rf::Event::wrap(native);
  CUDA_REQUIRE(cudaEventRecord(native, outside));
  const rf::Stream origin;
  rf::Capture capture(origin, {.live = true});
  rf::bench::empty(origin);
  // CUDA alone knows whether other code recorded it in this capture.
  rf::test::require_error(rf::Errc::capture_isolation, [&] { origin.wait_event(event); });
  rf::test::require_error(rf::Errc::capture_invalidated, [&] { capture.end(); });
  BOOST_TEST(runtime::status(origin.native()) == cudaStreamCaptureStatusNone);
  origin.wait_event(event);
  const rf::StreamGuard on(origin);
  BOOST_TEST(rf::test::holds(rf::test::filled(1) + 1, 2));
}

BOOST_AUTO_TEST_CASE(a_replay_that_a_live_capture_refuses_leaves_it_intact) {
  const rf::Device host{rf::DeviceKind::host, 0};
  const rf::GraphExec elsewhere = [&] {
    const rf::DeviceGuard on(host);
    return rf::capture([] { return rf::ones({4}) + 1; }).first.instantiate();
  }();
  rf::Array x = rf::zeros({4});
  const rf::Graph graph = rf::capture(
      [&] {
        x += 1;
        rf::test::require_error(rf::Errc::wrong_device, [&] { elsewhere.replay(rf::default_stream(host)); });
        x += 1;
      },
      {.live = true});
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_SUITE_END()
