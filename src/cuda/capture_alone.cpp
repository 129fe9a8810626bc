#include "cuda/capture_alone.hpp"

#include "cuda/scopes.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <exception>

namespace refrain::cuda {

CaptureStreams& CaptureStreams::get() {
  static CaptureStreams& all = *new CaptureStreams;
  return all;
}

cudaStream_t CaptureStreams::take(int device, int priority) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.device == device && kept.priority == priority;
    });
    if (found != kept_.end()) {
      const cudaStream_t stream = found->stream;
      kept_.erase(found);
      return stream;
    }
  }
  cudaStream_t stream = nullptr;
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, priority));
  return stream;
}

void CaptureStreams::give(cudaStream_t stream, int device, int priority) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({stream, device, priority});
}

OwnedGraph capture_alone(int device, int priority, const std::function<void(cudaStream_t)>& call) {
  constexpr int most_attempts = 100;
  const DeviceScope current(device);
  const CallScope scope;
  const cudaStream_t stream = CaptureStreams::get().take(device, priority);
  for (int attempt = 1;; ++attempt) {
    REFRAIN_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    std::exception_ptr failed;
    try {
      call(stream);
    } catch (...) {
      failed = std::current_exception();
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream, &graph);
    OwnedGraph owned(graph);
    if (status == cudaErrorStreamCaptureInvalidated && attempt < most_attempts) {
      ignore(cudaGetLastError());
      continue;
    }
    CaptureStreams::get().give(stream, device, priority);
    if (failed != nullptr) std::rethrow_exception(failed);
    check(status, "cudaStreamEndCapture");
    return owned;
  }
}

}  // namespace refrain::cuda
