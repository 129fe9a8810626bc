// A library function that works on its caller's stream and memory, as in a PyTorch extension, and a caller that
// captures it with plain CUDA.

#include <refrain/cuda.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace rf = refrain;

void smooth(cudaStream_t caller, const float* in, float* out, std::int64_t n) {
  const rf::Stream stream = rf::Stream::wrap(caller);
  const rf::StreamGuard on(stream);
  const rf::Array x = rf::from_blob(const_cast<float*>(in), {n});
  rf::Array y = rf::from_blob(out, {n});
  y.assign(x * 0.5 + rf::array({1.0F}));
}

namespace {

void require(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::cerr << cudaGetErrorString(status) << "\n";
  std::exit(1);
}

}  // namespace

int main() {
  constexpr int n = 1000;
  constexpr int steps = 50;
  std::vector<float> values(n, 10);
  cudaStream_t stream = nullptr;
  float* memory = nullptr;
  require(cudaStreamCreate(&stream));
  require(cudaMalloc(&memory, n * sizeof(float)));
  require(cudaMemcpy(memory, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  smooth(stream, memory, memory, n);
  require(cudaStreamEndCapture(stream, &graph));
  require(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < steps; ++i) require(cudaGraphLaunch(exec, stream));
  require(cudaStreamSynchronize(stream));

  require(cudaMemcpy(values.data(), memory, n * sizeof(float), cudaMemcpyDeviceToHost));
  std::cout << values[0] << "\n";
  require(cudaGraphExecDestroy(exec));
  require(cudaGraphDestroy(graph));
  require(cudaFree(memory));
  require(cudaStreamDestroy(stream));
  return values[0] == 2 ? 0 : 1;  // the fixed point of x / 2 + 1
}
