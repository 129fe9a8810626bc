#include <refrain/stream.hpp>

#include "runtime/environment.hpp"
#include "runtime/event_core.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"
#include "runtime/thread_state.hpp"

#include <refrain/error.hpp>

#include <array>
#include <mutex>
#include <ostream>

namespace refrain {

using runtime::order_mutex;
using runtime::OrderLock;
using runtime::Recorder;
using runtime::recorder_of;
using runtime::StreamCore;

namespace {

/// A capture of this thread's that stands for a run runs what it holds if the stream is in it.
void run_recorded_on(const StreamCore& stream, const char* call, SourceLocation where) {
  const Recorder* const recorder = runtime::thread_recorder();
  if (recorder == nullptr) return;
  {
    const OrderLock lock(order_mutex());
    if (!recorder->is_member(stream)) return;
  }
  runtime::run_recorded(call, where);
}

/// A stream that a capture records has nothing to wait for. Another one may be asked even where this thread captures.
/// With the order lock held.
void refuse_while_member(const StreamCore& stream, const char* call, SourceLocation where) {
  for (const Recorder* recorder : {runtime::thread_recorder(), stream.recorder.load()}) {
    if (recorder != nullptr && recorder->is_member(stream)) recorder->refuse(call, stream.str(), where);
  }
}

/// Asks or waits, by `until_done(position)`, for what is issued on the stream so far. Where the answer is yes, the host
/// has seen that done, and what the stream had waited for.
template <class UntilDone>
bool see(StreamCore& stream, OrderLock& lock, UntilDone until_done) {
  const runtime::StreamPoint point{stream.slot, stream.position};
  // The clock is copied only when there is news in it.
  runtime::Clock& before = runtime::thread_state().clock;
  const bool is_news = stream.clock_is_news;
  if (is_news) before = stream.clock;
  stream.clock_is_news = false;
  lock.unlock();
  bool is_done = false;
  try {
    is_done = until_done(point.position);
  } catch (...) {
    lock.lock();
    stream.clock_is_news = stream.clock_is_news || is_news;
    throw;
  }
  lock.lock();
  if (is_done) {
    runtime::host_saw(point, is_news ? before : runtime::Clock());
  } else {
    stream.clock_is_news = stream.clock_is_news || is_news;
  }
  return is_done;
}

/// In a thread-scoped capture, what was issued on a stream before it is a member is no part of the capture: the event
/// records that, to be waited for once, before the first replay. False where there is none.
bool record_outside(StreamCore& stream, runtime::EventCore& event, SourceLocation where) {
  if (runtime::thread_recorder() == nullptr) return false;
  const OrderLock lock(order_mutex());
  const Recorder* recorder = runtime::thread_recorder();
  if (recorder == nullptr) return false;
  if (recorder->is_member(stream) || stream.recorder != nullptr || !runtime::has_unseen_work(stream)) return false;
  event.record_eagerly(stream, where);
  return true;
}

}  // namespace

Stream::Stream(int priority, SourceLocation where) : Stream(current_device(), priority, where) {}

Stream::Stream(Device device, int priority, SourceLocation where)
    : life_(runtime::create_stream(device, priority, where)) {}

Stream Stream::wrap(cudaStream_t native, std::optional<Device> device, SourceLocation where) {
  runtime::refuse_in_callback("wrap", where);
  if (device && device->kind == DeviceKind::host) {
    throw Error(Errc::not_supported, "wrap", device->str(), "a host device has no native streams; make a Stream there",
                where);
  }
  runtime::require_device(device.value_or(Device{DeviceKind::cuda, 0}), "wrap", where);
  const runtime::NativeStream described = runtime::backend(DeviceKind::cuda).describe(native, where);
  const Device own{DeviceKind::cuda, described.device};
  if (device && *device != own && !described.is_legacy) {
    throw Error(Errc::wrong_device, "wrap", "a native stream of " + own.str(),
                "is not of " + device->str() + "; name its own device, or none", where);
  }
  runtime::NativeStream wanted = described;
  if (device) wanted.device = device->index;
  return Stream(runtime::wrap_stream(wanted, where));
}

std::pair<int, int> Stream::priority_range(Device device, SourceLocation where) {
  runtime::require_device(device, "priority_range", where);
  return runtime::backend(device.kind).priority_range(device.index);
}

StreamCore& Stream::core(SourceLocation where) const {
  if (life_ == nullptr) {
    throw Error(Errc::invalid_value, "Stream", "a stream that was moved from", "names no stream; use the new one",
                where);
  }
  return *life_->core;
}

void Stream::wait_event(const Event& event, SourceLocation where) const {
  runtime::refuse_in_callback("wait_event", where);
  StreamCore& stream = core(where);
  runtime::EventCore& awaited = *event.core(where);
  runtime::notice_capture(stream, "wait_event", where);
  if (Recorder* recorder = runtime::thread_recorder()) recorder->expect_outside_wait(awaited);
  OrderLock lock(order_mutex());
  runtime::idle_recorder_of(lock, stream);
  if (Recorder* recorder = runtime::wait_recorder(stream, awaited)) {
    recorder->wait_event(stream, awaited, where);
    return;
  }
  runtime::wait_event_eagerly(stream, awaited, "wait_event", where);
}

void Stream::wait_stream(const Stream& other, SourceLocation where) const {
  if (*this == other) return;
  Event event;
  if (!record_outside(other.core(where), *event.core(), where)) other.record_event(event, where);
  wait_event(event, where);
}

Event Stream::record_event(SourceLocation where) const {
  Event event;
  record_event(event, where);
  return event;
}

void Stream::record_event(Event& event, SourceLocation where) const {
  runtime::refuse_in_callback("record_event", where);
  StreamCore& stream = core(where);
  runtime::EventCore& target = *event.core(where);
  runtime::notice_capture(stream, "record_event", where);
  OrderLock lock(order_mutex());
  Recorder* const recorder = runtime::idle_recorder_of(lock, stream);
  target.check_device(stream.device, "record_event", where);
  if (recorder != nullptr) {
    recorder->record_event(stream, target, where);
    return;
  }
  target.record_eagerly(stream, where);
}

bool Stream::query(SourceLocation where) const {
  runtime::refuse_in_callback("query", where);
  StreamCore& stream = core(where);
  runtime::notice_capture(stream, "query", where);
  run_recorded_on(stream, "query", where);
  OrderLock lock(order_mutex());
  refuse_while_member(stream, "query", where);
  return see(stream, lock, [&](std::uint64_t position) { return stream.backend().is_complete(stream, position); });
}

void Stream::synchronize(SourceLocation where) const {
  runtime::refuse_in_callback("synchronize", where);
  StreamCore& stream = core(where);
  runtime::notice_capture(stream, "synchronize", where);
  run_recorded_on(stream, "synchronize", where);
  OrderLock lock(order_mutex());
  refuse_while_member(stream, "synchronize", where);
  see(stream, lock, [&](std::uint64_t position) {
    stream.backend().synchronize(stream, position);
    return true;
  });
  lock.unlock();
  runtime::destroy_retired();
  runtime::throw_host_failure(stream.device);
}

void Stream::launch_host_func(std::function<void()> fn, SourceLocation where) const {
  StreamCore& stream = core(where);
  if (!fn) {
    throw Error(Errc::invalid_value, "launch_host_func", stream.str(),
                "the function is empty; give one that can be called", where);
  }
  auto function =
      std::make_shared<const runtime::HostFunction>([fn = std::move(fn)](void* const*) { fn(); }, stream.device);
  runtime::Command command{
      stream.device, runtime::HostFunctionCommand{std::move(function)}, {}, "launch_host_func", where};
  command.is_declared = false;
  runtime::submit(stream, command);
}

Device Stream::device(SourceLocation where) const { return core(where).device; }
int Stream::priority(SourceLocation where) const { return core(where).priority; }
std::uint64_t Stream::id(SourceLocation where) const { return core(where).id; }

bool Stream::is_capturing() const noexcept {
  if (life_ == nullptr) return false;
  try {
    runtime::notice_capture(*life_->core, "is_capturing", {});
  } catch (...) {
    return true;  // in one that is broken
  }
  return recorder_of(*life_->core) != nullptr;
}

cudaStream_t Stream::native(SourceLocation where) const {
  StreamCore& stream = core(where);
  if (stream.device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, "native", stream.str(),
                "a host device has no CUDA stream; make the stream on a CUDA device for one", where);
  }
  runtime::notice_capture(stream, "native", where);
  runtime::run_recorded("native", where);
  const OrderLock lock(order_mutex());
  if (Recorder* recorder = recorder_of(stream)) return recorder->native(stream, where);
  stream.expose();
  return stream.native().native();
}

std::ostream& operator<<(std::ostream& out, const Stream& stream) { return out << stream.core().str(); }

Stream current_stream() { return current_stream(current_device()); }

Stream current_stream(Device device, SourceLocation where) {
  runtime::require_device(device, "current_stream", where);
  return runtime::thread_state().stream(device);
}

void set_current_stream(const Stream& stream, SourceLocation where) {
  stream.core(where);  // refuses a handle that was moved from
  runtime::thread_state().set_stream(stream);
}

Stream default_stream() { return default_stream(current_device()); }

Stream default_stream(Device device, SourceLocation where) {
  runtime::require_device(device, "default_stream", where);
  struct Cell {
    std::once_flag once;
    std::optional<Stream> stream;
  };
  static auto& all = *new std::array<std::array<Cell, runtime::most_devices>, 2>{};
  Cell& cell = all[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
  std::call_once(cell.once, [&] { cell.stream.emplace(device, 0, where); });
  return *cell.stream;
}

void synchronize(SourceLocation where) { synchronize(current_device(), where); }

void synchronize(Device device, SourceLocation where) {
  runtime::refuse_in_callback("synchronize", where);
  runtime::require_device(device, "synchronize", where);
  const auto streams = runtime::streams_of(device);
  for (const auto& stream : streams) {
    try {
      runtime::notice_capture(*stream, "synchronize", where);
    } catch (const Error&) {
      // In a broken capture of other code's: of concern to this thread only if it is its own.
    }
  }
  if (runtime::captures_here(device)) runtime::run_recorded("synchronize", where);
  if (runtime::captures_here(device)) {
    throw Error(Errc::capture_unsupported, "synchronize", device.str(),
                "this thread has an open capture on the device; synchronise after the capture", where);
  }
  for (const auto& stream : streams) runtime::synchronize_with(*stream);
  runtime::destroy_retired();
  runtime::throw_host_failure(device);
}

StreamGuard::StreamGuard(const Stream& stream, SourceLocation where)
    : device_(stream.device(where), where), previous_(current_stream(stream.device())) {
  set_current_stream(stream);
}

StreamGuard::~StreamGuard() { set_current_stream(previous_); }

namespace runtime {

void synchronize_with(StreamCore& stream) {
  OrderLock lock(order_mutex());
  // While other code captures the stream, or did when the last handle went, nothing can be asked.
  const bool is_idle = stream.retired || !has_unseen_issues(stream);
  if (stream.is_exposed && is_idle && stream.native().is_captured()) return;
  see(stream, lock, [&](std::uint64_t position) {
    stream.backend().synchronize(stream, position);
    return true;
  });
}

}  // namespace runtime
}  // namespace refrain

std::size_t std::hash<refrain::Stream>::operator()(const refrain::Stream& stream) const noexcept {
  // A handle that was moved from is like no other, and hashing may not throw.
  return stream.valid() ? std::hash<std::uint64_t>()(stream.id()) : 0;
}
