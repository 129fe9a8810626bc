// The programs of workloads/graphed.cpp in plain CUDA: a graph of one kernel, given other values or addresses where the
// steps have others.

#include "graphed_steps.hpp"
#include "own_kernels.cuh"
#include "raw/program.hpp"

#include <array>
#include <memory>
#include <vector>

namespace refrain::bench {
namespace {

constexpr std::size_t bytes = graphed_elements * sizeof(float);
constexpr int grid = own_grid(graphed_elements);
constexpr int size = graphed_elements;

__global__ void halved(const float* in, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = __fadd_rn(__fmul_rn(in[i], 0.5F), 1.0F);
}

__global__ void mixed(const float* a, const float* b, const float* c, const float* d, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = __fadd_rn(__fmul_rn(a[i], b[i]), __fmul_rn(c[i], d[i]));
}

std::shared_ptr<float> make_input(int which = 0) {
  auto input = make_device_array<float>(graphed_elements);
  check(cudaMemcpy(input.get(), graphed_input(which).data(), bytes, cudaMemcpyHostToDevice));
  return input;
}

void set_kernel(const CapturedGraph& captured, const void* kernel, void** arguments) {
  cudaKernelNodeParams params{};
  params.func = const_cast<void*>(kernel);
  params.gridDim = dim3(grid);
  params.blockDim = dim3(own_block);
  params.kernelParams = arguments;
  check(cudaGraphExecKernelNodeSetParams(captured.exec.get(), captured.nodes.front(), &params));
}

RawProgram step(int) {
  const auto in = make_input();
  const auto out = make_device_array<float>(graphed_elements);
  return {.step =
              [in, out](cudaStream_t stream) {
                halved<<<grid, own_block, 0, stream>>>(in.get(), out.get(), size);
                check(cudaGetLastError());
              },
          .results = {{out.get(), bytes}},
          .has_nodes_of_its_own = true};
}

RawProgram scalar(int) {
  const auto in = make_input();
  const auto out = make_device_array<float>(graphed_elements);
  return {.step =
              [in, out](cudaStream_t stream) {
                scale<<<grid, own_block, 0, stream>>>(in.get(), rate_of(0), out.get(), size);
                check(cudaGetLastError());
              },
          .results = {{out.get(), bytes}},
          .set =
              [in, out](const CapturedGraph& captured, int number) {
                const float* from = in.get();
                float rate = rate_of(number);
                float* to = out.get();
                int count = size;
                void* arguments[] = {&from, &rate, &to, &count};
                set_kernel(captured, reinterpret_cast<const void*>(&scale), arguments);
              },
          .is_stateless = true,
          .has_nodes_of_its_own = true};
}

RawProgram new_buffers(int) {
  std::vector<std::array<std::shared_ptr<float>, graphed_inputs>> all(graphed_turns);
  for (int turn = 0; turn < graphed_turns; ++turn) {
    for (int i = 0; i < graphed_inputs; ++i) {
      all[static_cast<std::size_t>(turn)][static_cast<std::size_t>(i)] = make_input(turn + i);
    }
  }
  const auto out = make_device_array<float>(graphed_elements);
  const auto first = all.front();
  return {.step =
              [first, out](cudaStream_t stream) {
                mixed<<<grid, own_block, 0, stream>>>(first[0].get(), first[1].get(), first[2].get(), first[3].get(),
                                                      out.get(), size);
                check(cudaGetLastError());
              },
          .results = {{out.get(), bytes}},
          .set =
              [all, out](const CapturedGraph& captured, int number) {
                const auto& inputs = all[static_cast<std::size_t>(number % graphed_turns)];
                const float* a = inputs[0].get();
                const float* b = inputs[1].get();
                const float* c = inputs[2].get();
                const float* d = inputs[3].get();
                float* to = out.get();
                int count = size;
                void* arguments[] = {&a, &b, &c, &d, &to, &count};
                set_kernel(captured, reinterpret_cast<const void*>(&mixed), arguments);
              },
          .is_stateless = true,
          .has_nodes_of_its_own = true};
}

}  // namespace

std::vector<Baseline> raw_graphed() {
  return {raw_graph("graphed_y_step", step), raw_graph("graphed_x_step", step), raw_graph("graphed_scalar", scalar),
          raw_graph("graphed_new_buffers", new_buffers)};
}

}  // namespace refrain::bench
