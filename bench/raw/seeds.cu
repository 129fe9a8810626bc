// The three seed programs in plain CUDA: the same nodes and edges, the numbers drawn by cuRAND's device API.
// Each block of a drawing kernel keeps its own place in the random sequence, so that replays go on as eager
// steps do.

#include "raw/program.hpp"

#include <curand_kernel.h>

#include <array>
#include <cstdint>

namespace refrain::bench {
namespace {

using Offset = unsigned long long;

constexpr int block = 256;
constexpr int blocks_for(int elements) { return (elements + block - 1) / block; }

// How far a draw of up to 4 numbers a thread advances the sequence, and how many draws a step has.
constexpr Offset draw_increment = 4;
constexpr Offset draws_a_step = 2;

__global__ void draw_normal(float* out, int size, Offset* offsets) {
  const Offset offset = offsets[blockIdx.x];
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(0, thread, offset, &state);
  const float4 numbers = curand_normal4(&state);
  const float values[4] = {numbers.x, numbers.y, numbers.z, numbers.w};
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = thread + k * stride;
    if (i < static_cast<unsigned>(size)) out[i] = values[k];
  }
  __syncthreads();
  if (threadIdx.x == 0) offsets[blockIdx.x] = offset + draws_a_step * draw_increment;
}

template <class T>
__global__ void scale(const T* in, T factor, T* out, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) out[i] = in[i] * factor;
}

__global__ void shift(const float* in, float summand, float* out, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) out[i] = in[i] + summand;
}

__global__ void add(const float* left, const float* right, float* out, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) out[i] = left[i] + right[i];
}

/// A drawing kernel's memory: its numbers, and its blocks' places in the sequence.
struct Draw {
  int size;
  std::shared_ptr<float> numbers;
  std::shared_ptr<Offset> offsets;

  /// The `order`-th draw of a step, from 0.
  Draw(int elements, Offset order)
      : size(elements),
        numbers(make_device_array<float>(static_cast<std::size_t>(elements))),
        offsets(make_device_array<Offset>(static_cast<std::size_t>(blocks_for(elements)))) {
    const std::vector<Offset> first(static_cast<std::size_t>(blocks_for(elements)), order * draw_increment);
    check(cudaMemcpy(offsets.get(), first.data(), first.size() * sizeof(Offset), cudaMemcpyHostToDevice));
  }

  void launch_on(cudaStream_t stream) const {
    launch(draw_normal, blocks_for(size), block, stream, numbers.get(), size, offsets.get());
  }
};

/// An event recorded on one stream and waited for by another.
void order(const EventHandle& event, cudaStream_t first, cudaStream_t then) {
  check(cudaEventRecord(event.get(), first));
  check(cudaStreamWaitEvent(then, event.get(), 0));
}

/// Numbers of the program's text. On the device: a copy node that reads pageable memory is slower.
template <std::size_t size>
std::shared_ptr<std::int64_t> make_literal(const std::array<std::int64_t, size>& numbers) {
  auto literal = make_device_array<std::int64_t>(size);
  check(cudaMemcpy(literal.get(), numbers.data(), sizeof numbers, cudaMemcpyHostToDevice));
  return literal;
}

void copy(const std::shared_ptr<std::int64_t>& to, const std::shared_ptr<std::int64_t>& from, std::size_t count,
          cudaStream_t stream) {
  check(cudaMemcpyAsync(to.get(), from.get(), count * sizeof(std::int64_t), cudaMemcpyDeviceToDevice, stream));
}

RawProgram stream_and_event(int) {
  const auto first = make_literal<5>({1, 2, 3, 4, 5});
  const auto second = make_literal<3>({10, 20, 30});
  const auto t = make_device_array<std::int64_t>(5);
  const auto doubled = make_device_array<std::int64_t>(5);
  const auto result = make_device_array<std::int64_t>(3);
  return {[=, stream = make_stream(), fork = make_event(), event = make_event()](cudaStream_t main) {
            order(fork, main, stream.get());
            copy(t, first, 5, stream.get());
            launch(scale<std::int64_t>, 1, block, stream.get(), static_cast<const std::int64_t*>(t.get()),
                   std::int64_t{2}, doubled.get(), 5);
            order(event, stream.get(), main);
            copy(result, second, 3, main);
          },
          {{result.get(), 3 * sizeof(std::int64_t)}}};
}

RawProgram two_streams(int) {
  constexpr int size = 100 * 100;
  const Draw t1(size, 0);
  const Draw t2(size, 1);
  const auto scaled = make_device_array<float>(size);
  const auto result = make_device_array<float>(size);
  return {[=, stream1 = make_stream(), stream2 = make_stream(), fork = make_event(), event = make_event(),
           join = make_event()](cudaStream_t main) {
            order(fork, main, stream1.get());
            t1.launch_on(stream1.get());
            launch(scale<float>, blocks_for(size), block, stream1.get(), static_cast<const float*>(t1.numbers.get()),
                   2.f, scaled.get(), int{size});
            order(event, stream1.get(), stream2.get());
            t2.launch_on(stream2.get());
            launch(add, blocks_for(size), block, stream2.get(), static_cast<const float*>(t2.numbers.get()),
                   static_cast<const float*>(scaled.get()), result.get(), int{size});
            order(join, stream2.get(), main);
          },
          {{result.get(), size * sizeof(float)}}};
}

RawProgram several_events(int) {
  constexpr int size = 50 * 50;
  const Draw a(size, 0);
  const Draw b(size, 1);
  const auto scaled = make_device_array<float>(size);
  const auto shifted = make_device_array<float>(size);
  const auto result = make_device_array<float>(size);
  return {[=, stream_a = make_stream(), stream_b = make_stream(), fork = make_event(), event_a = make_event(),
           event_b = make_event()](cudaStream_t main) {
            order(fork, main, stream_a.get());
            check(cudaStreamWaitEvent(stream_b.get(), fork.get(), 0));
            a.launch_on(stream_a.get());
            launch(scale<float>, blocks_for(size), block, stream_a.get(), static_cast<const float*>(a.numbers.get()),
                   3.f, scaled.get(), int{size});
            check(cudaEventRecord(event_a.get(), stream_a.get()));
            b.launch_on(stream_b.get());
            launch(shift, blocks_for(size), block, stream_b.get(), static_cast<const float*>(b.numbers.get()), 5.f,
                   shifted.get(), int{size});
            check(cudaEventRecord(event_b.get(), stream_b.get()));
            check(cudaStreamWaitEvent(main, event_a.get(), 0));
            check(cudaStreamWaitEvent(main, event_b.get(), 0));
            launch(add, blocks_for(size), block, main, static_cast<const float*>(scaled.get()),
                   static_cast<const float*>(shifted.get()), result.get(), int{size});
          },
          {{result.get(), size * sizeof(float)}}};
}

}  // namespace

std::vector<Baseline> raw_seeds() {
  return {raw_graph("seed1", stream_and_event), raw_graph("seed2", two_streams), raw_graph("seed3", several_events)};
}

}  // namespace refrain::bench
