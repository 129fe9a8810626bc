#pragma once

#include "native_graph.hpp"
#include "support_runtime.hpp"

#include <refrain/refrain.hpp>

#include <cuda_runtime.h>

/// Work of other code's: raw kernels on raw streams, that Refrain is told nothing of.
namespace foreign {

/// Makes a device current for raw calls of this thread.
class DeviceScope {
 public:
  explicit DeviceScope(refrain::Device device) {
    CUDA_REQUIRE(cudaGetDevice(&previous_));
    CUDA_REQUIRE(cudaSetDevice(device.index));
  }
  ~DeviceScope() { cudaSetDevice(previous_); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
};

/// A raw stream of the device that is current for raw calls.
struct Stream : runtime::Owned<cudaStream_t, cudaStreamDestroy> {
  explicit Stream(int priority = 0) {
    CUDA_REQUIRE(cudaStreamCreateWithPriority(out(), cudaStreamNonBlocking, priority));
  }
  explicit Stream(refrain::Device device) {
    const DeviceScope on(device);
    CUDA_REQUIRE(cudaStreamCreateWithFlags(out(), cudaStreamNonBlocking));
  }
};

/// Device memory of cudaMalloc, zeros at first.
template <class T>
struct Memory : runtime::Owned<T*, cudaFree> {
  explicit Memory(std::size_t count) {
    CUDA_REQUIRE(cudaMalloc(this->out(), count * sizeof(T)));
    CUDA_REQUIRE(cudaMemset(*this->out(), 0, count * sizeof(T)));
    CUDA_REQUIRE(cudaDeviceSynchronize());
  }
};

/// x[0] += value
void add(cudaStream_t stream, float* x, float value = 1);
/// Keeps the stream busy for roughly this long. Its device is current for raw calls.
void keep_busy(cudaStream_t stream, int milliseconds = 50);
void keep_busy(refrain::Device device, cudaStream_t stream, int milliseconds = 50);

/// Where the array's elements are.
float* address_of(const refrain::Array& array);
/// Its first element, read by other code's means once the stream is synchronised.
float read_after(cudaStream_t stream, const float* address);

/// Has every kernel loaded that the cases use: what is loaded while a gate holds a stream may wait for that.
struct Case : runtime::Case {
  Case();
};

}  // namespace foreign
