#pragma once

#include "cuda/scopes.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>

namespace refrain::cuda {

class CudaStream final : public runtime::BackendStream {
 public:
  CudaStream(int device, int priority);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t native() const noexcept override { return stream_; }

  /// While the stream itself is captured live, eager work on other streams that must follow what it ran before waits
  /// for this; else null. With the order lock held.
  cudaEvent_t before_capture() const noexcept { return is_captured_ ? before_capture_ : nullptr; }
  void begin_capture();
  void end_capture() noexcept;

  // Without the order lock.
  bool query();
  void synchronize();

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t before_capture_ = nullptr;  ///< made for the first capture
  std::atomic<bool> is_captured_{false};
  /// Threads that ask or wait for the stream itself. A capture begins when there are none, since such a call would
  /// invalidate it.
  std::atomic<int> asking_{0};
  class Asking;
};

inline CudaStream& stream_of(runtime::StreamCore& stream) { return static_cast<CudaStream&>(stream.native()); }
/// What work is put on.
/// @throws Error(Errc::shutting_down)
inline cudaStream_t native_of(runtime::StreamCore& stream) {
  refuse_at_end();
  return stream_of(stream).native();
}

/// Makes `stream` wait for what `other` has been given so far. With the order lock held.
void wait_for_stream(cudaStream_t stream, runtime::StreamCore& other);

std::unique_ptr<runtime::BackendEvent> create_cuda_event(int device, EventFlags flags);

}  // namespace refrain::cuda
