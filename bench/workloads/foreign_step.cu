// A step of a program that has kernels of its own and uses cuBLAS.

#include "foreign_step.cuh"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/cuda.hpp>

#include <iterator>

namespace refrain::bench {
namespace {

constexpr int commands = rounds * (2 + static_cast<int>(std::size(additions)));
constexpr double tolerance = 1e-6;

LaunchConfig over(int size, const char* label) { return {.grid = own_grid(size), .block = own_block, .label = label}; }

Array make_array(Matrix matrix) { return from_host(matrix_values(matrix), {matrix_elements}); }

/// The step's result in double, by plain loops.
std::vector<double> expected_product() {
  const std::vector<float> input = matrix_values(Matrix::input);
  const std::vector<float> summand = matrix_values(Matrix::summand);
  const std::vector<float> matrix = matrix_values(Matrix::factor);
  std::vector<double> product(input.begin(), input.end());
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> x = product;
    for (double& each : x) each *= factor;
    for (const auto& [size, weight] : additions) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) x[i] += double{weight} * summand[i];
    }
    product.assign(matrix_elements, 0);
    for (std::size_t column = 0; column < order; ++column) {
      for (std::size_t k = 0; k < order; ++k) {
        const double scaled = alpha * x[column * order + k];
        for (std::size_t row = 0; row < order; ++row) product[column * order + row] += matrix[k * order + row] * scaled;
      }
    }
  }
  return product;
}

Program foreign_step() {
  check(cudaSetDevice(current_device().index));
  const auto step = [handle = make_cublas(), input = make_array(Matrix::input), summand = make_array(Matrix::summand),
                     matrix = make_array(Matrix::factor), stream = current_stream()]() -> std::vector<Array> {
    const Array x = refrain::empty({matrix_elements});
    const Array product = refrain::empty({matrix_elements});
    const Array workspace = refrain::empty({workspace_bytes / 8}, {.dtype = DType::int64});
    for (int round = 0; round < rounds; ++round) {
      stream.launch(over(matrix_elements, "scale"), scale, round == 0 ? input : product, factor, write(x),
                    matrix_elements);
      for (const auto& [size, weight] : additions) {
        stream.launch(over(size, "add_weighted"), add_weighted, x, summand, weight, size);
      }
      stream.enqueue("gemm", read(matrix), read(x), write(product), write(workspace),
                     [&](cudaStream_t native, const float* a, const float* b, float* c, void* scratch) {
                       multiply(handle.get(), native, a, b, c, scratch);
                     });
    }
    return {product};
  };
  const auto check = [](const std::vector<Array>& results, int) {
    return difference(expected_product(), results.front(), tolerance);
  };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> foreign_step_workloads() {
  return {{"foreign_step", "20 kernels of the program's own and 2 cuBLAS products of 256 x 256", commands, commands - 1,
           foreign_step, "it launches kernels of its own and calls cuBLAS, which run on CUDA devices only"}};
}

}  // namespace refrain::bench
