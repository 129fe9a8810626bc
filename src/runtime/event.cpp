#include <refrain/event.hpp>

#include "runtime/environment.hpp"
#include "runtime/event_core.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/error.hpp>
#include <refrain/stream.hpp>

#include <atomic>
#include <ostream>

namespace refrain {

using runtime::EventCore;
using runtime::order_mutex;
using runtime::OrderLock;

namespace {

/// What a host-side question needs, taken under the order lock.
struct Snapshot {
  std::shared_ptr<runtime::BackendEvent> native;
  runtime::StreamPoint point;
  runtime::Clock before;
};

/// The host is about to ask for an event: a capture of this thread's that holds it runs, if it may.
void run_recorded_with(const EventCore& event, const char* call, SourceLocation where) {
  const runtime::Recorder* const recorder = runtime::thread_recorder();
  if (recorder == nullptr) return;
  {
    const OrderLock lock(order_mutex());
    if (event.captured == nullptr || event.captured->recorder() != recorder) return;
  }
  runtime::run_recorded(call, where);
}

Snapshot snapshot(EventCore& event, const char* call, SourceLocation where) {
  run_recorded_with(event, call, where);
  const OrderLock lock(order_mutex());
  event.refuse_captured(call, where);
  event.settle_record();
  if (!event.recorded) return {};
  return {event.native, event.point, event.clock};
}

/// The host has seen the record done, unless another has taken its place meanwhile.
void saw(const EventCore& event, const Snapshot& seen) {
  const OrderLock lock(order_mutex());
  if (event.point == seen.point && !event.is_wrapped) runtime::host_saw(seen.point, seen.before);
}

}  // namespace

Event::Event(EventFlags flags) : core_(runtime::own(new EventCore(flags))) {}

Event Event::wrap(cudaEvent_t native, EventFlags flags, SourceLocation where) {
  runtime::refuse_in_callback("wrap", where);
  runtime::require_device({DeviceKind::cuda, 0}, "wrap", where);
  if (native == nullptr) {
    throw Error(Errc::invalid_value, "wrap", "a null event", "is no event; give one that cudaEventCreate made", where);
  }
  Event event(flags);
  EventCore& core = *event.core_;
  core.is_wrapped = true;
  core.native = runtime::backend(DeviceKind::cuda).wrap_event(native);
  core.native_device = {DeviceKind::cuda, 0};
  core.recorded = true;  // for all that is known
  return event;
}

const std::shared_ptr<EventCore>& Event::core(SourceLocation where) const {
  if (core_ == nullptr) {
    throw Error(Errc::invalid_value, "Event", "an event that was moved from", "names no event; use the new one", where);
  }
  return core_;
}

void Event::record(SourceLocation where) { current_stream().record_event(*this, where); }
void Event::record(const Stream& stream, SourceLocation where) { stream.record_event(*this, where); }
void Event::wait(const Stream& stream, SourceLocation where) const { stream.wait_event(*this, where); }

bool Event::query(SourceLocation where) const {
  runtime::refuse_in_callback("query", where);
  const Snapshot event = snapshot(*core(where), "query", where);
  if (event.native == nullptr) return true;
  if (!event.native->query()) return false;
  saw(*core(), event);
  return true;
}

void Event::synchronize(SourceLocation where) const {
  runtime::refuse_in_callback("synchronize", where);
  const Snapshot event = snapshot(*core(where), "synchronize", where);
  if (event.native == nullptr) return;
  event.native->synchronize();
  saw(*core(), event);
  runtime::destroy_retired();
  if (const auto of = device()) runtime::throw_host_failure(*of);
}

std::chrono::nanoseconds Event::elapsed(const Event& end, SourceLocation where) const {
  for (const EventCore* event : {core(where).get(), end.core(where).get()}) {
    if (!event->flags.timing) {
      throw Error(Errc::invalid_value, "elapsed_time", event->str(),
                  "has no timing; make it with Event({.timing = true})", where);
    }
  }
  for (const EventCore* event : {core().get(), end.core().get()}) run_recorded_with(*event, "elapsed_time", where);
  std::shared_ptr<runtime::BackendEvent> first;
  std::shared_ptr<runtime::BackendEvent> last;
  bool one_device = false;
  {
    const OrderLock lock(order_mutex());
    for (const EventCore* event : {core().get(), end.core().get()}) {
      event->refuse_captured("elapsed_time", where);
      if (!event->recorded) {
        throw Error(Errc::invalid_value, "elapsed_time", event->str(),
                    "was never recorded; record it on a stream first", where);
      }
    }
    core_->settle_record();
    end.core_->settle_record();
    first = core_->native;
    last = end.core_->native;
    // Of a record that other code made CUDA alone knows the device.
    one_device = !core_->device || !end.core_->device || core_->device == end.core_->device;
  }
  for (const auto& [native, event] : {std::pair{first, core_}, std::pair{last, end.core_}}) {
    if (!native->query()) {
      throw Error(Errc::not_ready, "elapsed_time", event->str(), "is not complete yet; synchronize it first", where);
    }
  }
  if (!one_device) {
    throw Error(Errc::invalid_value, "elapsed_time", core_->str() + " and " + end.core_->str(),
                "are of two devices, whose clocks differ; time on one device", where);
  }
  return first->elapsed(*last);
}

float Event::elapsed_time(const Event& end, SourceLocation where) const {
  return std::chrono::duration<float, std::milli>(elapsed(end, where)).count();
}

EventFlags Event::flags(SourceLocation where) const { return core(where)->flags; }

std::optional<Device> Event::device(SourceLocation where) const {
  const OrderLock lock(order_mutex());
  return core(where)->device;
}

cudaEvent_t Event::native(SourceLocation where) const {
  const OrderLock lock(order_mutex());
  if (core(where)->device && core_->device->kind == DeviceKind::host) {
    throw Error(Errc::not_supported, "native", core_->str(),
                "a host device has no CUDA event; record it on a CUDA device for one", where);
  }
  core_->settle_record();
  return core_->native == nullptr ? nullptr : core_->native->native();
}

std::ostream& operator<<(std::ostream& out, const Event& event) {
  const OrderLock lock(order_mutex());
  const EventCore& core = *event.core();
  out << core.str();
  if (core.captured != nullptr) return out << " in " << core.captured->holder();
  if (core.is_wrapped) return out << ", wrapped";
  return core.recorded ? out << " on " << core.device->str() : out << ", not recorded";
}

namespace runtime {

namespace {

std::uint64_t next_event_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

EventCore::EventCore(EventFlags flags) : flags(flags), id(next_event_id()) {}

void EventCore::check_device(Device of_stream, const char* call, SourceLocation where) const {
  if (is_wrapped && of_stream.kind != DeviceKind::cuda) {
    throw Error(Errc::wrong_device, call, str(),
                "is CUDA's and cannot be recorded on " + of_stream.str() + "; record an Event of its own there", where);
  }
  if (device && *device != of_stream) {
    throw Error(Errc::wrong_device, call, str(),
                "belongs to " + device->str() + ", the device of its first record, and cannot be recorded on " +
                    of_stream.str() + "; record another event there (waiting across devices is fine)",
                where);
  }
}

void EventCore::refuse_captured(const char* call, SourceLocation where) const {
  if (captured == nullptr) return;
  throw Error(Errc::captured_event, call, str(),
              "its newest record is in " + captured->holder() +
                  "; record it again outside, or make it with Event({.external = true}) to see it in replays",
              where);
}

const std::shared_ptr<BackendEvent>& EventCore::native_for(StreamCore& stream) {
  if (native == nullptr) {
    native = stream.backend().create_event(stream.device.index, flags);
    native_device = stream.device;
  }
  return native;
}

void EventCore::record_eagerly(StreamCore& stream, SourceLocation where) {
  if (native != nullptr && native_device != stream.device && stream.device.kind == DeviceKind::cuda && !is_wrapped) {
    throw Error(Errc::wrong_device, "record_event", str(),
                "was made on " + native_device.str() +
                    " by a captured wait that came before any record, and cannot be "
                    "recorded on " +
                    stream.device.str() + "; record it there once before that capture",
                where);
  }
  native_for(stream)->record(stream);
  note_record(stream);
}

void EventCore::record_late(StreamCore& stream, SourceLocation where) {
  if (flags.timing || flags.external || is_wrapped) return record_eagerly(stream, where);
  note_record(stream);
  is_late_ = true;
}

void EventCore::settle_record() {
  if (!is_late_) return;
  is_late_ = false;
  StreamCore& stream = stream_at(point.slot);
  // A stream that is over has no work left: the backend's event, if there is one, is of something before it.
  if (stream.id == stream_id && stream.has_native()) native_for(stream)->record(stream);
}

void EventCore::note_record(const StreamCore& stream) {
  device = stream.device;
  note(stream, {stream.slot, stream.position}, {});
}

void EventCore::note_replay(const StreamCore& stream, StreamPoint before, bool covers_all) {
  const StreamPoint all{stream.slot, stream.position};
  note(stream, covers_all ? all : before, covers_all ? StreamPoint{} : all);
}

void EventCore::note(const StreamCore& stream, StreamPoint covered, StreamPoint covered_in_part) {
  recorded = true;
  is_late_ = false;
  captured.reset();
  point = covered;
  replay = covered_in_part;
  stream_id = stream.id;
  clock = stream.clock;
}

Recorder* wait_recorder(const StreamCore& stream, const EventCore& event) {
  if (Recorder* recorder = recorder_of(stream)) return recorder;
  // A stream outside that waits for an event of an open capture joins it, or is refused by it.
  return event.captured == nullptr ? nullptr : event.captured->recorder();
}

void wait_event_eagerly(StreamCore& stream, EventCore& event, const char* call, SourceLocation where) {
  event.refuse_captured(call, where);
  if (!event.recorded || (event.stream_id == stream.id && !event.is_wrapped)) return;
  if (event.kind() != stream.device.kind) {
    throw Error(Errc::not_supported, call, stream.str(),
                "cannot wait for an event of " + (event.device ? event.device->str() : "CUDA") +
                    "; synchronize the event first",
                where);
  }
  event.settle_record();
  if (event.native != nullptr) event.native->wait(stream);
  if (event.is_wrapped) {
    stream.expose();  // other code may have recorded it in a capture, which the stream then has joined
    return;
  }
  come_after(stream, event.clock);
  come_after(stream, event.point);
  stream.in_part.raise(event.replay);
}

}  // namespace runtime
}  // namespace refrain
