#pragma once

// The only seam between devices. A backend runs commands on its streams and lowers plans to executables; capture
// rules, order between streams, random-number bookkeeping and memory accounting live above it, once.

#include "runtime/clock.hpp"
#include "runtime/command.hpp"
#include "runtime/plan.hpp"

#include <refrain/device.hpp>
#include <refrain/event.hpp>
#include <refrain/native.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace refrain::runtime {

class StreamCore;
struct ForeignCall;

/// What other code put on a stream that was being recorded.
struct Strayed {
  std::vector<std::string> names;  ///< of kernels and other work
  int broken = 0;                  ///< how often it made watching impossible for a moment
};

/// A capture that other code has begun, as one of its streams tells.
struct ForeignCapture {
  std::uint64_t id = 0;    ///< unique in the process; 0: there is none, or it is broken
  bool is_broken = false;  ///< invalidated, and not ended yet
};

/// A backend's side of a stream.
class BackendStream {
 public:
  virtual ~BackendStream() = default;
  virtual cudaStream_t native() const noexcept { return nullptr; }
  /// CUDA's legacy stream, which no capture can record.
  virtual bool is_legacy() const noexcept { return false; }
  /// The stream, of which other code has the handle, is being recorded: what that code puts there is found. Once for
  /// each recording, with the order lock held, as all three.
  virtual void watch() noexcept {}
  virtual bool has_strayed() noexcept { return false; }
  virtual Strayed end_watch() noexcept { return {}; }
  /// No handle is left: what was issued is still asked for and waited for, and no more comes. `is_busy`: the host has
  /// not seen all that done. With the order lock held.
  virtual void leave(bool /*is_busy*/) noexcept {}
  /// Other code has got the handle. With the order lock held.
  virtual void expose() noexcept {}
  /// The capture of other code's that the stream is in. Not asked once no handle is left.
  virtual ForeignCapture foreign_capture() noexcept { return {}; }
  /// Whether it is in a capture, of whose program ever: it takes no work that belongs to none.
  virtual bool is_captured() noexcept { return false; }
  /// Whether, in addition, what was put on it before can be neither asked nor waited for.
  virtual bool is_out_of_reach() noexcept { return false; }
};

/// A backend's side of an event. `record` and `wait` are called with the order lock held, the others without it.
class BackendEvent {
 public:
  virtual ~BackendEvent() = default;
  virtual void record(StreamCore& stream) = 0;
  virtual void wait(StreamCore& stream) = 0;
  virtual bool query() = 0;
  virtual void synchronize() = 0;
  /// Both are complete and have timing.
  virtual std::chrono::nanoseconds elapsed(BackendEvent& end) = 0;
  virtual cudaEvent_t native() const noexcept { return nullptr; }
};

/// A plan on its way into an executable that is there already.
class PreparedUpdate {
 public:
  virtual ~PreparedUpdate() = default;
};

/// A graph made ready to run by a backend.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Enqueues one run as one position of the stream. `draws` are the positions that the run starts from, by the
  /// program's generators. Called with the order lock held; no allocation.
  virtual void launch(StreamCore& stream, std::span<const GeneratorPosition> draws) = 0;
  // With the order lock held; runs under way keep what they have.
  /// The plan's command of that number has other parameters or addresses: the same kind, and no foreign work.
  virtual void change(std::size_t command, const PlannedCommand& planned) = 0;
  /// It has other addresses and is otherwise as it was.
  virtual void move(std::size_t command, const PlannedCommand& planned) { change(command, planned); }
  /// Leaves the command out of runs, or takes it in again; its place in the order stays.
  virtual void enable(std::size_t command, bool is_enabled) = 0;
  /// Becomes the executable of another plan, if it can: empty then, else why not. `prepared`: of that plan; afterwards
  /// what it had, to be destroyed without the lock.
  virtual std::string update(const std::shared_ptr<PreparedUpdate>& prepared) = 0;
  /// What `update` takes; without the lock.
  virtual std::shared_ptr<PreparedUpdate> prepare_update(const Plan& plan) const = 0;
  /// Whether an event that it records covers the whole run, not what comes before its node.
  virtual bool events_cover_runs() const noexcept { return false; }
  virtual cudaGraphExec_t native() const noexcept { return nullptr; }
  virtual cudaGraph_t native_graph() const noexcept { return nullptr; }
};

/// How a live capture begins.
struct LiveOrigin {
  Device device;
  int priority = 0;
  StreamCore* own = nullptr;         ///< the stream to capture on itself; null: private streams
  bool guard_legacy_stream = false;  ///< work on the legacy stream fails
};

/// A capture on really capturing streams: what `live` mode records into, or one that other code has begun. Lanes and
/// commands are numbered by the caller; lane 0 is the origin. Null on backends that have no such thing.
class LiveCapture {
 public:
  virtual ~LiveCapture() = default;  ///< abandons the capture when it was not ended
  /// Forks a lane from the capture's beginning; in one of other code's the lane joins by what it waits for next.
  virtual void fork(int lane, Device device, int priority, StreamCore* own) = 0;
  /// Runs what one command of the capture stands for: itself, or those of a graph in it, one after another.
  virtual void run(int lane, int command, std::span<const PlannedCommand> commands) = 0;
  /// Lets foreign code put a command there. Without the order lock.
  /// @throws what it throws; Error naming the command when it leaves a CUDA error behind
  virtual void call(int lane, const Command& command, const ForeignCall& call) = 0;
  /// Marks the lane's present point; returns its number.
  virtual int record(int lane) = 0;
  virtual void wait(int lane, int point) = 0;
  /// The lane's next command depends on the nodes of that earlier command too.
  virtual void depend(int lane, int command) = 0;
  // Events of other code's, which may be recorded there too.
  virtual void record_event(int lane, cudaEvent_t event) = 0;
  virtual void wait_event(int lane, cudaEvent_t event) = 0;
  /// The native capture's own number; 0: it is other code's.
  virtual std::uint64_t capture_id() const noexcept { return 0; }
  /// The lane's native stream, for foreign code.
  virtual cudaStream_t native(int lane) const noexcept = 0;
  /// Joins all lanes to the origin and ends the capture. Not of one that other code ends.
  virtual std::shared_ptr<Executable> end(std::span<const std::uint64_t> draw_increments) = 0;
};

/// A stream that other code made.
struct NativeStream {
  cudaStream_t handle = nullptr;
  int device = 0;
  int priority = 0;
  bool is_legacy = false;
};

/// What a backend says of its pool.
struct PoolStats {
  std::int64_t reserved = 0;
};

/// What a device's fused commands can have.
struct FusionLimits {
  std::int64_t longest_row = 0;                ///< elements of a row that is reduced
  bool sums_of_draws = false;                  ///< integers made of drawn numbers are summed as they are drawn
  std::int64_t most_parameter_bytes = 32'764;  ///< of one command
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual DeviceKind kind() const noexcept = 0;
  virtual int device_count() const noexcept = 0;
  /// Why there are no devices; empty when there are.
  virtual std::string why_unavailable() const = 0;
  virtual const DeviceProperties& properties(int device) const = 0;
  virtual std::pair<int, int> priority_range(int device) const = 0;

  /// `position`: where the slot's count stands; the stream goes on from there.
  virtual std::unique_ptr<BackendStream> create_stream(int device, int priority, Slot slot, std::uint64_t position) = 0;
  /// What a stream of other code's is. Without the order lock.
  virtual NativeStream describe(cudaStream_t native, SourceLocation where) = 0;
  /// The stream as one of the backend's, not owned.
  virtual std::unique_ptr<BackendStream> wrap_stream(const NativeStream& native) = 0;
  virtual std::unique_ptr<BackendEvent> wrap_event(cudaEvent_t native) = 0;
  /// Why work on the device cannot reach the memory; empty when it can.
  virtual std::string why_unreachable(int /*device*/, const void* /*memory*/) const { return {}; }
  /// Whether it is memory that only devices of this backend reach.
  virtual bool is_device_memory(const void* /*memory*/) const { return false; }
  virtual bool is_complete(StreamCore& stream, std::uint64_t position) = 0;
  /// Blocks the host until the stream has reached the position. Without the order lock.
  virtual void synchronize(StreamCore& stream, std::uint64_t position) = 0;

  // With the order lock held; each advances the stream's position by one where it enqueues something.
  virtual void run(StreamCore& stream, const Command& command, void* const* addresses) = 0;
  /// A copy of a graph as a command.
  /// @throws Error(Errc::not_supported)
  virtual std::shared_ptr<ForeignWork> copy_graph(cudaGraph_t graph, const Command& command) = 0;
  /// Makes later work of `stream` wait for the point of another stream of this backend.
  virtual void wait(StreamCore& stream, StreamCore& other, std::uint64_t position) = 0;
  /// Enqueues a copy to `landing`, what `take_staging` gave or any memory where that gives none.
  virtual void download(StreamCore& stream, void* landing, const void* source, std::int64_t bytes) = 0;

  /// Whether a copy to or from this host memory makes the host wait for the stream.
  virtual bool is_pageable(const void*) const { return false; }

  // Without the order lock, since they may wait for the device or are the user's.
  /// Lets foreign code put work on the stream, whose position the caller advances.
  /// @throws what it throws; Error naming the command when it leaves the stream capturing or a CUDA error behind
  virtual void call(StreamCore& stream, const Command& command, const ForeignCall& call) = 0;
  /// What it puts on a stream of its own that captures; `stream`: the one that it stands for.
  /// @throws what it throws; Error naming the command when it does what no capture allows
  virtual std::shared_ptr<ForeignWork> capture_call(StreamCore& stream, const Command& command,
                                                    const ForeignCall& call) = 0;
  /// Page-locked memory for a copy to or from the device: with other memory the host would wait for the stream. Null
  /// where copies need none.
  virtual void* take_staging(std::int64_t) { return nullptr; }
  /// Back, once the stream has got to `position` (an upload) or at once (0, after a download).
  virtual void give_staging(void*, StreamCore&, std::uint64_t /*position*/) noexcept {}

  virtual std::unique_ptr<BackendEvent> create_event(int device, EventFlags flags) = 0;

  /// Memory that `stream` may use in stream order. `bytes` > 0. With the order lock held.
  /// @throws Error(Errc::out_of_memory)
  virtual void* allocate(StreamCore& stream, std::int64_t bytes) = 0;
  /// Takes it back once all users have reached their points. With the order lock held.
  virtual void free(int device, void* address, std::int64_t bytes, std::span<const StreamPoint> users) noexcept = 0;
  virtual PoolStats pool_stats(int device) = 0;
  virtual void trim(int device, std::int64_t keep_bytes) = 0;
  virtual void set_pool(int device, cudaMemPool_t pool) = 0;

  /// How a matrix product of this shape is computed. Without the order lock.
  /// @throws Error(Errc::not_supported)
  virtual std::shared_ptr<const MatmulPlan> plan_matmul(int device, const MatmulShape& shape, SourceLocation where) = 0;

  /// Why fused commands cannot be run; empty when they can.
  virtual std::string why_no_fusion() const { return {}; }
  virtual FusionLimits fusion_limits(int device) const = 0;
  virtual std::shared_ptr<Executable> lower(const Plan& plan) = 0;
  /// Null: not offered.
  virtual std::unique_ptr<LiveCapture> begin_live(const LiveOrigin& origin) = 0;
  /// The capture of other code's that the stream is in, as one to record into. `held`: what its nodes will use; the
  /// graph that it makes, its copies and executables keep that.
  virtual std::unique_ptr<LiveCapture> attach_live(StreamCore& /*stream*/, std::shared_ptr<const void> /*held*/) {
    return nullptr;
  }
  /// A live capture is over: what had to wait for that can be done. With the order lock held.
  virtual void live_ended() noexcept {}
};

/// The backend of a kind; a backend without devices is an object too.
inline Backend& backend(DeviceKind kind);
/// Puts another backend in the place of a kind's, for tests that decorate it. Null: its own again.
void replace_backend(DeviceKind kind, Backend* by) noexcept;

// Made by the folders src/host and src/cuda (no_cuda.cpp where there is no toolkit).
Backend& host_backend();
Backend& cuda_backend();

namespace detail {
/// By kind; null before the first use.
extern std::array<std::atomic<Backend*>, 2> backends;
Backend& first_use(DeviceKind kind);
}  // namespace detail

inline Backend& backend(DeviceKind kind) {
  Backend* const known = detail::backends[static_cast<std::size_t>(kind)].load(std::memory_order_acquire);
  return known != nullptr ? *known : detail::first_use(kind);
}

}  // namespace refrain::runtime
