#pragma once

#include "runtime/backend.hpp"
#include "runtime/clock.hpp"
#include "runtime/recorder.hpp"

#include <refrain/stream.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace refrain::runtime {

struct StreamLife;

/// The stream behind handles of the user and references of the library.
class StreamCore : public std::enable_shared_from_this<StreamCore> {
 public:
  StreamCore(Device device, int priority, Slot slot, std::uint64_t position);
  /// A stream of other code's.
  StreamCore(const NativeStream& wrapped, Slot slot, std::uint64_t position);

  const Device device;
  const int priority;
  const Slot slot;
  const std::uint64_t id;             ///< unique in the process
  const std::uint64_t base_position;  ///< work of the slot up to here was done before this stream began

  std::uint64_t position;                    ///< of the newest work issued; guarded by the order lock
  std::atomic<Recorder*> recorder{nullptr};  ///< the stream-scoped capture that this is a member of
  std::atomic<bool> retired{false};          ///< no user handle is left
  const bool is_wrapped = false;
  /// Other code has the native stream and may put work on it that nobody tells of.
  std::atomic<bool> is_exposed{false};

  // Guarded by the order lock.
  Clock clock;                     ///< what later work of this stream comes after, other streams' work only
  Clock for_memory;                ///< what it waited for to use memory of other streams: no order of the program's
  Clock in_part;                   ///< replays that it waited for up to a node of theirs: known to the program
  bool clock_is_news = false;      ///< the clock has changed since the host last saw this stream done
  std::weak_ptr<StreamLife> life;  ///< of its handles

  Backend& backend() const { return runtime::backend(device.kind); }
  BackendStream& native() const noexcept { return *native_; }
  bool has_native() const noexcept { return native_ != nullptr; }
  bool is_legacy() const noexcept { return native_ != nullptr && native_->is_legacy(); }
  /// Other code gets the native stream, or may find it in a capture of its own. With the order lock held.
  void expose() noexcept;
  /// The stream is over: no handle, no work. The object goes on to tell the slot's position.
  void drop_native() noexcept { native_.reset(); }
  std::string str() const;

  /// A handle for a core that has none, as the library's own streams.
  static Stream make_handle(std::shared_ptr<StreamCore> core);

 private:
  std::unique_ptr<BackendStream> native_;
};

/// Shared by the user's handles of one stream: its death is the stream's.
struct StreamLife {
  explicit StreamLife(std::shared_ptr<StreamCore> of) noexcept : core(std::move(of)) {}
  ~StreamLife();
  StreamLife(const StreamLife&) = delete;
  StreamLife& operator=(const StreamLife&) = delete;

  std::shared_ptr<StreamCore> core;
};

/// A new stream in a free slot. Takes the order lock.
std::shared_ptr<StreamLife> create_stream(Device device, int priority, SourceLocation where);
/// The stream of that native one, which may be there already. Takes the order lock.
std::shared_ptr<StreamLife> wrap_stream(const NativeStream& native, SourceLocation where);
/// The stream that has the slot now. With the order lock held.
StreamCore& stream_at(Slot slot);
/// All streams of a device that are alive or have work left.
std::vector<std::shared_ptr<StreamCore>> streams_of(Device device);
/// The library's own stream of a device, for downloads and memory of graphs.
StreamCore& service_stream(Device device);

/// Another one, with nothing on it but allocations, which are there as soon as they are made. Takes the order lock at
/// its first use for the device.
StreamCore& memory_stream(Device device);

/// The stream that is current in this thread for the device.
StreamCore& thread_stream(Device device);

/// Blocks the host until what was issued on the stream so far is done.
void synchronize_with(StreamCore& stream);

namespace detail {
/// Made by src/graph, which knows captures.
void follow_capture(StreamCore& stream, const char* call, SourceLocation where);
}  // namespace detail

/// What calls on a stream begin with: if other code has begun a capture there, they belong to it from now on; if it has
/// ended it, no longer. Only a look at a flag for streams that no other code has. Without the order lock.
/// @throws Error(Errc::capture_invalidated) when that capture is broken
inline void notice_capture(StreamCore& stream, const char* call, SourceLocation where) {
  if (stream.is_exposed.load(std::memory_order_relaxed)) detail::follow_capture(stream, call, where);
}

/// Adds to what the stream's later work comes after. With the order lock held.
void come_after(StreamCore& stream, StreamPoint point);
void come_after(StreamCore& stream, const Clock& clock);

}  // namespace refrain::runtime
