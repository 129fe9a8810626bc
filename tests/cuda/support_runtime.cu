#include "support_runtime.hpp"

namespace runtime {
namespace {

__global__ void nothing() {}
__global__ void increment(int* number) { ++*number; }

/// Ends once the host has set the flag, or after about two seconds.
__global__ void wait_for_flag(const volatile int* flag) {
  const long long start = clock64();
  while (*flag == 0 && clock64() - start < 4'000'000'000) {
  }
}

}  // namespace

cudaError_t try_launch(cudaStream_t stream) { return cudaLaunchKernel(nothing, 1, 1, nullptr, 0, stream); }

void launch(cudaStream_t stream) { CUDA_REQUIRE(try_launch(stream)); }

cudaError_t try_add_one(int* number, cudaStream_t stream) {
  void* arguments[] = {&number};
  return cudaLaunchKernel(increment, 1, 1, arguments, 0, stream);
}

std::vector<cudaGraphEdgeData> edges(cudaGraph_t graph) {
#if CUDART_VERSION >= 13000
  const auto get_edges = [](auto... arguments) { return cudaGraphGetEdges(arguments...); };
#else
  const auto get_edges = [](auto... arguments) { return cudaGraphGetEdges_v2(arguments...); };
#endif
  std::size_t count = 0;
  CUDA_REQUIRE(get_edges(graph, nullptr, nullptr, nullptr, &count));
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  std::vector<cudaGraphEdgeData> kinds(count);
  if (count > 0) CUDA_REQUIRE(get_edges(graph, from.data(), to.data(), kinds.data(), &count));
  return kinds;
}

Case::Case() {
  load(nothing);
  load(increment);
  load(wait_for_flag);
}

Case::~Case() {
  open_gate();
  if (origin != nullptr && status(origin) != cudaStreamCaptureStatusNone) {
    Graph left_over;
    cudaStreamEndCapture(origin, left_over.out());
  }
  BOOST_TEST(cudaDeviceSynchronize() == cudaSuccess);
  cudaGetLastError();
}

void Case::order(cudaStream_t first, cudaStream_t then) {
  CUDA_REQUIRE(cudaEventRecord(between_, first));
  CUDA_REQUIRE(cudaStreamWaitEvent(then, between_));
}

void Case::hold(cudaStream_t stream) {
  const int* flag = gate_;
  void* arguments[] = {&flag};
  CUDA_REQUIRE(cudaLaunchKernel(wait_for_flag, 1, 1, arguments, 0, stream));
}

}  // namespace runtime
