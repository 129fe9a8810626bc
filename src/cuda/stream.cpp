#include "cuda/stream.hpp"

#include "cuda/compat.hpp"
#include "runtime/environment.hpp"

#include <refrain/error.hpp>

#include <array>
#include <optional>

namespace refrain::cuda {

namespace {

cudaStream_t create_stream(int device, int priority) {
  const DeviceScope current(device);
  const CallScope call;
  cudaStream_t stream = nullptr;
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return stream;
}

[[noreturn]] void refuse_out_of_reach(const runtime::StreamCore& stream, const char* call) {
  throw Error(
      Errc::capture_unsupported, call, stream.str(),
      "is captured by other code, and before that capture has ended it can be neither asked nor waited for, what "
      "was put on it earlier included; synchronize with that before the capture, or wait for an event recorded "
      "before it");
}

}  // namespace

CudaStream::CudaStream(int device, int priority)
    : device_(device), stream_(create_stream(device, priority)), tripwire_(stream_) {}

CudaStream::CudaStream(const runtime::NativeStream& wrapped) noexcept
    : device_(wrapped.device), stream_(wrapped.handle), is_owned_(false), tripwire_(stream_) {
  expose();
}

CudaStream::~CudaStream() {
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  if (is_owned_) ignore(cudaStreamDestroy(stream_));
  if (stand_in_ != nullptr) ignore(cudaEventDestroy(stand_in_));
}

runtime::NativeStream describe_stream(cudaStream_t native, SourceLocation where) {
  if (native == cudaStreamPerThread) {
    throw Error(Errc::not_supported, "wrap", "cudaStreamPerThread",
                "is another stream in each thread; give a stream that cudaStreamCreate made", where);
  }
  const CallScope call;
  runtime::NativeStream described;
  described.is_legacy = native == nullptr || native == cudaStreamLegacy;
  described.handle = described.is_legacy ? cudaStreamLegacy : native;
  described.device = stream_device(described.handle);
  REFRAIN_CUDA_CHECK(cudaStreamGetPriority(described.handle, &described.priority));
  return described;
}

/// A call on the stream from another thread's point of view: either it is seen by a capture that begins, or it sees it.
class CudaStream::Asking {
 public:
  explicit Asking(CudaStream& stream) noexcept : stream_(stream) {
    ++stream_.asking_;
    stream_.tripwire_.lift();
  }
  ~Asking() {
    stream_.tripwire_.drop();
    if (--stream_.asking_ == 0 && stream_.is_away_) stream_.asking_.notify_all();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  CudaStream& stream_;
};

bool CudaStream::query() {
  const Asking asking(*this);
  if (is_captured()) return false;
  if (is_away_ && stand_in_ == nullptr) return true;
  const CallScope call;
  std::optional<DeviceScope> current;  // each device has a legacy stream, all of one handle
  if (is_legacy()) current.emplace(device_);
  const cudaError_t status = is_away_ ? cudaEventQuery(stand_in_) : cudaStreamQuery(stream_);
  if (status == cudaErrorNotReady) {
    ignore(cudaGetLastError());
    return false;
  }
  check(status, "cudaStreamQuery");
  return true;
}

void CudaStream::synchronize(const runtime::StreamCore& self) {
  const CallScope call;
  {
    const Asking asking(*this);
    if (is_out_of_reach()) refuse_out_of_reach(self, "synchronize");
    std::optional<DeviceScope> current;
    if (is_legacy()) current.emplace(device_);
    if (!is_away_) {
      REFRAIN_CUDA_CHECK(cudaStreamSynchronize(stream_));
      return;
    }
  }
  if (stand_in_ != nullptr) REFRAIN_CUDA_CHECK(cudaEventSynchronize(stand_in_));
}

void CudaStream::begin_capture() {
  step_aside();
  for (int count = asking_; count > 0; count = asking_) asking_.wait(count);
  is_live_ = true;
}

void CudaStream::expose() noexcept {
  is_exposed_ = true;
  has_exposed_streams() = true;
}

runtime::ForeignCapture CudaStream::foreign_capture() noexcept {
  if (is_legacy() || is_live_ || has_left_ || ends_elsewhere()) return {};
  return tripwire_.foreign_capture();
}

bool CudaStream::is_out_of_reach() noexcept {
  if (is_uncovered_) return true;
  if (!is_exposed_ || is_away_) return false;
  const runtime::ForeignCapture capture = foreign_capture();
  return capture.id != 0 || capture.is_broken;
}

void CudaStream::leave(bool is_busy) noexcept {
  if (is_owned_ || ends_elsewhere()) return;
  if (is_away_) {  // what it ran is before the capture, and its stand-in tells when that is done
    leaves_with_capture_ = true;
    return;
  }
  try {
    if (is_out_of_reach()) {
      is_uncovered_ = is_busy;
      is_away_ = true;
    } else if (!is_away_) {
      step_aside();
    }
    has_left_ = true;
  } catch (...) {
    // The native stream is gone or captures: nothing can be asked any more, and nothing is known to be done.
  }
}

void CudaStream::step_aside() {
  const DeviceScope current(device_);
  const NativeUse native(*this);
  const CallScope call;
  if (stand_in_ == nullptr) {
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&stand_in_, cudaEventDisableTiming));
  }
  REFRAIN_CUDA_CHECK(cudaEventRecord(stand_in_, native));
  is_away_ = true;
}

void CudaStream::end_capture() noexcept {
  is_live_ = false;
  if (leaves_with_capture_) has_left_ = true;
  is_away_ = has_left_.load();
}

void wait_for_stream(cudaStream_t stream, runtime::StreamCore& other) {
  CudaStream& awaited = stream_of(other);
  if (awaited.is_out_of_reach()) refuse_out_of_reach(other, "wait");
  if (awaited.is_away()) {
    if (awaited.stand_in() != nullptr) REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream, awaited.stand_in(), 0));
    return;
  }
  // One event a device serves all such waits: a wait covers the record that was the newest when it was issued, and
  // the order lock keeps the two calls together.
  static auto& relays = *new std::array<cudaEvent_t, runtime::most_devices>{};
  cudaEvent_t& relay = relays[static_cast<std::size_t>(other.device.index)];
  const DeviceScope current(other.device.index);
  const NativeUse native(awaited);
  if (relay == nullptr) {
    const CallScope call;
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&relay, cudaEventDisableTiming));
  }
  REFRAIN_CUDA_CHECK(cudaEventRecord(relay, native));
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream, relay, 0));
}

}  // namespace refrain::cuda
