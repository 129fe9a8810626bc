// What CUDA answers about events and waits in captures.

#include "support_runtime.hpp"

#include <chrono>
#include <vector>

using namespace runtime;

namespace {

/// Runs for at least that long.
__global__ void spin(int milliseconds) {
  const auto now = [] {
    long long nanoseconds = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
  };
  const long long until = now() + milliseconds * 1'000'000LL;
  while (now() < until) {
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_runtime_events, Case)

// Edges

BOOST_AUTO_TEST_CASE(a_captured_event_may_be_destroyed_and_its_edge_stays) {
  begin(origin);
  launch(origin);
  CUDA_REQUIRE(cudaEventRecord(event, origin));
  CUDA_REQUIRE(cudaStreamWaitEvent(member, event));
  BOOST_TEST(event.reset() == cudaSuccess);
  launch(member);
  order(member, origin);
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 2);
  BOOST_TEST(edge_count(graph) == 1);
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_of_the_same_stream_adds_nothing) {
  begin(origin);
  launch(origin);
  order(origin, origin);
  launch(origin);
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 2);
  BOOST_TEST(edge_count(graph) == 1);
}

BOOST_AUTO_TEST_CASE(edges_that_follow_from_others_are_kept) {
  begin(origin);
  launch(origin);
  order(origin, member);
  order(origin, outside);
  launch(origin);
  launch(member);
  order(origin, outside);
  order(member, outside);
  launch(outside);
  order(outside, origin);
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 4);
  BOOST_TEST(edge_count(graph) == 5);
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_never_recorded_is_no_edge) {
  begin(origin);
  BOOST_TEST(cudaStreamWaitEvent(origin, event) == cudaSuccess);
  launch(origin);
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 1);
  BOOST_TEST(edge_count(graph) == 0);
}

// Events of outside

BOOST_AUTO_TEST_CASE(a_wait_for_a_pending_event_of_outside_gives_905_and_invalidates) {
  hold(outside);
  CUDA_REQUIRE(cudaEventRecord(event, outside));
  begin(origin);
  BOOST_TEST(cudaStreamWaitEvent(origin, event) == cudaErrorStreamCaptureIsolation);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_complete_event_of_outside_gives_905_and_invalidates) {
  CUDA_REQUIRE(cudaEventRecord(event, outside));
  CUDA_REQUIRE(cudaEventSynchronize(event));
  begin(origin);
  BOOST_TEST(cudaStreamWaitEvent(origin, event) == cudaErrorStreamCaptureIsolation);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(an_external_wait_is_a_node) {
  CUDA_REQUIRE(cudaEventRecord(event, outside));
  begin(origin);
  launch(origin);
  BOOST_TEST(cudaStreamWaitEvent(origin, event, cudaEventWaitExternal) == cudaSuccess);
  launch(origin);
  const NativeGraph graph = read_graph(end(origin));
  BOOST_TEST(
      (graph.types == std::vector{cudaGraphNodeTypeKernel, cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeKernel}));
}

// Events that a replay records

BOOST_AUTO_TEST_CASE(an_external_record_is_a_node_and_every_replay_records) {
  begin(origin);
  hold(origin);
  add_one(origin);
  BOOST_TEST(cudaEventRecordWithFlags(event, origin, cudaEventRecordExternal) == cudaSuccess);
  const Graph graph = end(origin);
  BOOST_TEST((read_graph(graph).types ==
              std::vector{cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel, cudaGraphNodeTypeEventRecord}));
  const Exec exec = instantiate(graph);
  for (int replay = 1; replay <= 2; ++replay) {
    close_gate();
    CUDA_REQUIRE(cudaGraphLaunch(exec, origin));
    BOOST_TEST(cudaEventQuery(event) == cudaErrorNotReady);
    open_gate();
    BOOST_TEST(cudaEventSynchronize(event) == cudaSuccess);
    BOOST_TEST(*count == replay);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_after_the_launch_covers_the_replay_that_records) {
  begin(origin);
  hold(origin);
  add_one(origin);
  CUDA_REQUIRE(cudaEventRecordWithFlags(event, origin, cudaEventRecordExternal));
  const Exec exec = instantiate(end(origin));
  CUDA_REQUIRE(cudaGraphLaunch(exec, origin));
  CUDA_REQUIRE(cudaStreamWaitEvent(outside, event));
  launch(outside);
  BOOST_TEST(cudaStreamQuery(outside) == cudaErrorNotReady);
  open_gate();
  CUDA_REQUIRE(cudaStreamSynchronize(outside));
  BOOST_TEST(*count == 1);
}

BOOST_AUTO_TEST_CASE(time_between_external_records_is_that_of_the_replay) {
  const Event before(cudaEventDefault);
  const Event after(cudaEventDefault);
  load(spin);
  begin(origin);
  CUDA_REQUIRE(cudaEventRecordWithFlags(before, origin, cudaEventRecordExternal));
  spin<<<1, 1, 0, origin>>>(5);
  CUDA_REQUIRE(cudaEventRecordWithFlags(after, origin, cudaEventRecordExternal));
  const Exec exec = instantiate(end(origin));
  const auto start = std::chrono::steady_clock::now();
  CUDA_REQUIRE(cudaGraphLaunch(exec, origin));
  CUDA_REQUIRE(cudaEventSynchronize(after));
  const std::chrono::duration<float, std::milli> on_the_host = std::chrono::steady_clock::now() - start;
  float elapsed = 0;
  BOOST_TEST(cudaEventElapsedTime(&elapsed, before, after) == cudaSuccess);
  BOOST_TEST(elapsed > 4.9F);
  BOOST_TEST(elapsed < on_the_host.count() + 0.1F);
}

BOOST_AUTO_TEST_CASE(querying_an_external_record_of_an_open_capture_gives_900_and_invalidates) {
  begin(origin);
  CUDA_REQUIRE(cudaEventRecordWithFlags(event, origin, cudaEventRecordExternal));
  BOOST_TEST(cudaEventQuery(event) == cudaErrorStreamCaptureUnsupported);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(an_external_record_outside_a_capture_gives_401) {
  BOOST_TEST(cudaEventRecordWithFlags(event, outside, cudaEventRecordExternal) == cudaErrorIllegalState);
}

// Events of a finished capture

BOOST_AUTO_TEST_CASE(time_between_events_of_a_capture_gives_907_while_it_is_open_and_1_after_a_replay) {
  const Event before(cudaEventDefault);
  const Event after(cudaEventDefault);
  begin(origin);
  CUDA_REQUIRE(cudaEventRecord(before, origin));
  launch(origin);
  CUDA_REQUIRE(cudaEventRecord(after, origin));
  float elapsed = 0;
  BOOST_TEST(cudaEventElapsedTime(&elapsed, before, after) == cudaErrorCapturedEvent);
  const Exec exec = instantiate(end(origin));
  CUDA_REQUIRE(cudaGraphLaunch(exec, origin));
  CUDA_REQUIRE(cudaStreamSynchronize(origin));
  BOOST_TEST(cudaEventElapsedTime(&elapsed, before, after) == cudaErrorInvalidValue);
}

BOOST_AUTO_TEST_CASE(an_event_of_a_finished_capture_gives_1_to_every_use) {
  begin(origin);
  launch(origin);
  CUDA_REQUIRE(cudaEventRecord(event, origin));
  const Graph graph = end(origin);
  BOOST_TEST(cudaEventQuery(event) == cudaErrorInvalidValue);
  BOOST_TEST(cudaEventSynchronize(event) == cudaErrorInvalidValue);
  BOOST_TEST(cudaStreamWaitEvent(outside, event) == cudaErrorInvalidValue);
  begin(origin);
  BOOST_TEST(cudaStreamWaitEvent(origin, event) == cudaErrorInvalidValue);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_SUITE_END()
