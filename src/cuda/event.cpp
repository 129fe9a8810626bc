#include "cuda/stream.hpp"

namespace refrain::cuda {

namespace {

class CudaEvent final : public runtime::BackendEvent {
 public:
  CudaEvent(int device, EventFlags flags) {
    const DeviceScope current(device);
    const CallScope call;
    unsigned native_flags = cudaEventDefault;
    if (!flags.timing) native_flags |= cudaEventDisableTiming;
    if (flags.blocking) native_flags |= cudaEventBlockingSync;
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&event_, native_flags));
  }
  /// Other code's, not owned.
  explicit CudaEvent(cudaEvent_t wrapped) noexcept : event_(wrapped), is_owned_(false) {}
  ~CudaEvent() override {
    if (!is_owned_) return;
    const RelaxedScope relaxed;
    if (!relaxed.may_call()) return;
    ignore(cudaEventDestroy(event_));
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(runtime::StreamCore& stream) override {
    const DeviceScope current(stream.device.index);
    REFRAIN_CUDA_CHECK(cudaEventRecord(event_, NativeUse(stream)));
    ++stream.position;
  }

  void wait(runtime::StreamCore& stream) override {
    const DeviceScope current(stream.device.index);
    REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(NativeUse(stream), event_, 0));
    ++stream.position;
  }

  bool query() override {
    const CallScope call;
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      ignore(cudaGetLastError());
      return false;
    }
    check(status, "cudaEventQuery");
    return true;
  }

  void synchronize() override {
    const CallScope call;
    REFRAIN_CUDA_CHECK(cudaEventSynchronize(event_));
  }

  std::chrono::nanoseconds elapsed(runtime::BackendEvent& end) override {
    const CallScope call;
    float milliseconds = 0;
    REFRAIN_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, static_cast<CudaEvent&>(end).event_));
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double, std::milli>(milliseconds));
  }

  cudaEvent_t native() const noexcept override { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
  bool is_owned_ = true;
};

}  // namespace

std::unique_ptr<runtime::BackendEvent> create_cuda_event(int device, EventFlags flags) {
  return std::make_unique<CudaEvent>(device, flags);
}

std::unique_ptr<runtime::BackendEvent> wrap_cuda_event(cudaEvent_t native) {
  return std::make_unique<CudaEvent>(native);
}

}  // namespace refrain::cuda
