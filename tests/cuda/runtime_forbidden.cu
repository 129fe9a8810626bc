// What CUDA answers to calls that have no place in a capture.

#include "support.hpp"
#include "support_runtime.hpp"

#include <functional>

using namespace runtime;
using refrain::test::on_another_thread;

namespace {

using Call = std::function<cudaError_t()>;

struct ForbiddenCase : Case {
  /// The call gives 900 and invalidates where the mode guards against it, and works in relaxed mode.
  void require_guarded(const Call& call) {
    for (const auto mode : guarding_modes) {
      BOOST_TEST_CONTEXT("mode " << mode) {
        begin(origin, mode);
        BOOST_TEST(call() == cudaErrorStreamCaptureUnsupported);
        BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
      }
    }
    begin(origin, cudaStreamCaptureModeRelaxed);
    BOOST_TEST(call() == cudaSuccess);
    BOOST_TEST(node_count(end(origin)) == 0);
  }

  /// The call gives this answer and invalidates in every mode.
  void require_invalidating(cudaError_t answer, const Call& call) {
    for (const auto mode : any_mode) {
      BOOST_TEST_CONTEXT("mode " << mode) {
        begin(origin, mode);
        BOOST_TEST(call() == answer);
        BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
      }
    }
  }

  /// Another thread's call gives 900 and invalidates a capture in global mode.
  void require_guarded_globally(const Call& call) {
    begin(origin, cudaStreamCaptureModeGlobal);
    BOOST_TEST(on_another_thread(call) == cudaErrorStreamCaptureUnsupported);
    BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
  }
};

__global__ void loaded_before() {}
__global__ void loaded_in_the_capture() {}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_runtime_forbidden, ForbiddenCase)

// Waiting and asking

BOOST_AUTO_TEST_CASE(synchronizing_or_querying_a_capturing_stream_gives_900_and_invalidates) {
  require_invalidating(cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(origin); });
  require_invalidating(cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamQuery(origin); });
}

BOOST_AUTO_TEST_CASE(synchronizing_the_device_gives_900_and_invalidates) {
  require_invalidating(cudaErrorStreamCaptureUnsupported, [] { return cudaDeviceSynchronize(); });
}

// Once, while this thread calls nothing: a device synchronised while a capture ends has crashed the driver.
BOOST_AUTO_TEST_CASE(synchronizing_the_device_in_another_thread_gives_900_and_invalidates) {
  require_invalidating(cudaErrorStreamCaptureUnsupported, [] { return on_another_thread(cudaDeviceSynchronize); });
}

BOOST_AUTO_TEST_CASE(querying_or_synchronizing_a_captured_event_gives_907_and_invalidates) {
  for (const auto call : {cudaEventQuery, cudaEventSynchronize}) {
    require_invalidating(cudaErrorCapturedEvent, [&] {
      CUDA_REQUIRE(cudaEventRecord(event, origin));
      return call(event);
    });
  }
}

BOOST_AUTO_TEST_CASE(time_between_captured_events_gives_907_and_the_capture_survives) {
  const Event before(cudaEventDefault);
  const Event after(cudaEventDefault);
  begin(origin);
  CUDA_REQUIRE(cudaEventRecord(before, origin));
  launch(origin);
  CUDA_REQUIRE(cudaEventRecord(after, origin));
  float elapsed = 0;
  BOOST_TEST(cudaEventElapsedTime(&elapsed, before, after) == cudaErrorCapturedEvent);
  BOOST_TEST(node_count(end(origin)) == 1);
}

BOOST_AUTO_TEST_CASE(querying_or_synchronizing_a_live_event_gives_900_unless_relaxed) {
  CUDA_REQUIRE(cudaEventRecord(event, outside));
  CUDA_REQUIRE(cudaEventSynchronize(event));
  require_guarded([&] { return cudaEventQuery(event); });
  require_guarded([&] { return cudaEventSynchronize(event); });
}

BOOST_AUTO_TEST_CASE(querying_or_synchronizing_an_unrelated_stream_gives_900_unless_relaxed) {
  require_guarded([&] { return cudaStreamQuery(outside); });
  require_guarded([&] { return cudaStreamSynchronize(outside); });
}

BOOST_AUTO_TEST_CASE(reading_values_back_gives_900_and_invalidates) {
  const DeviceInt number;
  require_invalidating(cudaErrorStreamCaptureUnsupported, [&] {
    CUDA_REQUIRE(cudaMemcpyAsync(count, number, sizeof(int), cudaMemcpyDeviceToHost, origin));
    return cudaStreamSynchronize(origin);
  });
}

// Resources

BOOST_AUTO_TEST_CASE(allocating_and_freeing_gives_900_unless_relaxed) {
  int* device = nullptr;
  int* host = nullptr;
  require_guarded([&] { return cudaMalloc(&device, sizeof(int)); });
  require_guarded([&] { return cudaFree(device); });
  require_guarded([&] { return cudaMallocHost(&host, sizeof(int)); });
  require_guarded([&] { return cudaFreeHost(host); });
}

BOOST_AUTO_TEST_CASE(instantiating_and_destroying_an_executable_gives_900_unless_relaxed) {
  begin(outside);
  launch(outside);
  const Graph graph = end(outside);
  Exec exec;
  require_guarded([&] { return cudaGraphInstantiate(exec.out(), graph, 0); });
  require_guarded([&] { return exec.reset(); });
}

BOOST_AUTO_TEST_CASE(making_streams_and_events_and_reading_attributes_is_fine) {
  const DeviceInt number;
  load(loaded_before);
  for (const auto mode : any_mode) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      Owned<cudaStream_t, cudaStreamDestroy> stream;
      Owned<cudaEvent_t, cudaEventDestroy> made;
      std::size_t free = 0;
      std::size_t total = 0;
      cudaPointerAttributes of_the_pointer{};
      cudaFuncAttributes of_the_kernel{};
      int answer = 0;
      begin(origin, mode);
      BOOST_TEST(cudaStreamCreateWithFlags(stream.out(), cudaStreamNonBlocking) == cudaSuccess);
      BOOST_TEST(stream.reset() == cudaSuccess);
      BOOST_TEST(cudaEventCreateWithFlags(made.out(), cudaEventDisableTiming) == cudaSuccess);
      BOOST_TEST(made.reset() == cudaSuccess);
      BOOST_TEST(cudaMemGetInfo(&free, &total) == cudaSuccess);
      BOOST_TEST(cudaPointerGetAttributes(&of_the_pointer, number) == cudaSuccess);
      BOOST_TEST(cudaDeviceGetAttribute(&answer, cudaDevAttrWarpSize, 0) == cudaSuccess);
      BOOST_TEST(cudaFuncGetAttributes(&of_the_kernel, loaded_before) == cudaSuccess);
      BOOST_TEST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&answer, loaded_before, 32, 0) == cudaSuccess);
      BOOST_TEST(node_count(end(origin)) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_kernel_may_be_launched_first_in_a_capture) {
  load(loaded_before);
  begin(origin);
  BOOST_TEST(cudaLaunchKernel(loaded_in_the_capture, 1, 1, nullptr, 0, origin) == cudaSuccess);
  BOOST_TEST(node_count(end(origin)) == 1);
}

BOOST_AUTO_TEST_CASE(freeing_memory_of_outside_in_stream_order_gives_1_and_the_capture_survives) {
  void* memory = nullptr;
  CUDA_REQUIRE(cudaMallocAsync(&memory, sizeof(int), outside));
  CUDA_REQUIRE(cudaStreamSynchronize(outside));
  begin(origin);
  BOOST_TEST(cudaFreeAsync(memory, origin) == cudaErrorInvalidValue);
  launch(origin);
  BOOST_TEST(node_count(end(origin)) == 1);
  CUDA_REQUIRE(cudaFreeAsync(memory, outside));
}

// The legacy stream

BOOST_AUTO_TEST_CASE(a_synchronous_copy_runs_at_once_and_is_not_captured) {
  const DeviceInt number;
  const int written = 5;
  int read = 0;
  begin(origin);
  BOOST_TEST(cudaMemcpy(number, &written, sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess);
  BOOST_TEST(cudaMemcpy(&read, number, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess);
  BOOST_TEST(read == written);
  BOOST_TEST(node_count(end(origin)) == 0);
}

BOOST_AUTO_TEST_CASE(a_synchronous_copy_while_a_blocking_stream_captures_gives_906_and_invalidates) {
  const DeviceInt number;
  const Stream blocking(cudaStreamDefault);
  const int written = 5;
  begin(blocking);
  BOOST_TEST(cudaMemcpy(number, &written, sizeof(int), cudaMemcpyHostToDevice) == cudaErrorStreamCaptureImplicit);
  BOOST_TEST(failed_end(blocking) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(a_launch_on_the_legacy_stream_runs_at_once_and_is_not_captured) {
  begin(origin);
  BOOST_TEST(try_add_one(count, cudaStreamLegacy) == cudaSuccess);
  BOOST_TEST(node_count(end(origin)) == 0);
  CUDA_REQUIRE(cudaDeviceSynchronize());
  BOOST_TEST(*count == 1);
}

BOOST_AUTO_TEST_CASE(a_launch_on_the_legacy_stream_while_a_blocking_stream_captures_gives_906_and_invalidates) {
  const Stream blocking(cudaStreamDefault);
  begin(blocking);
  BOOST_TEST(try_launch(cudaStreamLegacy) == cudaErrorStreamCaptureImplicit);
  BOOST_TEST(failed_end(blocking) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(asking_whether_the_legacy_stream_captures_gives_906_and_a_blocking_capture_survives) {
  const Stream blocking(cudaStreamDefault);
  cudaStreamCaptureStatus answer = cudaStreamCaptureStatusNone;
  begin(blocking);
  BOOST_TEST(cudaStreamIsCapturing(cudaStreamLegacy, &answer) == cudaErrorStreamCaptureImplicit);
  launch(blocking);
  BOOST_TEST(node_count(end(blocking)) == 1);
}

// What cannot be captured

BOOST_AUTO_TEST_CASE(a_stream_callback_gives_900_and_invalidates) {
  begin(origin);
  const auto callback = [](cudaStream_t, cudaError_t, void*) {};
  BOOST_TEST(cudaStreamAddCallback(origin, callback, nullptr, 0) == cudaErrorStreamCaptureUnsupported);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(launching_a_graph_into_a_capturing_stream_gives_900_and_invalidates) {
  begin(origin);
  launch(origin);
  const Exec exec = instantiate(end(origin));
  begin(origin);
  BOOST_TEST(cudaGraphLaunch(exec, origin) == cudaErrorStreamCaptureUnsupported);
  BOOST_TEST(failed_end(origin) == cudaErrorStreamCaptureInvalidated);
}

// Other threads

BOOST_AUTO_TEST_CASE(calls_of_other_threads_give_900_and_invalidate_in_global_mode) {
  CUDA_REQUIRE(cudaEventRecord(event, outside));
  CUDA_REQUIRE(cudaEventSynchronize(event));
  int* memory = nullptr;
  require_guarded_globally([&] { return cudaMalloc(&memory, sizeof(int)); });
  require_guarded_globally([&] { return cudaEventQuery(event); });
  require_guarded_globally([&] { return cudaStreamSynchronize(outside); });
}

BOOST_AUTO_TEST_CASE(a_launch_of_another_thread_is_fine_even_in_global_mode) {
  begin(origin, cudaStreamCaptureModeGlobal);
  BOOST_TEST(on_another_thread([&] { return try_launch(outside); }) == cudaSuccess);
  BOOST_TEST(node_count(end(origin)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
