// The points of workloads/monte_carlo.cpp, drawn by cuRAND's device API as Refrain lays draws out, a kernel for each
// op.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"

#include <curand_kernel.h>

#include <algorithm>

namespace refrain::bench {
namespace {

using Offset = unsigned long long;
using Count = unsigned long long;

constexpr int points = static_cast<int>(random_points);
constexpr int block = 256;
constexpr int partial_counts = 1024;

/// Each block keeps its own place in the random sequence, so that replays go on as eager steps do.
__global__ void draw_uniform(float* out, int rounds, Offset* offsets) {
  const Offset offset = offsets[blockIdx.x];
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  curandStatePhilox4_32_10_t state;
  curand_init(0, static_cast<Offset>(thread), offset, &state);
  for (int round = 0; round < rounds; ++round) {
    const float4 numbers = curand_uniform4(&state);
    const float values[4] = {numbers.x, numbers.y, numbers.z, numbers.w};
    for (int k = 0; k < 4; ++k) {
      const int i = thread + (round * 4 + k) * threads;
      if (i < points) out[i] = values[k] == 1 ? 0 : values[k];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) offsets[blockIdx.x] = offset + static_cast<Offset>(2 * 4) * static_cast<Offset>(rounds);
}

__global__ void is_below_one(const float4* in, uchar4* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= points / 4) return;
  const float4 x = in[i];
  out[i] = {x.x < 1, x.y < 1, x.z < 1, x.w < 1};
}

/// Stores the sum of the values of a block's threads; integers, so in any order.
__device__ void store_sum(Count value, Count* out) {
  __shared__ Count total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, value);
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}

__global__ void count_blocks(const uchar4* in, Count* out) {
  Count count = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < points / 4; i += partial_counts * block) {
    const uchar4 x = in[i];
    count += static_cast<Count>(x.x + x.y + x.z + x.w);
  }
  store_sum(count, out + blockIdx.x);
}

__global__ void count_partials(const Count* in, Count* out) {
  Count count = 0;
  for (int i = static_cast<int>(threadIdx.x); i < partial_counts; i += block) count += in[i];
  store_sum(count, out);
}

__global__ void to_float(const Count* in, float* out) { *out = static_cast<float>(*in); }
__global__ void scale_one(float* x, float by) { *x *= by; }
__global__ void divide_one(float* x, float by) { *x /= by; }

/// How a draw is laid out on a device.
struct Layout {
  int grid;
  int rounds;
};

Layout layout_on(int device) {
  int multiprocessors = 0;
  int threads = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  const int grid = std::min(multiprocessors * (threads / block), (points + block - 1) / block);
  return {grid, (points + 4 * grid * block - 1) / (4 * grid * block)};
}

/// Places of a draw's blocks in the sequence: of the first or second draw of a step.
std::shared_ptr<Offset> make_offsets(const Layout& layout, int order) {
  const std::vector<Offset> first(static_cast<std::size_t>(layout.grid),
                                  static_cast<Offset>(order) * 4 * static_cast<Offset>(layout.rounds));
  auto offsets = make_device_array<Offset>(first.size());
  check(cudaMemcpy(offsets.get(), first.data(), first.size() * sizeof(Offset), cudaMemcpyHostToDevice));
  return offsets;
}

struct Buffers {
  std::shared_ptr<Offset> x_offsets;
  std::shared_ptr<Offset> y_offsets;
  std::shared_ptr<float> x = make_device_array<float>(points);
  std::shared_ptr<float> y = make_device_array<float>(points);
  std::shared_ptr<uchar4> is_inside = make_device_array<uchar4>(points / 4);
  std::shared_ptr<Count> partials = make_device_array<Count>(partial_counts);
  std::shared_ptr<Count> hits = make_device_array<Count>(1);
  std::shared_ptr<float> pi = make_device_array<float>(1);
};

RawProgram pi_by_chance(int device) {
  const Layout layout = layout_on(device);
  const Buffers all{make_offsets(layout, 0), make_offsets(layout, 1)};
  return {.step =
              [all, layout](cudaStream_t stream) {
                float* const x = all.x.get();
                float* const y = all.y.get();
                launch(draw_uniform, layout.grid, block, stream, x, int{layout.rounds}, all.x_offsets.get());
                launch(draw_uniform, layout.grid, block, stream, y, int{layout.rounds}, all.y_offsets.get());
                map(stream, Multiply{}, x, x, x, points);
                map(stream, Multiply{}, y, y, y, points);
                map(stream, Add{}, x, y, x, points);
                launch(is_below_one, points / 4 / block, block, stream, quads_of(static_cast<const float*>(x)),
                       all.is_inside.get());
                launch(count_blocks, partial_counts, block, stream, static_cast<const uchar4*>(all.is_inside.get()),
                       all.partials.get());
                launch(count_partials, 1, block, stream, static_cast<const Count*>(all.partials.get()), all.hits.get());
                launch(to_float, 1, 1, stream, static_cast<const Count*>(all.hits.get()), all.pi.get());
                launch(scale_one, 1, 1, stream, all.pi.get(), 4.0F);
                launch(divide_one, 1, 1, stream, all.pi.get(), static_cast<float>(points));
              },
          .results = {{all.pi.get(), sizeof(float)}, {all.hits.get(), sizeof(Count)}}};
}

}  // namespace

std::vector<Baseline> raw_monte_carlo() { return {raw_graph("monte_carlo_pi_16m", pi_by_chance)}; }

}  // namespace refrain::bench
