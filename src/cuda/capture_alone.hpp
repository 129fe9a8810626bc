#pragma once

#include "cuda/executable.hpp"

#include <cuda_runtime_api.h>

#include <functional>
#include <mutex>
#include <vector>

namespace refrain::cuda {

/// Streams that calls are captured on, kept for the next one. Blocking towards the legacy stream, so that work which
/// strays there fails and is found.
class CaptureStreams {
 public:
  static CaptureStreams& get();

  /// The device is the current one.
  cudaStream_t take(int device, int priority);
  void give(cudaStream_t stream, int device, int priority);

 private:
  struct Kept {
    cudaStream_t stream;
    int device;
    int priority;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

/// The nodes of Refrain's own calls of a library, captured on a stream of their own. A capture that another thread's
/// device-wide call invalidates is repeated.
OwnedGraph capture_alone(int device, int priority, const std::function<void(cudaStream_t)>& call);

}  // namespace refrain::cuda
