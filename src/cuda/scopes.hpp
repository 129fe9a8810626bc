#pragma once

#include "cuda/check.hpp"
#include "cuda/process_end.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <optional>

namespace refrain::cuda {

/// Whether there is more than one GPU, so that a thread may have another one current than a call needs.
bool has_several_devices() noexcept;

/// Makes a device current for CUDA's runtime calls of this thread, and restores the one that was.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    if (!has_several_devices()) return;
    REFRAIN_CUDA_CHECK(cudaGetDevice(&previous_));
    if (previous_ == device) return;
    REFRAIN_CUDA_CHECK(cudaSetDevice(device));
    changed_ = true;
  }
  ~DeviceScope() {
    if (changed_) ignore(cudaSetDevice(previous_));
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

/// How many captures that forbid unsafe calls this thread has open through Refrain.
int& strict_captures() noexcept;

/// Whether other code has streams of Refrain's, or Refrain of its: then it may capture, in any mode.
std::atomic<bool>& has_exposed_streams() noexcept;

/// Calls that CUDA calls unsafe while anybody captures (queries, synchronisation, allocation, instantiation,
/// destruction) neither fail nor invalidate a capture in this mode.
class RelaxedScope {
 public:
  RelaxedScope() noexcept : may_call_(!ends_elsewhere()) {
    if (may_call_) ignore(cudaThreadExchangeStreamCaptureMode(&mode_));
  }
  ~RelaxedScope() {
    if (may_call_) ignore(cudaThreadExchangeStreamCaptureMode(&mode_));
  }
  RelaxedScope(const RelaxedScope&) = delete;
  RelaxedScope& operator=(const RelaxedScope&) = delete;

  /// False when the process ends: destructors leave CUDA's things alone then.
  bool may_call() const noexcept { return may_call_; }

 private:
  UnlockedCall call_;
  bool may_call_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The same where a call may throw.
class CallScope : public RelaxedScope {
 public:
  /// @throws Error(Errc::shutting_down)
  CallScope() { refuse_at_end(); }
};

/// The same for the two calls of every eager op, allocation and free: only where this thread itself captures or other
/// code may, since changing the mode costs a twentieth of the op.
class RelaxedWhileCapturing {
 public:
  RelaxedWhileCapturing() noexcept {
    if (strict_captures() > 0 || has_exposed_streams().load(std::memory_order_relaxed)) relaxed_.emplace();
  }

 private:
  std::optional<RelaxedScope> relaxed_;
};

}  // namespace refrain::cuda
