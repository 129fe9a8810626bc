#include "cuda/stream.hpp"

#include "runtime/environment.hpp"

#include <array>
#include <mutex>

namespace refrain::cuda {

CudaStream::CudaStream(int device, int priority) : device_(device) {
  const DeviceScope current(device);
  const RelaxedScope relaxed;
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
}

CudaStream::~CudaStream() {
  const RelaxedScope relaxed;
  ignore(cudaStreamDestroy(stream_));
  if (before_capture_ != nullptr) ignore(cudaEventDestroy(before_capture_));
}

bool CudaStream::query() {
  const std::shared_lock lock(capture_mutex_);
  if (before_capture_ != nullptr) return false;
  const RelaxedScope relaxed;
  const cudaError_t status = cudaStreamQuery(stream_);
  if (status == cudaErrorNotReady) {
    ignore(cudaGetLastError());
    return false;
  }
  check(status, "cudaStreamQuery");
  return true;
}

void CudaStream::synchronize() {
  const std::shared_lock lock(capture_mutex_);
  const RelaxedScope relaxed;
  if (before_capture_ != nullptr) {
    REFRAIN_CUDA_CHECK(cudaEventSynchronize(before_capture_));
  } else {
    REFRAIN_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
}

void CudaStream::begin_capture() {
  const std::unique_lock lock(capture_mutex_);
  const DeviceScope current(device_);
  const RelaxedScope relaxed;
  REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&before_capture_, cudaEventDisableTiming));
  REFRAIN_CUDA_CHECK(cudaEventRecord(before_capture_, stream_));
}

void CudaStream::end_capture() noexcept {
  const std::unique_lock lock(capture_mutex_);
  const RelaxedScope relaxed;
  ignore(cudaEventDestroy(before_capture_));
  before_capture_ = nullptr;
}

void wait_for_stream(cudaStream_t stream, runtime::StreamCore& other) {
  CudaStream& awaited = stream_of(other);
  if (awaited.before_capture() != nullptr) {
    REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream, awaited.before_capture(), 0));
    return;
  }
  // One event a device serves all such waits: a wait covers the record that was the newest when it was issued, and
  // the order lock keeps the two calls together.
  static auto& relays = *new std::array<cudaEvent_t, runtime::most_devices>{};
  cudaEvent_t& relay = relays[static_cast<std::size_t>(other.device.index)];
  const DeviceScope current(other.device.index);
  if (relay == nullptr) {
    const RelaxedScope relaxed;
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&relay, cudaEventDisableTiming));
  }
  REFRAIN_CUDA_CHECK(cudaEventRecord(relay, awaited.native()));
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream, relay, 0));
}

}  // namespace refrain::cuda
