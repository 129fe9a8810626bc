#pragma once

#include "cuda/executable.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

namespace refrain::cuda {

/// Numbered lanes on really capturing streams.
class CaptureLanes : public runtime::LiveCapture {
 public:
  ~CaptureLanes() override = default;
  CaptureLanes(const CaptureLanes&) = delete;
  CaptureLanes& operator=(const CaptureLanes&) = delete;

  void run(int lane, int command, std::span<const runtime::PlannedCommand> commands) override;
  void call(int lane, const runtime::Command& command, const runtime::ForeignCall& call) override;
  int record(int lane) override;
  void wait(int lane, int point) override;
  void depend(int lane, int command) override;
  void record_event(int lane, cudaEvent_t event) override;
  void wait_event(int lane, cudaEvent_t event) override;
  cudaStream_t native(int lane) const noexcept override { return lanes_[static_cast<std::size_t>(lane)].stream; }

 protected:
  struct Lane {
    cudaStream_t stream = nullptr;
    runtime::StreamCore* own = nullptr;  ///< the user's stream, or null when `stream` is ours
    int device = 0;
  };

  CaptureLanes() = default;
  cudaEvent_t new_event(int device);
  /// Leaves the streams to themselves.
  void drop_lanes() noexcept;

  std::vector<Lane> lanes_;
  std::shared_ptr<GraphResources> resources_ = std::make_shared<GraphResources>();

 private:
  std::vector<cudaEvent_t> events_;                  ///< all, for destruction
  std::vector<cudaEvent_t> points_;                  ///< by number
  std::vector<std::vector<cudaGraphNode_t>> nodes_;  ///< by command: what came last
};

/// A capture of Refrain's, which live mode records into as the program goes.
class CudaCapture final : public CaptureLanes {
 public:
  explicit CudaCapture(const runtime::LiveOrigin& origin);
  ~CudaCapture() override;
  CudaCapture(const CudaCapture&) = delete;
  CudaCapture& operator=(const CudaCapture&) = delete;

  void fork(int lane, Device device, int priority, runtime::StreamCore* own) override;
  std::shared_ptr<runtime::Executable> end(std::span<const std::uint64_t> draw_increments) override;
  std::uint64_t capture_id() const noexcept override { return id_; }

 private:
  void add_lane(Device device, int priority, runtime::StreamCore* own);
  /// With `guards_legacy_stream_`: a stream that blocks the device's legacy stream joins the capture.
  void guard(int device);
  void join_lanes();
  void join(int device, cudaStream_t stream);
  void leave() noexcept;

  struct Guard {
    int device;
    cudaStream_t stream;
  };

  Device device_;
  bool guards_legacy_stream_;
  std::vector<Guard> guards_;  ///< one a device
  bool capturing_ = false;
  std::uint64_t id_ = 0;
  bool is_strict_ = false;           ///< counted among this thread's strict captures
  cudaEvent_t beginning_ = nullptr;  ///< what later lanes fork from
};

/// A capture that other code has begun. It ends without a word.
class AttachedCapture final : public CaptureLanes {
 public:
  /// `stream` is in it. `held`: kept as long as the graph that it makes, its copies and executables.
  AttachedCapture(runtime::StreamCore& stream, std::shared_ptr<const void> held);
  ~AttachedCapture() override;
  AttachedCapture(const AttachedCapture&) = delete;
  AttachedCapture& operator=(const AttachedCapture&) = delete;

  /// A stream that is not in the capture yet joins by what it waits for next.
  void fork(int lane, Device device, int priority, runtime::StreamCore* own) override;
  std::shared_ptr<runtime::Executable> end(std::span<const std::uint64_t>) override { return nullptr; }

 private:
  std::uint64_t id_;
};

}  // namespace refrain::cuda
