// The programs of workloads/launches.cu in plain CUDA.

#include "launches.cuh"
#include "raw/program.hpp"

namespace refrain::bench {
namespace {

constexpr std::size_t bytes = launch_elements * sizeof(float);
constexpr int grid = own_grid(launch_elements);

std::shared_ptr<float> make_input() {
  auto input = make_device_array<float>(launch_elements);
  check(cudaMemcpy(input.get(), launch_input().data(), bytes, cudaMemcpyHostToDevice));
  return input;
}

RawProgram launch_chain(int) {
  const auto first = make_device_array<float>(launch_elements);
  const auto second = make_device_array<float>(launch_elements);
  return {.step =
              [start = make_input(), first, second](cudaStream_t stream) {
                const float* in = start.get();
                for (int i = 0; i < chain_launches; ++i) {
                  float* const out = i % 2 == 0 ? first.get() : second.get();
                  scale<<<grid, own_block, 0, stream>>>(in, chain_factor, out, launch_elements);
                  in = out;
                }
                check(cudaGetLastError());
              },
          .results = {{(chain_launches % 2 == 0 ? second : first).get(), bytes}},
          .is_stateless = true};
}

RawProgram set_one_node(int) {
  const auto start = make_input();
  const auto result = make_device_array<float>(launch_elements);
  return {.step =
              [start, result](cudaStream_t stream) {
                launch(scale, grid, own_block, stream, static_cast<const float*>(start.get()), factor_of(0),
                       result.get(), int{launch_elements});
              },
          .results = {{result.get(), bytes}},
          .set =
              [start, result](const CapturedGraph& captured, int number) {
                const float* in = start.get();
                float factor = factor_of(number);
                float* out = result.get();
                int size = launch_elements;
                void* arguments[] = {&in, &factor, &out, &size};
                cudaKernelNodeParams params{};
                params.func = reinterpret_cast<void*>(&scale);
                params.gridDim = dim3(grid);
                params.blockDim = dim3(own_block);
                params.kernelParams = arguments;
                check(cudaGraphExecKernelNodeSetParams(captured.exec.get(), captured.nodes.front(), &params));
              },
          .is_stateless = true};
}

}  // namespace

std::vector<Baseline> raw_launches() {
  return {raw_graph("launch_eager", launch_chain),
          raw_eager("launch_eager", "raw-eager", "the same work on plain CUDA streams", launch_chain),
          raw_graph("set_one_node", set_one_node)};
}

}  // namespace refrain::bench
