#pragma once

#include "cuda/scopes.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <shared_mutex>

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
  cudaEvent_t before_capture() const noexcept { return before_capture_; }
  void begin_capture();
  void end_capture() noexcept;

  // Without the order lock.
  bool query();
  void synchronize();

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t before_capture_ = nullptr;
  /// A capture begins and ends when nobody asks or waits: it would be asked for a stream that is capturing, which
  /// invalidates it, or for an event that is gone.
  std::shared_mutex capture_mutex_;
};

inline CudaStream& stream_of(runtime::StreamCore& stream) { return static_cast<CudaStream&>(stream.native()); }
inline cudaStream_t native_of(runtime::StreamCore& stream) { return stream_of(stream).native(); }

/// Makes `stream` wait for what `other` has been given so far. With the order lock held.
void wait_for_stream(cudaStream_t stream, runtime::StreamCore& other);

std::unique_ptr<runtime::BackendEvent> create_cuda_event(int device, EventFlags flags);

}  // namespace refrain::cuda
