#pragma once

// The program of workloads/foreign_step.cu and raw/foreign_step.cu as far as it is the same: twice, ten kernels of the
// program's own and a matrix product by cuBLAS,
//
//   x = in * factor;  x[0, size) += weight * y, nine times;  product = alpha * matrix * x
//
// with `in` being the input at first, and then the product.

#include "own_kernels.cuh"
#include "raw/handles.hpp"

#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::bench {

inline constexpr int order = 256;
inline constexpr int matrix_elements = order * order;
inline constexpr int rounds = 2;
inline constexpr float factor = 0.75F;
inline constexpr float alpha = 0.0625F;

/// One of the nine.
struct Addition {
  int size;
  float weight;
};
inline constexpr Addition additions[] = {{1024, 0.5F},   {4096, -0.25F}, {16384, 0.5F},   {65536, -0.25F}, {1024, 0.5F},
                                         {4096, -0.25F}, {16384, 0.5F},  {32768, -0.25F}, {65536, 0.5F}};

namespace {

/// Reads `size` float32 twice, writes them once.
__global__ void add_weighted(float* x, const float* y, float weight, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) x[i] += weight * y[i];
}

}  // namespace

enum class Matrix { input, summand, factor };

/// Multiples of 1/8 of both signs, so that the step is exact in float32, in whatever order products are added.
inline std::vector<float> matrix_values(Matrix matrix) {
  std::vector<float> values(matrix_elements);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t place = i + 5 * static_cast<std::size_t>(matrix);
    values[i] = static_cast<float>(static_cast<int>((place * 7 + place / 23) % 23) - 11) / 8;
  }
  return values;
}

/// @throws std::runtime_error with cuBLAS's name for the status and the line, unless it is success
inline void check(cublasStatus_t status, SourceLocation where = SourceLocation::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(cublasGetStatusName(status)) + " at " + where.str());
}

using CublasHandle = std::shared_ptr<cublasContext>;

/// For the CUDA device that is current.
inline CublasHandle make_cublas() {
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle));
  return {handle, [](cublasHandle_t owned) { cublasDestroy(owned); }};
}

inline constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;  // what cuBLAS recommends for Hopper

/// Column by column: product = alpha * matrix * x.
inline void multiply(cublasHandle_t handle, cudaStream_t stream, const float* matrix, const float* x, float* product,
                     void* workspace) {
  const float zero = 0;
  check(cublasSetStream(handle, stream));
  check(cublasSetWorkspace(handle, workspace, workspace_bytes));  // after the stream, which takes it back
  check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &alpha, matrix, order, x, order, &zero,
                    product, order));
}

}  // namespace refrain::bench
