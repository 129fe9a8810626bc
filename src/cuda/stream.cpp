#include "cuda/stream.hpp"

#include "runtime/environment.hpp"

#include <array>

namespace refrain::cuda {

CudaStream::CudaStream(int device, int priority) : device_(device) {
  const DeviceScope current(device);
  const CallScope call;
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
}

CudaStream::~CudaStream() {
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  ignore(cudaStreamDestroy(stream_));
  if (before_capture_ != nullptr) ignore(cudaEventDestroy(before_capture_));
}

/// A call on the stream from another thread's point of view: either it is seen by a capture that begins, or it sees it.
class CudaStream::Asking {
 public:
  explicit Asking(CudaStream& stream) noexcept : stream_(stream) { ++stream_.asking_; }
  ~Asking() {
    if (--stream_.asking_ == 0 && stream_.is_captured_) stream_.asking_.notify_all();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  CudaStream& stream_;
};

bool CudaStream::query() {
  const Asking asking(*this);
  if (is_captured_) return false;
  const CallScope call;
  const cudaError_t status = cudaStreamQuery(stream_);
  if (status == cudaErrorNotReady) {
    ignore(cudaGetLastError());
    return false;
  }
  check(status, "cudaStreamQuery");
  return true;
}

void CudaStream::synchronize() {
  const CallScope call;
  {
    const Asking asking(*this);
    if (!is_captured_) {
      REFRAIN_CUDA_CHECK(cudaStreamSynchronize(stream_));
      return;
    }
  }
  REFRAIN_CUDA_CHECK(cudaEventSynchronize(before_capture_));
}

void CudaStream::begin_capture() {
  const DeviceScope current(device_);
  const CallScope call;
  if (before_capture_ == nullptr) {
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&before_capture_, cudaEventDisableTiming));
  }
  REFRAIN_CUDA_CHECK(cudaEventRecord(before_capture_, stream_));
  is_captured_ = true;
  for (int count = asking_; count > 0; count = asking_) asking_.wait(count);
}

void CudaStream::end_capture() noexcept { is_captured_ = false; }

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
    const CallScope call;
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&relay, cudaEventDisableTiming));
  }
  REFRAIN_CUDA_CHECK(cudaEventRecord(relay, awaited.native()));
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream, relay, 0));
}

}  // namespace refrain::cuda
