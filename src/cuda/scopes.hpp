#pragma once

#include "cuda/check.hpp"

#include <cuda_runtime_api.h>

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

/// Calls that CUDA calls unsafe while anybody captures (queries, synchronisation, allocation, instantiation,
/// destruction) neither fail nor invalidate a capture in this mode.
class RelaxedScope {
 public:
  RelaxedScope() noexcept { ignore(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedScope() { ignore(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedScope(const RelaxedScope&) = delete;
  RelaxedScope& operator=(const RelaxedScope&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The same for the two calls of every eager op, allocation and free: only where this thread itself captures, since
/// changing the mode costs a twentieth of the op.
class RelaxedWhileCapturing {
 public:
  RelaxedWhileCapturing() noexcept {
    if (strict_captures() > 0) relaxed_.emplace();
  }

 private:
  std::optional<RelaxedScope> relaxed_;
};

}  // namespace refrain::cuda
