#pragma once

#include <refrain/device.hpp>
#include <refrain/event.hpp>
#include <refrain/native.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace refrain {

struct Label;
struct LaunchConfig;

namespace runtime {
class StreamCore;
struct StreamLife;
}  // namespace runtime

/// An in-order queue of work on one device. A handle: copies name the same stream, and every constructed Stream is a
/// stream of its own, never an alias of another; the last handle's death lets issued work finish. Does not
/// synchronise with CUDA's legacy default stream. May be used from any thread; submissions of several threads to one
/// stream are serialised.
class Stream {
 public:
  /// A new stream on the current device. Lower numbers are higher priorities; clamped to `priority_range`.
  explicit Stream(int priority = 0, SourceLocation where = SourceLocation::current());
  /// @throws Error(Errc::no_device)
  explicit Stream(Device device, int priority = 0, SourceLocation where = SourceLocation::current());

  /// A stream that other code made: used, never destroyed. The handle equals every other one of the same native stream,
  /// also of one that Refrain made. Work that other code puts on it is ordered with Refrain's as on any stream. It must
  /// live as long as handles of it; what was issued through them may finish later. While other code captures it,
  /// Refrain's work lands in that capture, whose graph keeps what it needs (docs/guide/existing-captures.md). Of the
  /// legacy stream use the handle cudaStreamLegacy or null. `device`: must be the stream's, if given.
  /// @throws Error(Errc::wrong_device) naming both; no_device; not_supported for a host device and for
  ///         cudaStreamPerThread, which is another stream in each thread
  static Stream wrap(cudaStream_t native, std::optional<Device> device = std::nullopt,
                     SourceLocation where = SourceLocation::current());

  /// {lowest, highest} priority of the device; numerically lowest >= highest, {0, 0} where there are none.
  static std::pair<int, int> priority_range(Device device, SourceLocation where = SourceLocation::current());

  /// Makes all later work of this stream wait for the newest record of the event. Does not block the host. Nothing
  /// when the event was never recorded. While capturing it is a dependency edge.
  /// @throws Error(Errc::capture_isolation | capture_merge | captured_event), leaving captures intact
  void wait_event(const Event& event, SourceLocation where = SourceLocation::current()) const;
  /// Waits for everything issued on the other stream so far. Waiting for itself does nothing.
  void wait_stream(const Stream& other, SourceLocation where = SourceLocation::current()) const;
  /// Records the event here; without argument a new event, which is returned.
  Event record_event(SourceLocation where = SourceLocation::current()) const;
  void record_event(Event& event, SourceLocation where = SourceLocation::current()) const;

  /// Launches a `__global__` function of the program's, eager or as a node of a graph. Arguments for pointer parameters
  /// may be Arrays (`const T*` reads, `T*` reads and writes) or accesses: `read`, `write`, `readwrite` of an array or
  /// of bytes at an address. These are ordered and, if arrays, kept as those of any op; accesses after the last
  /// argument say what the kernel reaches otherwise, as through pointers in a struct. A `Param` can be set between
  /// replays. Other arguments are passed by value, as they are now; a bare pointer makes the launch undeclared: it
  /// keeps its place among all commands, and its memory is the program's to order and to keep. Defined in
  /// <refrain/cuda.hpp>.
  /// @throws Error(Errc::invalid_value) naming geometry or argument; wrong_device; not_supported on a host device
  template <class... Params, class... Args>
  void launch(const LaunchConfig& config, void (*kernel)(Params...), const Args&... args) const;

  /// Lets foreign code put work on the stream: `enqueue("gemm", read(a), write(c), [&](cudaStream_t s, const float* a,
  /// float* c) {...})`. The function is called once, in this thread, before enqueue returns, with the stream and a
  /// pointer for each access. In a capture that is a private, capturing stream, and what it puts there becomes one
  /// command of the graph, with the addresses as they are: its arrays keep blocks of their own. Without accesses the
  /// command is undeclared: it keeps its place among all commands. In the function, calls of Refrain that reach a
  /// device throw Errc::not_permitted. On a host device the command runs what `on_host` gives, which is called with the
  /// pointers in stream order, by each replay anew. Defined in <refrain/enqueue.hpp>.
  /// @throws what the function throws; Error(Errc::not_supported) when there is no function for the device;
  ///         capture_unsupported when it synchronises, allocates otherwise than in stream order or uses the legacy
  ///         stream (live: capture_invalidated); capture_unjoined when it leaves work of other streams unjoined;
  ///         illegal_state when it leaves the stream capturing. All name the label, and leave captures intact (live:
  ///         end them).
  template <class... Args>
  void enqueue(Label label, Args&&... args) const;

  /// Runs a CUDA graph as one command, undeclared, of which a copy is taken: made ready anew by each eager call.
  /// @throws Error(Errc::not_supported) on a host device, and for a graph with memory nodes, which CUDA cannot copy
  void add_graph(cudaGraph_t graph, Label label) const;

  /// Calls `fn` on the host, in stream order: after what was issued before, before what is issued later. In a capture
  /// it is a command, called once by each replay; the graph keeps it. What it throws is thrown once by the next
  /// synchronisation of the device; later work runs all the same. In it, calls that reach a device throw
  /// Errc::not_permitted; dropping arrays and other handles is fine.
  /// @throws Error(Errc::invalid_value) when fn is empty
  void launch_host_func(std::function<void()> fn, SourceLocation where = SourceLocation::current()) const;

  /// True when all issued work is done. Never blocks.
  /// @throws Error(Errc::capture_unsupported) while capturing, leaving the capture intact
  bool query(SourceLocation where = SourceLocation::current()) const;
  /// Blocks the host until all issued work is done.
  /// @throws Error(Errc::capture_unsupported) while capturing, leaving the capture intact; errors of earlier work
  void synchronize(SourceLocation where = SourceLocation::current()) const;

  /// False for a handle that was moved from; anything else on it throws Errc::invalid_value.
  bool valid() const noexcept { return life_ != nullptr; }
  Device device(SourceLocation where = SourceLocation::current()) const;
  int priority(SourceLocation where = SourceLocation::current()) const;
  /// A number that no other stream of this process has.
  std::uint64_t id(SourceLocation where = SourceLocation::current()) const;
  /// True while work issued here by this thread is recorded, in a capture that other code began too. Never throws.
  bool is_capturing() const noexcept;

  /// The CUDA stream.
  /// @throws Error(Errc::not_supported) on a host device; Error(Errc::capture_unsupported) while recording, unless
  ///         the capture is live
  cudaStream_t native(SourceLocation where = SourceLocation::current()) const;

  friend bool operator==(const Stream& a, const Stream& b) noexcept { return a.life_ == b.life_; }

  runtime::StreamCore& core(SourceLocation where = {}) const;

 private:
  friend class runtime::StreamCore;
  explicit Stream(std::shared_ptr<runtime::StreamLife> life) : life_(std::move(life)) {}

  std::shared_ptr<runtime::StreamLife> life_;
};

std::ostream& operator<<(std::ostream& out, const Stream& stream);

/// The stream that ops of this thread go to, on the current device or a given one; at first the default stream.
Stream current_stream();
Stream current_stream(Device device, SourceLocation where = SourceLocation::current());

/// Makes a stream current for its device until another is set. Prefer StreamGuard.
void set_current_stream(const Stream& stream, SourceLocation where = SourceLocation::current());

/// One stream per device and process; ordinary, non-blocking towards CUDA's legacy stream.
Stream default_stream();
Stream default_stream(Device device, SourceLocation where = SourceLocation::current());

/// Blocks until all work of all streams of the device is done.
/// @throws Error(Errc::capture_unsupported) when this thread has an open capture on it, leaving the capture intact
void synchronize(SourceLocation where = SourceLocation::current());
void synchronize(Device device, SourceLocation where = SourceLocation::current());

/// Makes a stream and its device current for the calling thread until the end of the scope, then restores both.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream, SourceLocation where = SourceLocation::current());
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  DeviceGuard device_;
  Stream previous_;
};

}  // namespace refrain

template <>
struct std::hash<refrain::Stream> {
  std::size_t operator()(const refrain::Stream& stream) const noexcept;
};
