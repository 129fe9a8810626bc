// Every error text, each provoked once, is the line of tests/data/errors.txt that bears the case's name.
// REFRAIN_UPDATE_ERRORS=1 writes the lines of the cases that run.

#include "support.hpp"
#include "support_errors.hpp"

#include <cstdint>
#include <future>
#include <memory>

namespace refrain::test {

namespace {

constexpr Device a_host_device{DeviceKind::host, 0};

std::optional<std::pair<Device, Device>> two_gpus() { return a_gpu() ? two_devices() : std::nullopt; }

/// A stream that does not go on before the end of the scope.
class HeldStream {
 public:
  HeldStream() {
    stream_.launch_host_func([opened = gate_.get_future().share()] { opened.wait(); });
  }
  ~HeldStream() { gate_.set_value(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  const Stream& operator*() const noexcept { return stream_; }

 private:
  std::promise<void> gate_;
  Stream stream_;
};

template <class Fn>
auto on(const Stream& stream, Fn fn) {
  const StreamGuard guard(stream);
  return fn();
}

Event recorded_on(const Stream& stream, EventFlags flags = {}) {
  Event event(flags);
  event.record(stream);
  return event;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(error_texts)

// Devices and memory

BOOST_AUTO_TEST_CASE(a_name_of_no_device) {
  check_error_text([] { Device::parse("gpu"); });
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there) {
  check_error_text([] { zeros({1}, {.device = Device{current_device().kind, 63}}); });
}

BOOST_AUTO_TEST_CASE(a_device_is_waited_for_in_a_capture) {
  capture([] { check_error_text([] { synchronize(); }); });
}

BOOST_AUTO_TEST_CASE(trim_to_a_negative_size) {
  check_error_text([] { trim(current_device(), -1); });
}

BOOST_AUTO_TEST_CASE(a_negative_memory_limit) {
  check_error_text([] { set_memory_limit(current_device(), -1); });
}

BOOST_AUTO_TEST_CASE(an_allocation_over_the_limit) {
  const struct NoLimit {
    ~NoLimit() { set_memory_limit(current_device(), 0); }
  } afterwards;
  const Array kept = ones({4});
  set_memory_limit(current_device(), memory_stats(current_device()).live + 1000);
  check_error_text([] { empty({1000}); });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the program at such a size
BOOST_AUTO_TEST_CASE(an_allocation_that_the_system_refuses) {
  check_error_text([] { empty({std::int64_t{1} << 57}, {.device = a_host_device}); });
}
#endif

BOOST_AUTO_TEST_CASE(a_memory_pool_for_a_host_device) {
  check_error_text([] { set_memory_pool(a_host_device, nullptr); });
}

// Streams

BOOST_AUTO_TEST_CASE(a_stream_that_was_moved_from) {
  Stream stream;
  const Stream moved = std::move(stream);
  check_error_text([&] { stream.id(); });  // NOLINT(bugprone-use-after-move)
}

BOOST_AUTO_TEST_CASE(a_function_that_is_empty) {
  check_error_text([] { current_stream().launch_host_func({}); });
}

BOOST_AUTO_TEST_CASE(a_device_is_reached_in_a_host_function) {
  const Stream stream;
  stream.launch_host_func([&] { stream.query(); });
  check_error_text([&] { stream.synchronize(); });
}

BOOST_AUTO_TEST_CASE(the_native_stream_of_a_host_device) {
  check_error_text([] { Stream(a_host_device).native(); });
}

BOOST_AUTO_TEST_CASE(a_missing_wait_where_hazards_are_errors) {
  const HazardsScope scope(Hazards::error);
  const Stream other;
  Array a = ones({4});
  check_error_text([&] { on(other, [&] { a += 1; }); });
}

// Events

BOOST_AUTO_TEST_CASE(an_event_that_was_moved_from) {
  Event event;
  const Event moved = std::move(event);
  check_error_text([&] { event.query(); });  // NOLINT(bugprone-use-after-move)
}

BOOST_AUTO_TEST_CASE(the_native_event_of_a_host_device) {
  const Event event = recorded_on(Stream(a_host_device));
  check_error_text([&] { event.native(); });
}

BOOST_AUTO_TEST_CASE(elapsed_time_without_timing) {
  const Event event;
  check_error_text([&] { event.elapsed_time(event); });
}

BOOST_AUTO_TEST_CASE(elapsed_time_without_a_record) {
  const Event event({.timing = true});
  check_error_text([&] { event.elapsed_time(event); });
}

BOOST_AUTO_TEST_CASE(elapsed_time_too_early) {
  const HeldStream held;
  const Event event = recorded_on(*held, {.timing = true});
  check_error_text([&] { event.elapsed_time(event); });
}

BOOST_AUTO_TEST_CASE(elapsed_time_between_devices) {
  const auto devices = two_devices();
  if (!devices) return;
  const Event first = recorded_on(Stream(devices->first), {.timing = true});
  const Event second = recorded_on(Stream(devices->second), {.timing = true});
  first.synchronize();
  second.synchronize();
  check_error_text([&] { first.elapsed_time(second); });
}

BOOST_AUTO_TEST_CASE(an_event_is_recorded_on_another_device) {
  const auto devices = two_devices();
  if (!devices) return;
  Event event = recorded_on(Stream(devices->first));
  check_error_text([&] { event.record(Stream(devices->second)); });
}

BOOST_AUTO_TEST_CASE(an_event_of_a_captured_wait_is_recorded_on_another_device) {
  const auto devices = two_gpus();
  if (!devices) return;
  Event event({.external = true});
  const Graph graph = capture([&] { event.wait(Stream(devices->first)); });
  check_error_text([&] { event.record(Stream(devices->second)); });
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_an_event_of_the_other_kind_of_device) {
  if (!a_gpu()) return;
  const Event event = recorded_on(Stream(a_host_device));
  check_error_text([&] { current_stream().wait_event(event); });
}

BOOST_AUTO_TEST_CASE(an_array_without_values_goes_to_the_other_kind_of_device) {
  const auto gpu = a_gpu();
  if (!gpu) return;
  Array made;
  {
    const DeviceGuard on(a_host_device);
    made = capture([] { return ones({3}); }).second;
  }
  check_error_text([&] { to_device(made, *gpu); });
}

BOOST_AUTO_TEST_CASE(a_capture_waits_for_an_event_of_the_other_kind_of_device) {
  if (!a_gpu()) return;
  const Event event = recorded_on(Stream(a_host_device));
  capture([&] { check_error_text([&] { current_stream().wait_event(event); }); });
}

BOOST_AUTO_TEST_CASE(an_event_last_recorded_in_a_capture) {
  Event event;
  const Graph graph = capture([&] { event.record(); });
  check_error_text([&] { event.query(); });
}

BOOST_AUTO_TEST_CASE(a_strict_capture_waits_for_an_event_never_recorded) {
  const Event event;
  capture(
      [&] {
        bench::empty(current_stream());
        check_error_text([&] { event.wait(current_stream()); });
      },
      {.strict = true});
}

BOOST_AUTO_TEST_CASE(a_stream_scope_waits_for_an_event_of_outside) {
  const Stream origin;
  const Event event = recorded_on(Stream());
  capture(origin, [&] { check_error_text([&] { event.wait(origin); }); });
}

BOOST_AUTO_TEST_CASE(a_capture_waits_for_an_event_of_another) {
  const Stream a;
  const Stream b;
  const Capture first(a);
  const Capture second(b);
  const Event event = a.record_event();
  check_error_text([&] { event.wait(b); });
}

BOOST_AUTO_TEST_CASE(a_thread_waits_for_an_event_of_anothers_thread_scope) {
  capture([] {
    const Event event = current_stream().record_event();
    on_another_thread([&] { check_error_text([&] { event.wait(Stream()); }); });
  });
}

// Captures

BOOST_AUTO_TEST_CASE(a_stream_scope_on_the_default_stream) {
  check_error_text([] { const Capture capture(default_stream()); });
}

BOOST_AUTO_TEST_CASE(a_capture_in_a_thread_that_captures) {
  capture([] { check_error_text([] { const Capture second; }); });
}

BOOST_AUTO_TEST_CASE(a_capture_on_a_stream_that_captures) {
  const Stream origin;
  const Capture first(origin);
  check_error_text([&] { const Capture second(origin); });
}

BOOST_AUTO_TEST_CASE(a_capture_held_back_that_guards_the_legacy_stream) {
  check_error_text([] { capture([] {}, {.guard_legacy_stream = true}); });
}

BOOST_AUTO_TEST_CASE(a_capture_is_ended_twice) {
  Capture capture;
  capture.end();
  check_error_text([&] { capture.end(); });
}

BOOST_AUTO_TEST_CASE(a_capture_is_ended_on_a_stream_outside) {
  const Stream origin;
  Capture capture(origin);
  check_error_text([&] { capture.end(Stream()); });
}

BOOST_AUTO_TEST_CASE(a_capture_is_ended_on_a_member_that_is_not_the_origin) {
  const Stream origin;
  const Stream member;
  Capture capture(origin);
  member.wait_stream(origin);
  check_error_text([&] { capture.end(member); });
}

BOOST_AUTO_TEST_CASE(a_capture_is_ended_with_a_fork_not_joined) {
  const Stream origin;
  const Stream fork;
  Capture capture(origin);
  fork.wait_stream(origin);
  bench::empty(fork);
  check_error_text([&] { capture.end(); });
}

BOOST_AUTO_TEST_CASE(a_thread_scope_is_ended_by_another_thread) {
  Capture capture;
  on_another_thread([&] { check_error_text([&] { capture.end(); }); });
}

BOOST_AUTO_TEST_CASE(a_strict_capture_of_nothing) {
  Capture capture({.strict = true});
  check_error_text([&] { capture.end(); });
}

BOOST_AUTO_TEST_CASE(a_stream_of_another_capture_is_used) {
  const Stream origin;
  const Capture first(origin);
  capture([&] { check_error_text([&] { bench::empty(origin); }); });
}

BOOST_AUTO_TEST_CASE(a_stream_of_the_other_kind_of_device_is_used_in_a_capture) {
  if (!a_gpu()) return;
  const Stream host(a_host_device);
  capture([&] { check_error_text([&] { bench::empty(host); }); });
}

BOOST_AUTO_TEST_CASE(a_call_that_no_capture_can_record) {
  capture([] { check_error_text([] { current_stream().synchronize(); }); });
}

BOOST_AUTO_TEST_CASE(the_native_stream_of_a_capture) {
  if (!a_gpu()) return;
  capture([] { check_error_text([] { current_stream().native(); }); });
}

BOOST_AUTO_TEST_CASE(another_seed_in_a_capture) {
  manual_seed(1);
  capture([] { check_error_text([] { manual_seed(2); }); });
}

BOOST_AUTO_TEST_CASE(a_missing_wait_in_a_strict_capture) {
  const Stream other;
  Array a = ones({4});
  capture(
      [&] {
        a += 1;
        check_error_text([&] { on(other, [&] { a += 1; }); });
      },
      {.strict = true});
}

BOOST_AUTO_TEST_CASE(an_array_of_a_discarded_capture_is_used_in_a_capture) {
  Array gone;
  {
    const Capture discarded;
    gone = ones({3});
  }
  capture([&] { check_error_text([&] { gone + 1; }); });
}

BOOST_AUTO_TEST_CASE(an_array_of_another_open_capture_is_used) {
  const Stream origin;
  const Capture first(origin);
  const Array theirs = on(origin, [] { return ones({3}); });
  capture([&] { check_error_text([&] { theirs + 1; }); });
}

// Graphs and executables

BOOST_AUTO_TEST_CASE(an_empty_graph) {
  check_error_text([] { Graph().instantiate(); });
}

BOOST_AUTO_TEST_CASE(an_empty_executable) {
  check_error_text([] { GraphExec().replay(); });
}

BOOST_AUTO_TEST_CASE(the_native_graph_of_a_host_device) {
  const Graph graph = capture(Stream(a_host_device), [] { ones({3}); });
  check_error_text([&] { graph.native(); });
}

BOOST_AUTO_TEST_CASE(the_native_graph_of_a_host_executable) {
  const Graph graph = capture(Stream(a_host_device), [] { ones({3}); });
  check_error_text([&] { graph.instantiate().native_graph(); });
}

BOOST_AUTO_TEST_CASE(the_native_executable_of_a_host_device) {
  const Graph graph = capture(Stream(a_host_device), [] { ones({3}); });
  check_error_text([&] { graph.instantiate().native(); });
}

BOOST_AUTO_TEST_CASE(the_native_graph_of_a_capture_that_was_held_back) {
  if (!a_gpu()) return;
  const Graph graph = capture([] { ones({3}); });
  check_error_text([&] { graph.native(); });
}

BOOST_AUTO_TEST_CASE(a_replay_on_the_other_kind_of_device) {
  if (!a_gpu()) return;
  const GraphExec exec = capture([] { ones({3}); }).instantiate();
  check_error_text([&] { exec.replay(Stream(a_host_device)); });
}

BOOST_AUTO_TEST_CASE(a_graph_with_work_on_another_gpu_is_replayed_in_a_capture) {
  const auto devices = two_gpus();
  if (!devices) return;
  const GraphExec exec = capture([&] { bench::empty(Stream(devices->second)); }).instantiate();
  capture([&] { check_error_text([&] { exec.replay(default_stream(devices->first)); }); });
}

BOOST_AUTO_TEST_CASE(a_graph_reads_an_array_of_one_never_replayed) {
  auto [first, made] = capture([] { return ones({3}); });
  const GraphExec exec = capture([&made = made] { return made + 1; }).first.instantiate();
  check_error_text([&] { exec.replay(); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
