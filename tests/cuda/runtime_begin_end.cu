// What CUDA answers when captures begin and end, and which streams are members.

#include "support.hpp"
#include "support_runtime.hpp"

#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <utility>

using namespace runtime;
using refrain::test::on_another_thread;

BOOST_FIXTURE_TEST_SUITE(cuda_runtime_begin_end, Case)

BOOST_AUTO_TEST_CASE(driver_and_toolkit_are_named) {
  int driver = 0;
  int runtime = 0;
  CUDA_REQUIRE(cudaDriverGetVersion(&driver));
  CUDA_REQUIRE(cudaRuntimeGetVersion(&runtime));
  std::string module;
  std::getline(std::ifstream("/proc/driver/nvidia/version"), module);
  const std::string text = "CUDA driver " + std::to_string(driver) + ", runtime " + std::to_string(runtime) +
                           ", toolkit " + std::to_string(CUDART_VERSION) + "; " + module;
  BOOST_TEST_MESSAGE(text);
  std::cout << text << '\n';
}

// Begin

BOOST_AUTO_TEST_CASE(beginning_on_the_legacy_stream_gives_900) {
  for (const auto mode : any_mode) {
    BOOST_TEST(cudaStreamBeginCapture(cudaStreamLegacy, mode) == cudaErrorStreamCaptureUnsupported);
  }
}

BOOST_AUTO_TEST_CASE(beginning_on_the_per_thread_stream_is_allowed) {
  begin(cudaStreamPerThread);
  launch(cudaStreamPerThread);
  BOOST_TEST(node_count(end(cudaStreamPerThread)) == 1);
}

BOOST_AUTO_TEST_CASE(beginning_twice_gives_401_and_the_capture_survives) {
  begin(origin);
  BOOST_TEST(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal) == cudaErrorIllegalState);
  launch(origin);
  BOOST_TEST(node_count(end(origin)) == 1);
}

BOOST_AUTO_TEST_CASE(beginning_on_an_invalidated_stream_gives_401) {
  begin(origin);
  BOOST_TEST(cudaStreamSynchronize(origin) == cudaErrorStreamCaptureUnsupported);
  BOOST_TEST(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal) == cudaErrorIllegalState);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

// Membership

BOOST_AUTO_TEST_CASE(a_stream_joins_by_waiting_for_a_captured_event) {
  begin(origin);
  order(origin, member);
  BOOST_TEST(status(member) == cudaStreamCaptureStatusActive);
  launch(member);
  order(member, origin);
  BOOST_TEST(node_count(end(origin)) == 1);
}

BOOST_AUTO_TEST_CASE(a_stream_joins_by_a_wait_in_another_thread) {
  begin(origin);
  CUDA_REQUIRE(cudaEventRecord(event, origin));
  BOOST_TEST(on_another_thread([&] { return cudaStreamWaitEvent(member, event); }) == cudaSuccess);
  BOOST_TEST(status(member) == cudaStreamCaptureStatusActive);
  launch(member);
  order(member, origin);
  BOOST_TEST(node_count(end(origin)) == 1);
}

BOOST_AUTO_TEST_CASE(what_another_thread_issues_to_a_member_is_captured) {
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      begin(origin, mode);
      order(origin, member);
      BOOST_TEST(on_another_thread([&] { return try_launch(member); }) == cudaSuccess);
      order(member, origin);
      BOOST_TEST(node_count(end(origin)) == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fork_that_is_joined_by_an_event_is_an_edge) {
  begin(origin);
  launch(origin);
  order(origin, member);
  launch(member);
  order(member, origin);
  launch(origin);
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 3);
  BOOST_TEST((read_graph(graph).edges == std::set<std::pair<int, int>>{{0, 1}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(waiting_across_two_captures_gives_902_and_invalidates_both) {
  begin(origin);
  begin(outside);
  CUDA_REQUIRE(cudaEventRecord(event, origin));
  BOOST_TEST(cudaStreamWaitEvent(outside, event) == cudaErrorStreamCaptureMerge);
  BOOST_TEST(failed_end(outside) == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(an_invalidated_capture_answers_901_to_every_use) {
  begin(origin);
  order(origin, member);
  BOOST_TEST(cudaStreamSynchronize(origin) == cudaErrorStreamCaptureUnsupported);
  BOOST_TEST(try_launch(origin) == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(try_launch(member) == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(cudaEventRecord(event, origin) == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

// End

BOOST_AUTO_TEST_CASE(ending_on_a_stream_that_is_not_capturing_gives_401) {
  BOOST_TEST(failed_end(origin) == cudaErrorIllegalState);
}

BOOST_AUTO_TEST_CASE(ending_on_a_member_gives_903_and_invalidates) {
  begin(origin);
  order(origin, member);
  BOOST_TEST(failed_end(member) == cudaErrorStreamCaptureUnmatched);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(ending_in_another_thread_gives_908_and_the_capture_is_gone) {
  for (const auto mode : guarding_modes) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      begin(origin, mode);
      BOOST_TEST(on_another_thread([&] { return failed_end(origin); }) == cudaErrorStreamCaptureWrongThread);
      BOOST_TEST(status(origin) == cudaStreamCaptureStatusNone);
      BOOST_TEST(failed_end(origin) == cudaErrorIllegalState);
    }
  }
}

BOOST_AUTO_TEST_CASE(ending_in_another_thread_is_allowed_in_relaxed_mode) {
  begin(origin, cudaStreamCaptureModeRelaxed);
  launch(origin);
  BOOST_TEST(on_another_thread([&] { return node_count(end(origin)); }) == 1);
}

BOOST_AUTO_TEST_CASE(a_graph_of_nothing_instantiates_and_launches) {
  begin(origin);
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 0);
  const Exec exec = instantiate(graph);
  BOOST_TEST(cudaGraphLaunch(exec, origin) == cudaSuccess);
  BOOST_TEST(cudaStreamSynchronize(origin) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(a_fork_with_nodes_that_is_never_joined_gives_904_and_all_members_leave) {
  begin(origin);
  order(origin, member);
  launch(member);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureUnjoined);
  BOOST_TEST(status(origin) == cudaStreamCaptureStatusNone);
  BOOST_TEST(status(member) == cudaStreamCaptureStatusNone);
}

BOOST_AUTO_TEST_CASE(a_fork_without_nodes_needs_no_join) {
  begin(origin);
  launch(origin);
  order(origin, member);
  BOOST_TEST(node_count(end(origin)) == 1);
  BOOST_TEST(status(member) == cudaStreamCaptureStatusNone);
}

BOOST_AUTO_TEST_CASE(work_after_the_record_that_joins_gives_904) {
  begin(origin);
  order(origin, member);
  launch(member);
  order(member, origin);
  launch(member);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureUnjoined);
}

// Streams that go

BOOST_AUTO_TEST_CASE(an_origin_may_be_destroyed_and_the_device_stays_usable) {
  begin(origin);
  launch(origin);
  BOOST_TEST(origin.reset() == cudaSuccess);
  launch(outside);
  BOOST_TEST(cudaStreamSynchronize(outside) == cudaSuccess);
  BOOST_TEST(cudaDeviceSynchronize() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(a_joined_member_may_be_destroyed_and_its_nodes_stay) {
  begin(origin);
  order(origin, member);
  launch(member);
  order(member, origin);
  BOOST_TEST(member.reset() == cudaSuccess);
  BOOST_TEST(node_count(end(origin)) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
