#pragma once

#include "runtime/backend.hpp"
#include "runtime/clock.hpp"
#include "runtime/recorder.hpp"

#include <refrain/event.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace refrain::runtime {

class StreamCore;

/// The event behind its handles. Everything but `flags`, `id` and `is_wrapped` is guarded by the order lock.
class EventCore : public std::enable_shared_from_this<EventCore> {
 public:
  explicit EventCore(EventFlags flags);

  const EventFlags flags;
  const std::uint64_t id;
  bool is_wrapped = false;                  ///< other code may record it too: nothing is known of what it covers
  std::optional<Device> device;             ///< of the first record
  std::shared_ptr<BackendEvent> native;     ///< made at the first record, or wait in a graph
  Device native_device;                     ///< what it was made on
  bool recorded = false;                    ///< eagerly, at least once
  StreamPoint point;                        ///< what the newest record covers
  StreamPoint replay;                       ///< a replay that it covers in part, up to its node
  std::uint64_t stream_id = 0;              ///< of the newest eager record
  Clock clock;                              ///< what comes before it
  std::shared_ptr<CapturedPoint> captured;  ///< set when the newest record is in a capture

  /// Of its newest record.
  DeviceKind kind() const noexcept { return device ? device->kind : native_device.kind; }
  /// Whether a record in a capture is a node of the graph.
  bool is_node() const noexcept { return flags.external || flags.timing; }
  std::string str() const { return "event " + std::to_string(id); }

  /// @throws Error(Errc::wrong_device) when it was recorded on another device. With the order lock held.
  void check_device(Device of_stream, const char* call, SourceLocation where) const;
  /// @throws Error(Errc::captured_event) when the newest record is in a capture. With the order lock held.
  void refuse_captured(const char* call, SourceLocation where) const;
  /// The backend's event, made on the stream's device if there is none yet. With the order lock held.
  const std::shared_ptr<BackendEvent>& native_for(StreamCore& stream);
  /// With the order lock held.
  /// @throws Error(Errc::wrong_device) on CUDA, when a captured wait has made the event on another device
  void record_eagerly(StreamCore& stream, SourceLocation where);
  /// The same, but the backend's event is recorded when it is first asked for: it then covers what the stream was given
  /// meanwhile too. An event with timing is recorded at once. With the order lock held.
  void record_late(StreamCore& stream, SourceLocation where);
  /// Before the backend's event is used. With the order lock held.
  void settle_record();
  /// The newest work of the stream is the event's newest record. With the order lock held.
  void note_record(const StreamCore& stream);
  /// The newest work of the stream is a replay that records the event, on the device of its node. `before`: where the
  /// stream stood; `covers_all`: the event covers the whole replay. With the order lock held.
  void note_replay(const StreamCore& stream, StreamPoint before, bool covers_all);

 private:
  bool is_late_ = false;  ///< its newest record was not told the backend yet
  void note(const StreamCore& stream, StreamPoint covered, StreamPoint covered_in_part);
};

/// Who must be asked when the stream waits for the event: the capture that records the stream, else the open capture
/// that holds the event, else nobody. With the order lock held.
Recorder* wait_recorder(const StreamCore& stream, const EventCore& event);
/// With the order lock held.
void wait_event_eagerly(StreamCore& stream, EventCore& event, const char* call, SourceLocation where);

}  // namespace refrain::runtime
