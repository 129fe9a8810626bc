// Graphed functions with kernels of the program's own, and in captures of other code's.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/cuda.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace refrain::test {

namespace {

__global__ void scale(const float* in, float factor, float* out, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) out[i] = in[i] * factor;
}

/// As cudaMalloc gives it.
class DeviceFloats {
 public:
  explicit DeviceFloats(float value) {
    BOOST_REQUIRE(cudaMalloc(&address_, size * sizeof(float)) == cudaSuccess);
    const std::vector<float> values(size, value);
    BOOST_REQUIRE(cudaMemcpy(address_, values.data(), size * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~DeviceFloats() {
    (void)cudaDeviceSynchronize();
    (void)cudaFree(address_);
  }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;

  static constexpr int size = 100;
  static constexpr std::int64_t bytes = size * sizeof(float);
  float* get() const { return address_; }
  float front() const {
    float value = 0;
    (void)cudaDeviceSynchronize();
    BOOST_REQUIRE(cudaMemcpy(&value, address_, sizeof(value), cudaMemcpyDeviceToHost) == cudaSuccess);
    return value;
  }

 private:
  float* address_ = nullptr;
};

const LaunchConfig one_block{.grid = 1, .block = 128, .label = "scale"};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_graphed, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(kernels_have_the_addresses_of_each_call) {
  const DeviceFloats a(1);
  const DeviceFloats b(10);
  const DeviceFloats out(0);
  auto step = graphed([](auto in, auto to, const Param<float>& factor) {
    current_stream().launch(one_block, scale, in, factor, to, int{DeviceFloats::size});
  });
  const auto call = [&](const DeviceFloats& in, float factor) {
    step(read(in.get(), DeviceFloats::bytes), write(out.get(), DeviceFloats::bytes), Param<float>(factor));
    synchronize();
    return out.front();
  };
  for (int i = 1; i < 6; ++i) {
    BOOST_TEST(call(a, static_cast<float>(i)) == static_cast<float>(i));
    BOOST_TEST(call(b, static_cast<float>(i)) == static_cast<float>(10 * i));
  }
  BOOST_TEST(step.statistics().recordings == 1);
  BOOST_TEST(step.statistics().hits == 9);
}

BOOST_AUTO_TEST_CASE(kernels_have_the_arrays_of_each_call) {
  auto step = graphed([](const Array& x, float factor) {
    const Array y = empty({100});
    current_stream().launch(one_block, scale, x, factor, y, 100);
    return y + 1;
  });
  std::vector<Array> kept;
  for (int i = 0; i < 12; ++i) {
    const Array x = filled(static_cast<float>(i), 100);
    kept.push_back(step(x, 2.0F));
    BOOST_TEST(holds(kept.back(), 2 * i + 1));
  }
  for (int i = 0; i < 12; ++i) BOOST_TEST(holds(kept[static_cast<std::size_t>(i)], 2 * i + 1));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(a_bare_address_is_that_of_its_recording) {
  const DeviceFloats a(1);
  const DeviceFloats b(10);
  const DeviceFloats out(0);
  auto step = graphed([&](auto in) {
    current_stream().launch(one_block, scale, static_cast<const float*>(in.address), 3.0F, out.get(),
                            int{DeviceFloats::size});
  });
  for (int i = 0; i < 3; ++i) {
    step(read(a.get(), DeviceFloats::bytes));
    synchronize();
    BOOST_TEST(out.front() == 3.0F);
    step(read(b.get(), DeviceFloats::bytes));
    synchronize();
    BOOST_TEST(out.front() == 30.0F);
  }
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_CASE(replays_under_way_keep_the_buffers_they_began_with) {
  auto step = graphed(
      [](const Array& x) {
        Array y = x;
        for (int i = 0; i < 20; ++i) y = y * 1.0F + 1;
        return sum(y);
      },
      {.buffer_sets = 1});
  const std::int64_t many = 1 << 20;
  std::vector<Array> inputs;
  for (int i = 0; i < 16; ++i) inputs.push_back(filled(static_cast<float>(i), many));
  std::vector<Array> results;
  for (const Array& x : inputs) results.push_back(step(x));  // none is waited for
  for (int i = 0; i < 16; ++i) {
    BOOST_TEST(holds(results[static_cast<std::size_t>(i)], static_cast<double>(many) * (i + 20)));
  }
  BOOST_TEST(step.statistics().rebinds == 15);
}

BOOST_AUTO_TEST_CASE(in_a_capture_of_other_codes_it_is_a_part_of_that) {
  cudaStream_t native = nullptr;
  BOOST_REQUIRE(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking) == cudaSuccess);
  {
    const Stream stream = Stream::wrap(native);
    const StreamGuard on(stream);
    auto step = graphed([](Array x) { x += 1; });
    Array x = filled(0);
    step(x);
    synchronize();
    cudaGraph_t graph = nullptr;
    BOOST_REQUIRE(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    step(x);
    step(x);
    BOOST_REQUIRE(cudaStreamEndCapture(native, &graph) == cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    BOOST_REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int i = 0; i < 3; ++i) BOOST_TEST(cudaGraphLaunch(exec, native) == cudaSuccess);
    BOOST_TEST(cudaStreamSynchronize(native) == cudaSuccess);
    BOOST_TEST(holds(x, 7));
    step(x);
    BOOST_TEST(holds(x, 8));
    BOOST_TEST(step.statistics().recordings == 1);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
  }
  (void)cudaStreamDestroy(native);
}

BOOST_AUTO_TEST_CASE(device_wide_calls_of_another_thread_do_not_harm_a_recording) {
  std::atomic<bool> is_over = false;
  std::thread noise([&] {
    while (!is_over) {
      void* address = nullptr;
      if (cudaMalloc(&address, 1 << 20) == cudaSuccess) (void)cudaFree(address);
      (void)cudaDeviceSynchronize();
    }
  });
  for (int round = 0; round < 20; ++round) {
    auto step = graphed([&](const Array& x) { return softmax(x * round, -1) + 1; });
    const Array x = filled(2, 64);
    for (int i = 0; i < 3; ++i) BOOST_TEST(step(x).size() == 64);
  }
  is_over = true;
  noise.join();
  (void)cudaGetLastError();
}

BOOST_AUTO_TEST_CASE(the_native_stream_is_asked_for_in_a_body_that_runs_eagerly) {
  const Stream stream;
  const StreamGuard on(stream);
  auto step = graphed([&](Array x) {
    x += 1;
    const cudaStream_t native = stream.native();
    scale<<<1, 128, 0, native>>>(data<float>(x), 2.0F, data<float>(x), 4);
    x += 1;
  });
  for (int i = 0; i < 3; ++i) {
    Array x = filled(static_cast<float>(i));
    step(x);
    BOOST_TEST(holds(x, 2 * (i + 1) + 1));
  }
  BOOST_TEST(step.statistics().eager == 3);
}

BOOST_AUTO_TEST_CASE(in_a_capture_that_another_part_has_broken_it_says_so_and_works_afterwards) {
  cudaStream_t native = nullptr;
  BOOST_REQUIRE(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking) == cudaSuccess);
  {
    const Stream stream = Stream::wrap(native);
    const StreamGuard on(stream);
    auto step = graphed([](const Array& x) { return x + 1; });
    const Array x = filled(1);
    (void)step(x);
    synchronize();
    cudaGraph_t graph = nullptr;
    BOOST_REQUIRE(cudaStreamBeginCapture(native, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    BOOST_TEST(cudaStreamSynchronize(native) != cudaSuccess);  // which breaks the capture
    require_error(Errc::capture_invalidated, [&] { (void)step(x); });
    BOOST_TEST(cudaStreamEndCapture(native, &graph) != cudaSuccess);
    (void)cudaGetLastError();
    BOOST_TEST(holds(step(x), 2));
  }
  (void)cudaStreamDestroy(native);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
