#pragma once

#include "cuda/executable.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

namespace refrain::cuda {

/// A CUDA stream capture with numbered lanes, which live mode records into as the program goes.
class CudaCapture final : public runtime::LiveCapture {
 public:
  enum class Mode : std::uint8_t { thread_local_, relaxed };

  /// `own`: the origin to capture on itself; null: a private stream.
  CudaCapture(Device device, int priority, runtime::StreamCore* own, Mode mode);
  ~CudaCapture() override;
  CudaCapture(const CudaCapture&) = delete;
  CudaCapture& operator=(const CudaCapture&) = delete;

  void fork(int lane, Device device, int priority, runtime::StreamCore* own) override;
  void run(int lane, std::span<const runtime::PlannedCommand> commands) override;
  int record(int lane) override;
  void wait(int lane, int point) override;
  void depend(int lane, int command) override;
  void record_event(int lane, cudaEvent_t event) override;
  void wait_event(int lane, cudaEvent_t event) override;
  cudaStream_t native(int lane) const noexcept override { return lanes_[static_cast<std::size_t>(lane)].stream; }
  std::shared_ptr<runtime::Executable> end(std::span<const std::uint64_t> draw_increments) override;

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    runtime::StreamCore* own = nullptr;  ///< the user's stream, or null when `stream` is ours
    int device = 0;
  };

  void add_lane(Device device, int priority, runtime::StreamCore* own);
  cudaEvent_t new_event(int device);
  void join_lanes();
  void leave() noexcept;

  Device device_;
  bool capturing_ = false;
  bool is_strict_ = false;  ///< counted among this thread's strict captures
  std::vector<Lane> lanes_;
  std::vector<cudaEvent_t> events_;                  ///< all, for destruction
  std::vector<cudaEvent_t> points_;                  ///< by number
  cudaEvent_t beginning_ = nullptr;                  ///< what later lanes fork from
  std::vector<std::vector<cudaGraphNode_t>> nodes_;  ///< by command: what came last
  GraphResources resources_;
};

}  // namespace refrain::cuda
