// A library as a PyTorch extension may be one: it works on its caller's stream and memory, and need not know whether
// the caller captures that stream.

#include <refrain/cuda.hpp>

#include <cstdint>
#include <exception>
#include <iostream>

namespace rf = refrain;

namespace {

__global__ void add(float* x, float value, long n) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) x[i] += value;
}

}  // namespace

/// out = 2 in + 1 on the stream. Returns 0 or, having said why, 1.
extern "C" __attribute__((visibility("default"))) int double_plus_one(void* stream, const float* in, float* out,
                                                                      std::int64_t n) {
  try {
    const rf::Stream caller = rf::Stream::wrap(static_cast<cudaStream_t>(stream));
    const rf::StreamGuard on(caller);
    const rf::Array x = rf::from_blob(const_cast<float*>(in), {n});
    rf::Array y = rf::from_blob(out, {n});
    const rf::Array half = x * rf::array({1.0F});
    y.assign(x + half);
    caller.launch({.grid = static_cast<unsigned>((n + 255) / 256), .block = 256, .label = "add"}, add, y, 1.0F,
                  static_cast<long>(n));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

/// What Refrain holds on the first device, once it has let go of what graphs have given back.
extern "C" __attribute__((visibility("default"))) std::int64_t live_bytes() {
  const rf::Device device{rf::DeviceKind::cuda, 0};
  rf::synchronize(device);
  return rf::memory_stats(device).live;
}
