#include "support_foreign.hpp"

#include "support.hpp"

#include <refrain/enqueue.hpp>

namespace rf = refrain;

namespace foreign {
namespace {

__global__ void add_to(float* x, float value) { *x += value; }

__global__ void spin(long long nanoseconds) {
  const auto now = [] {
    long long time = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
  };
  const long long begin = now();
  while (now() - begin < nanoseconds) {
  }
}

}  // namespace

void add(cudaStream_t stream, float* x, float value) {
  void* arguments[] = {&x, &value};
  CUDA_REQUIRE(cudaLaunchKernel(add_to, 1, 1, arguments, 0, stream));
}

void keep_busy(cudaStream_t stream, int milliseconds) {
  long long nanoseconds = milliseconds * 1'000'000LL;
  void* arguments[] = {&nanoseconds};
  CUDA_REQUIRE(cudaLaunchKernel(spin, 1, 1, arguments, 0, stream));
}

void keep_busy(rf::Device device, cudaStream_t stream, int milliseconds) {
  const DeviceScope on(device);
  keep_busy(stream, milliseconds);
}

float* address_of(const rf::Array& array) {
  float* address = nullptr;
  const rf::Stream stream(array.device());
  stream.enqueue("address", rf::readwrite(array), [&](cudaStream_t, float* x) { address = x; });
  stream.synchronize();
  return address;
}

float read_after(cudaStream_t stream, const float* address) {
  CUDA_REQUIRE(cudaStreamSynchronize(stream));
  float value = 0;
  CUDA_REQUIRE(cudaMemcpy(&value, address, sizeof(float), cudaMemcpyDefault));
  return value;
}

Case::Case() {
  runtime::load(add_to);
  runtime::load(spin);
  rf::Array x = rf::full({4}, 1);
  x *= 3;
  x += 1;
  x.assign(5);
  BOOST_TEST(rf::test::holds(x * 2 + x, 15));
  rf::bench::empty(rf::current_stream());
  rf::synchronize();
}

}  // namespace foreign
