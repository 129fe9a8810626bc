// The texts of errors of streams, events and memory of other code's; see error_texts.cpp. What needs a native stream or
// event takes one of Refrain's own.

#include "support.hpp"
#include "support_errors.hpp"
#include "support_memory.hpp"

#include <cstddef>
#include <cstdint>

namespace refrain::test {

namespace {

constexpr Device a_host_device{DeviceKind::host, 0};

std::optional<std::pair<Device, Device>> two_gpus() { return a_gpu() ? two_devices() : std::nullopt; }

/// An event of Refrain's, as other code would have made it.
struct Native {
  Event own;
  cudaEvent_t handle = nullptr;

  Native() {
    own.record();
    own.synchronize();
    handle = own.native();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(error_texts_wrapped)

// Streams

BOOST_AUTO_TEST_CASE(a_native_stream_for_a_host_device) {
  check_error_text([] { Stream::wrap(nullptr, a_host_device); });
}

BOOST_AUTO_TEST_CASE(a_native_stream_of_another_gpu) {
  const auto devices = two_gpus();
  if (!devices) return;
  const Stream near(devices->first);
  check_error_text([&] { Stream::wrap(near.native(), devices->second); });
}

BOOST_AUTO_TEST_CASE(the_native_stream_of_each_thread) {
  if (!a_gpu()) return;
  check_error_text([] { Stream::wrap(reinterpret_cast<cudaStream_t>(std::uintptr_t{2})); });  // cudaStreamPerThread
}

BOOST_AUTO_TEST_CASE(a_capture_on_the_legacy_stream) {
  if (!a_gpu()) return;
  check_error_text([] { const Capture capture(Stream::wrap(nullptr)); });
}

BOOST_AUTO_TEST_CASE(the_legacy_stream_is_used_in_a_capture) {
  if (!a_gpu()) return;
  const Stream legacy = Stream::wrap(nullptr);
  capture([&] { check_error_text([&] { bench::empty(legacy); }); });
}

// Events

BOOST_AUTO_TEST_CASE(a_null_event) {
  if (!a_gpu()) return;
  check_error_text([] { Event::wrap(nullptr); });
}

BOOST_AUTO_TEST_CASE(a_native_event_is_recorded_on_a_host_stream) {
  if (!a_gpu()) return;
  const Native native;
  Event event = Event::wrap(native.handle);
  check_error_text([&] { event.record(Stream(a_host_device)); });
}

BOOST_AUTO_TEST_CASE(a_host_stream_waits_for_a_native_event) {
  if (!a_gpu()) return;
  const Native native;
  const Event event = Event::wrap(native.handle);
  check_error_text([&] { event.wait(Stream(a_host_device)); });
}

BOOST_AUTO_TEST_CASE(a_capture_of_host_streams_waits_for_a_native_event) {
  if (!a_gpu()) return;
  const Native native;
  const Event event = Event::wrap(native.handle);
  const Stream host(a_host_device);
  capture(host, [&] { check_error_text([&] { event.wait(host); }); });
}

// Memory

BOOST_AUTO_TEST_CASE(memory_with_strides_of_other_axes) {
  const Memory memory(6);
  check_error_text([&] { from_blob(memory.at(), {2, 3}, {.strides = {3}}); });
}

BOOST_AUTO_TEST_CASE(memory_with_strides_that_reach_too_far) {
  const Memory memory(6);
  check_error_text([&] { from_blob(memory.at(), {2, 3}, {.strides = {std::int64_t{1} << 60, 1}}); });
}

BOOST_AUTO_TEST_CASE(memory_at_a_null_pointer) {
  check_error_text([] { from_blob(nullptr, {2, 3}, DType::float32); });
}

BOOST_AUTO_TEST_CASE(memory_off_its_alignment) {
  const Memory memory(4);
  void* const between = reinterpret_cast<std::byte*>(memory.at()) + 2;
  check_error_text([&] { from_blob(between, {2}, DType::float32); });
}

BOOST_AUTO_TEST_CASE(memory_of_the_host_that_is_not_page_locked) {
  if (!a_gpu()) return;
  std::vector<float> numbers(4);
  check_error_text([&] { from_blob(numbers.data(), {4}); });
}

BOOST_AUTO_TEST_CASE(memory_of_another_gpu) {
  const auto devices = two_gpus();
  if (!devices) return;
  const DeviceGuard near(devices->first);
  const Memory memory(4);
  check_error_text([&] { from_blob(memory.at(), {4}, {.device = devices->second}); });
}

BOOST_AUTO_TEST_CASE(memory_of_a_gpu_after_work_on_a_host_stream) {
  const auto gpu = a_gpu();
  if (!gpu) return;
  const Memory memory(4);
  const Stream host(a_host_device);
  check_error_text([&] { from_blob(memory.at(), {4}, {.device = *gpu, .stream = host}); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
