#pragma once

#include <refrain/device.hpp>
#include <refrain/native.hpp>
#include <refrain/source_location.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace refrain {

class Stream;
namespace runtime {
class EventCore;
}

/// Flags of an event; all off by default, as the cheapest event has none.
struct EventFlags {
  bool timing = false;    ///< may be used with `elapsed_time`
  bool blocking = false;  ///< `synchronize` sleeps where it would spin
  bool external = false;  ///< in a capture, records and waits are nodes of the graph, done again by each replay

  friend bool operator==(const EventFlags&, const EventFlags&) = default;
};

/// A point in a stream. A handle: copies name the same event. Made lazily: no device object before the first record.
/// May be used from any thread.
class Event {
 public:
  explicit Event(EventFlags flags = {});

  /// An event that other code made: used, never destroyed. Other code may record it too, so a wait covers the newest
  /// record of all. `flags`: those it was made with; `timing` for `elapsed_time`. It must live as long as its handles,
  /// and graphs that have it as a node.
  /// @throws Error(Errc::invalid_value) on a null event; no_device where there is no CUDA device
  static Event wrap(cudaEvent_t native, EventFlags flags = {}, SourceLocation where = SourceLocation::current());

  /// Records on the stream that is current in this thread. A later record replaces the point; waits issued before
  /// keep the older one.
  void record(SourceLocation where = SourceLocation::current());
  /// @throws Error(Errc::wrong_device) when the event's first record was on another device
  void record(const Stream& stream, SourceLocation where = SourceLocation::current());

  /// Makes the stream wait; same as `stream.wait_event(*this)`. Does not block the host.
  void wait(const Stream& stream, SourceLocation where = SourceLocation::current()) const;

  /// True when all work before the newest record is done, or nothing was ever recorded.
  /// @throws Error(Errc::captured_event) when the newest record is in a capture
  bool query(SourceLocation where = SourceLocation::current()) const;

  /// Blocks the host until the newest record is done; returns at once when there is none.
  /// @throws Error(Errc::captured_event) when the newest record is in a capture
  void synchronize(SourceLocation where = SourceLocation::current()) const;

  /// Milliseconds from this event to `end` (negative when `end` came first).
  /// @throws Error: in this order, invalid_value (timing off on either), invalid_value (not recorded),
  ///         captured_event, not_ready (not complete), invalid_value (two devices)
  float elapsed_time(const Event& end, SourceLocation where = SourceLocation::current()) const;
  /// The same as a duration.
  std::chrono::nanoseconds elapsed(const Event& end, SourceLocation where = SourceLocation::current()) const;

  EventFlags flags(SourceLocation where = SourceLocation::current()) const;
  /// The device of the first record; nothing before it.
  std::optional<Device> device(SourceLocation where = SourceLocation::current()) const;

  /// The event's CUDA handle; null before the first record.
  /// @throws Error(Errc::not_supported) on a host device
  cudaEvent_t native(SourceLocation where = SourceLocation::current()) const;

  friend bool operator==(const Event& a, const Event& b) noexcept { return a.core_ == b.core_; }

  /// @throws Error(Errc::invalid_value) when the handle was moved from; as everything above
  const std::shared_ptr<runtime::EventCore>& core(SourceLocation where = {}) const;

 private:
  std::shared_ptr<runtime::EventCore> core_;
};

std::ostream& operator<<(std::ostream& out, const Event& event);

}  // namespace refrain
