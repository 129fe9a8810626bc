// The chain of workloads/elementwise.cpp: with memory from a pool for every op, as an eager library must, and
// with two buffers in turns, which is the launches alone.

#include "raw/program.hpp"

namespace refrain::bench {
namespace {

constexpr int elements = 1000;
constexpr int ops = 200;
constexpr int block = 256;
constexpr int grid = (elements + block - 1) / block;
constexpr std::size_t bytes = elements * sizeof(float);

__global__ void scale(const float* in, float factor, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < elements) out[i] = in[i] * factor;
}

__global__ void add(const float* left, const float* right, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < elements) out[i] = left[i] + right[i];
}

struct Buffers {
  std::shared_ptr<float> start = make_device_array<float>(elements);
  std::shared_ptr<float> y = make_device_array<float>(elements);
  std::shared_ptr<float> result = make_device_array<float>(elements);
};

Buffers make_buffers() {
  std::vector<float> start(elements);
  std::vector<float> y(elements);
  for (int i = 0; i < elements; ++i) {
    start[i] = static_cast<float>(i) * 0.125f - 60;
    y[i] = start[i] * 0.25f + 1;
  }
  Buffers buffers;
  check(cudaMemcpy(buffers.start.get(), start.data(), bytes, cudaMemcpyHostToDevice));
  check(cudaMemcpy(buffers.y.get(), y.data(), bytes, cudaMemcpyHostToDevice));
  return buffers;
}

void launch_op(int op, const float* in, const float* y, float* out, cudaStream_t stream) {
  if (op % 2 == 0) {
    launch(scale, grid, block, stream, in, 0.999f, out);
  } else {
    launch(add, grid, block, stream, in, y, out);
  }
}

/// The last op writes to the result's own buffer, so one op in 200 allocates nothing.
RawProgram allocating(int device) {
  const Buffers buffers = make_buffers();
  return {[buffers, pool = make_pool(device)](cudaStream_t stream) {
            float* in = buffers.start.get();
            for (int op = 0; op < ops; ++op) {
              void* out = buffers.result.get();
              if (op + 1 < ops) check(cudaMallocFromPoolAsync(&out, bytes, pool.get(), stream));
              launch_op(op, in, buffers.y.get(), static_cast<float*>(out), stream);
              if (op > 0) check(cudaFreeAsync(in, stream));
              in = static_cast<float*>(out);
            }
          },
          {{buffers.result.get(), bytes}}};
}

RawProgram launching(int) {
  const Buffers buffers = make_buffers();
  const auto scratch = make_device_array<float>(elements);
  return {[buffers, scratch](cudaStream_t stream) {
            const float* in = buffers.start.get();
            for (int op = 0; op < ops; ++op) {
              float* const out = op % 2 == 0 ? scratch.get() : buffers.result.get();
              launch_op(op, in, buffers.y.get(), out, stream);
              in = out;
            }
          },
          {{buffers.result.get(), bytes}}};
}

}  // namespace

std::vector<Baseline> raw_elementwise() {
  return {raw_graph("eager_axpy_1k", launching),
          raw_eager("eager_axpy_1k", "raw-eager", "the same work on plain CUDA streams", allocating),
          raw_eager("eager_axpy_1k", "raw-launch", "the launches alone, no memory taken or given back", launching)};
}

}  // namespace refrain::bench
