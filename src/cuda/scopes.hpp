#pragma once

#include "cuda/check.hpp"

#include <cuda_runtime_api.h>

namespace refrain::cuda {

/// Makes a device current for CUDA's runtime calls of this thread, and restores the one that was.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
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

}  // namespace refrain::cuda
