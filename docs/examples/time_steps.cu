// An existing CUDA code base, held back line by line: a time-stepping loop with two raw streams, kernels of its own and
// cuBLAS, whose dt changes at each step. x' = A x - v, v' = -v; the two halves run side by side.

#include <refrain/cuda.hpp>

#include <cublas_v2.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

namespace rf = refrain;

namespace {

constexpr int n = 256;
constexpr int steps = 200;
constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;

void require(bool is_well) {
  if (is_well) return;
  std::cerr << "a call failed\n";
  std::exit(1);
}

__global__ void decay(float* v, float dt) { v[threadIdx.x] -= dt * v[threadIdx.x]; }

__global__ void advance(float* x, const float* slope, const float* v, float dt) {
  x[threadIdx.x] += dt * (slope[threadIdx.x] - v[threadIdx.x]);
}

float length_of(int step) { return 0.001F * static_cast<float>(1 + step % 5); }

}  // namespace

int main() {
  // What the code base has: raw streams, a handle, memory of its own.
  cudaStream_t main_stream = nullptr;
  cudaStream_t side_stream = nullptr;
  require(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking) == cudaSuccess);
  require(cudaStreamCreateWithFlags(&side_stream, cudaStreamNonBlocking) == cudaSuccess);
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  float* memory = nullptr;
  require(cudaMalloc(&memory, n * sizeof(float)) == cudaSuccess);

  {
    const rf::Stream here = rf::Stream::wrap(main_stream);
    const rf::Stream side = rf::Stream::wrap(side_stream);
    const rf::StreamGuard on(here);
    const rf::Array matrix = rf::full({n, n}, -1.0 / n);
    rf::Array x = rf::from_blob(memory, {n});
    x.assign(1);
    const rf::Array v = rf::ones({n});
    const rf::Array workspace = rf::empty({workspace_bytes / 8}, {.dtype = rf::DType::int64});
    const rf::Param<float> dt(0, "dt");

    const auto step = [&] {
      const rf::Array slope = rf::empty({n});
      const rf::Array before = v + 0;  // of this step
      side.wait_stream(here);
      side.launch({.block = n, .label = "decay"}, decay, v, dt);
      here.enqueue(
          "slope", rf::read(matrix), rf::read(x), rf::write(slope), rf::write(workspace),
          [&](cudaStream_t stream, const float* a, const float* in, float* out, void* scratch) {
            const float one = 1;
            const float zero = 0;
            require(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
            require(cublasSetWorkspace(handle, scratch, workspace_bytes) == CUBLAS_STATUS_SUCCESS);
            require(cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, a, n, in, 1, &zero, out, 1) == CUBLAS_STATUS_SUCCESS);
          });
      here.launch({.block = n, .label = "advance"}, advance, x, slope, before, dt);
      here.wait_stream(side);
    };

    const rf::GraphExec exec = rf::capture(step).instantiate();
    double expected_x = 1;
    double expected_v = 1;
    for (int i = 0; i < steps; ++i) {
      exec.set(dt, length_of(i));
      exec.replay(here);
      const double h = length_of(i);
      expected_x += h * (-expected_x - expected_v);
      expected_v -= h * expected_v;
    }
    float reached = 0;  // by the code base itself: its stream is enough to wait for
    require(cudaMemcpyAsync(&reached, memory, sizeof(float), cudaMemcpyDeviceToHost, main_stream) == cudaSuccess);
    require(cudaStreamSynchronize(main_stream) == cudaSuccess);
    std::cout << reached << ", expected " << expected_x << "\n" << exec.explain();
    require(std::abs(reached - expected_x) < 1e-4);
  }
  require(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  require(cudaStreamDestroy(main_stream) == cudaSuccess && cudaStreamDestroy(side_stream) == cudaSuccess);
  require(cudaFree(memory) == cudaSuccess);
  return 0;
}
