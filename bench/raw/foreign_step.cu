// The program of workloads/foreign_step.cu in plain CUDA, with a workspace of its own.

#include "foreign_step.cuh"
#include "raw/program.hpp"

namespace refrain::bench {
namespace {

constexpr std::size_t bytes = matrix_elements * sizeof(float);

std::shared_ptr<float> make_matrix(Matrix matrix) {
  auto made = make_device_array<float>(matrix_elements);
  check(cudaMemcpy(made.get(), matrix_values(matrix).data(), bytes, cudaMemcpyHostToDevice));
  return made;
}

RawProgram foreign_step(int) {
  const auto product = make_device_array<float>(matrix_elements);
  return {.step =
              [handle = make_cublas(), input = make_matrix(Matrix::input), summand = make_matrix(Matrix::summand),
               matrix = make_matrix(Matrix::factor), x = make_device_array<float>(matrix_elements), product,
               workspace = make_device_bytes(workspace_bytes)](cudaStream_t stream) {
                for (int round = 0; round < rounds; ++round) {
                  const float* const in = round == 0 ? input.get() : product.get();
                  launch(scale, own_grid(matrix_elements), own_block, stream, in, float{factor}, x.get(),
                         int{matrix_elements});
                  for (const auto& [size, weight] : additions) {
                    launch(add_weighted, own_grid(size), own_block, stream, x.get(),
                           static_cast<const float*>(summand.get()), float{weight}, int{size});
                  }
                  multiply(handle.get(), stream, matrix.get(), x.get(), product.get(), workspace.get());
                }
              },
          .results = {{product.get(), bytes}},
          .is_stateless = true,
          .has_nodes_of_its_own = true};
}

}  // namespace

std::vector<Baseline> raw_foreign_step() { return {raw_graph("foreign_step", foreign_step)}; }

}  // namespace refrain::bench
