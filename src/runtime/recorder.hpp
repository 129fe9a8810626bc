#pragma once

#include "runtime/command.hpp"

#include <refrain/native.hpp>
#include <refrain/source_location.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace refrain::runtime {

class Buffer;
class EventCore;
struct ForeignCall;
class GeneratorCore;
class StreamCore;

/// A point of an event's record inside a capture; what it holds is the recording layer's.
class CapturedPoint {
 public:
  virtual ~CapturedPoint() = default;
  /// The open capture's recorder, or null when the capture is over.
  virtual class Recorder* recorder() const noexcept = 0;
  /// "the open capture of stream 3", "graph 2", "a discarded capture"
  virtual std::string holder() const = 0;
};

/// Where a generator stands at a point of a capture.
struct CapturedState {
  const GeneratorCore* generator = nullptr;
  std::uint64_t capture = 0;  ///< the graph's number
  std::uint64_t offset = 0;   ///< relative to each replay's position or, after a recorded seed, from that
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// What the runtime sees of a capture: calls on member streams go here. The capture rules are behind it, once for all
/// devices. Every call either does its work or throws and leaves the capture as it was. All are made with the order
/// lock held, under which a capture ends too: who has found a recorder under the lock may call it.
class Recorder {
 public:
  virtual ~Recorder() = default;

  virtual void submit(StreamCore& stream, const Command& command) = 0;
  /// Gives each array of the command a block of its own, for good; whether one had none.
  /// @throws Error(Errc::out_of_memory)
  virtual bool pin(const Command& command) = 0;
  /// Whether it captures on really capturing streams.
  virtual bool is_live() const noexcept = 0;
  /// Whether the capture is one that other code has begun and will end.
  virtual bool is_attached() const noexcept = 0;
  /// Lets foreign code put a command on the live capture's stream. The lock is given up for the call.
  virtual void call_live(std::unique_lock<std::mutex>& lock, StreamCore& stream, const Command& command,
                         const ForeignCall& call) = 0;
  /// Ends the capture and runs what it holds, so that a call that no capture allows can go on as one of none; false
  /// where the capture was not begun so. Without the order lock.
  /// @throws what ending and running it throws
  virtual bool run_so_far(const char* /*call*/, SourceLocation /*where*/) { return false; }
  /// Throws what `submit` would throw for the command's order, doing nothing.
  virtual void check_order(const StreamCore& stream, const Command& command) const = 0;
  virtual void record_event(StreamCore& stream, EventCore& event, SourceLocation where) = 0;
  virtual void wait_event(StreamCore& stream, EventCore& event, SourceLocation where) = 0;
  /// Memory of an array made in the capture, on the stream's device or on the host that its copies go to.
  virtual Buffer* allocate(StreamCore& stream, Device device, std::int64_t bytes, SourceLocation where) = 0;
  // Of all default generators, and of one: only the present seed may be set.
  virtual void manual_seed(std::uint64_t seed, SourceLocation where) = 0;
  virtual void manual_seed(GeneratorCore& generator, std::uint64_t seed, SourceLocation where) = 0;
  virtual CapturedState state_of(GeneratorCore& generator, SourceLocation where) = 0;
  /// `state`: null when it was taken outside of captures.
  virtual void set_state(GeneratorCore& generator, const CapturedState* state, SourceLocation where) = 0;
  /// Throws capture_unsupported for a call that no capture allows on this stream.
  [[noreturn]] virtual void refuse(const char* call, const std::string& object, SourceLocation where) const = 0;
  virtual cudaStream_t native(StreamCore& stream, SourceLocation where) = 0;
  /// The stream's last handle is gone. The result is what the capture leaves behind, to be destroyed without the lock.
  virtual std::shared_ptr<void> stream_destroyed(StreamCore& stream) noexcept = 0;
  /// The event is about to be waited for. Called by the capturing thread, without the order lock, so that a stream can
  /// be made for waits of events recorded outside.
  virtual void expect_outside_wait(const EventCore& event) = 0;
  /// Whether the stream has joined the capture, so that asking for it or waiting for it makes no sense.
  virtual bool is_member(const StreamCore& stream) const noexcept = 0;
  /// A stream is in the native capture of that number, by what other code did: whether that is this one, which then
  /// takes it in as a member.
  virtual bool takes_in(StreamCore& stream, std::uint64_t capture) = 0;
  /// Other code has got the native stream.
  virtual void exposed(StreamCore& stream) noexcept = 0;
  /// True when the device has streams in this capture.
  virtual bool spans(Device device) const noexcept = 0;
};

/// Where a thread keeps its thread-scoped capture. Any thread may empty it, as when the capture is destroyed elsewhere.
using ThreadRecorder = std::atomic<Recorder*>;
/// This thread's; shared, since the capture may outlive the thread.
std::shared_ptr<ThreadRecorder> thread_recorder_slot();
/// The thread-scoped capture of this thread, if any.
Recorder* thread_recorder() noexcept;

/// What calls begin with that no capture allows: a capture of this thread's that may runs what it holds. Without the
/// order lock.
inline void run_recorded(const char* call, SourceLocation where) {
  if (Recorder* const recorder = thread_recorder()) recorder->run_so_far(call, where);
}

/// Who records what this thread issues on the stream: its thread-scoped capture, else the capture that the stream is a
/// member of, else nobody.
Recorder* recorder_of(const StreamCore& stream) noexcept;

/// The open captures of the process and the threads that began them. With the order lock held.
void add_open_recorder(Recorder& recorder);
/// Tells them that other code has got the stream's native one. With the order lock held.
void tell_exposed(StreamCore& stream) noexcept;
/// Asks them whether the stream is in their native capture. With the order lock held.
bool taken_in(StreamCore& stream, std::uint64_t capture);
void remove_open_recorder(const Recorder& recorder) noexcept;

/// Whether this thread has an open capture with streams of the device: its thread-scoped one, or a stream-scoped one
/// that it began.
bool captures_here(Device device) noexcept;

}  // namespace refrain::runtime
