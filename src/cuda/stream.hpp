#pragma once

#include "cuda/scopes.hpp"
#include "cuda/tripwire.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>

namespace refrain::cuda {

class CudaStream final : public runtime::BackendStream {
 public:
  CudaStream(int device, int priority);
  /// Other code's, not owned.
  explicit CudaStream(const runtime::NativeStream& wrapped) noexcept;
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t native() const noexcept override { return stream_; }
  bool is_legacy() const noexcept override { return stream_ == cudaStreamLegacy; }
  void leave(bool is_busy) noexcept override;
  void expose() noexcept override;
  runtime::ForeignCapture foreign_capture() noexcept override;
  bool is_captured() noexcept override { return (is_away_ && !has_left_) || is_out_of_reach(); }
  bool is_out_of_reach() noexcept override;
  void watch() noexcept override { tripwire_.arm(); }
  bool has_strayed() noexcept override { return tripwire_.has_strayed(); }
  runtime::Strayed end_watch() noexcept override { return tripwire_.disarm(); }
  Tripwire& tripwire() noexcept { return tripwire_; }

  /// While the stream is captured itself, and when it is other code's and no handle is left, it is not to be touched:
  /// work on other streams that must follow what it ran waits for the stand-in, or for nothing where that is null. With
  /// the order lock held.
  bool is_away() const noexcept { return is_away_; }
  cudaEvent_t stand_in() const noexcept { return is_away_ ? stand_in_ : nullptr; }
  /// A live capture begins on it.
  void begin_capture();
  /// It is about to join a capture of other code's.
  void join_capture() { step_aside(); }
  /// It is in a live capture already, which other code let it join: nothing covers what it ran before.
  void was_joined() noexcept { is_live_ = is_away_ = true; }
  void end_capture() noexcept;

  // Without the order lock.
  bool query();
  /// @throws Error(Errc::capture_unsupported) when it is out of reach; `self` tells the name
  void synchronize(const runtime::StreamCore& self);

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t stand_in_ = nullptr;  ///< recorded when the stream itself can no longer be asked
  std::atomic<bool> is_away_{false};
  bool is_owned_ = true;
  std::atomic<bool> has_left_{false};
  bool leaves_with_capture_ = false;       ///< guarded by the order lock
  std::atomic<bool> is_uncovered_{false};  ///< left in the middle of a capture, with nothing that covers what it ran
  std::atomic<bool> is_live_{false};
  std::atomic<bool> is_exposed_{false};
  /// Threads that ask or wait for the stream itself. A capture begins when there are none, since such a call would
  /// invalidate it.
  std::atomic<int> asking_{0};
  Tripwire tripwire_;
  class Asking;

  void step_aside();
};

/// What a stream of other code's is.
/// @throws Error(Errc::not_supported)
runtime::NativeStream describe_stream(cudaStream_t native, SourceLocation where);

inline CudaStream& stream_of(runtime::StreamCore& stream) { return static_cast<CudaStream&>(stream.native()); }
/// What work of Refrain's own is put on, until the end of the scope: not into a tripwire.
class NativeUse {
 public:
  /// @throws Error(Errc::shutting_down)
  explicit NativeUse(runtime::StreamCore& stream) : NativeUse(stream_of(stream)) {}
  /// `unlocked`: without the order lock, so that somebody may arm the tripwire meanwhile.
  explicit NativeUse(CudaStream& stream, bool unlocked = false) : native_(stream.native()) {
    refuse_at_end();
    if (!unlocked && !stream.tripwire().is_armed()) return;
    tripwire_ = &stream.tripwire();
    tripwire_->lift();
  }
  ~NativeUse() {
    if (tripwire_ != nullptr) tripwire_->drop();
  }
  NativeUse(const NativeUse&) = delete;
  NativeUse& operator=(const NativeUse&) = delete;

  operator cudaStream_t() const noexcept { return native_; }

 private:
  cudaStream_t native_;
  Tripwire* tripwire_ = nullptr;
};

/// Makes `stream` wait for what `other` has been given so far. With the order lock held.
void wait_for_stream(cudaStream_t stream, runtime::StreamCore& other);

std::unique_ptr<runtime::BackendEvent> create_cuda_event(int device, EventFlags flags);
std::unique_ptr<runtime::BackendEvent> wrap_cuda_event(cudaEvent_t native);

}  // namespace refrain::cuda
