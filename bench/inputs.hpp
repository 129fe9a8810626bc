#pragma once

#include <refrain/array.hpp>

#include <cstdint>
#include <vector>

// What workloads/, raw/ and the loops on the host start from, and numbers that they have in common.

namespace refrain::bench {

/// Elements of the workloads named 64m: 256 MiB of float32.
inline constexpr std::int64_t large = std::int64_t{1} << 26;

/// Element i of the array that most workloads start from: from -0.3 to 0.708, with a period of 1009.
float number_at(std::int64_t i);
/// The first `count` of them.
std::vector<float> numbers(std::int64_t count);
/// The same as an array on the current device.
Array number_array(const Shape& shape);

/// transpose_8k: rows and columns.
inline constexpr std::int64_t transposed_extent = 8192;

/// softmax_4096x1024 and layernorm_gelu.
inline constexpr std::int64_t matrix_rows = 4096;
inline constexpr std::int64_t matrix_columns = 1024;

inline constexpr float norm_epsilon = 1e-5F;
/// layernorm_gelu: what its columns are multiplied by, and what is added to them.
std::vector<float> norm_scale();
std::vector<float> norm_shift();

/// chain_100_*: pairs of a product and a sum.
inline constexpr int chain_pairs = 50;
inline constexpr float chain_scale = 0.999F;

/// fork_join_8x16: `z * scale + summand`, so many times on so many streams.
inline constexpr int branches = 8;
inline constexpr int branch_pairs = 16;
inline constexpr int branch_elements = 1000;
inline constexpr float branch_scale = 0.999F;
inline constexpr float branch_summand = 0.1F;
/// What the branch of that number starts from.
std::vector<float> branch_start(int branch);

/// jacobi_256x50: a square grid of so many points an axis.
inline constexpr int grid_extent = 256;
inline constexpr int grid_points = grid_extent * grid_extent;
inline constexpr int sweeps = 50;
/// The right-hand side times the square of the grid's spacing, row-major: 1 in one point, -1 in another.
std::vector<float> grid_source();

/// cg_poisson_256, on the same grid; the right-hand side is `numbers`.
inline constexpr int cg_iterations = 50;

/// blackscholes_1m: European options of one volatility and interest rate.
inline constexpr int contracts = 1 << 20;
inline constexpr float interest_rate = 0.02F;
inline constexpr float volatility = 0.3F;
struct Contracts {
  std::vector<float> spot;
  std::vector<float> strike;
  std::vector<float> years;  ///< to expiry
};
Contracts make_contracts();

/// monte_carlo_pi_16m.
inline constexpr std::int64_t random_points = std::int64_t{1} << 24;

/// adam_200: parameter tensors of one axis.
inline constexpr int tensors = 200;
inline constexpr float learning_rate = 0.01F;
inline constexpr float beta1 = 0.9F;
inline constexpr float beta2 = 0.99F;
inline constexpr float epsilon = 1e-8F;
/// A tensor before the first step, and the gradient of every step; 64 to 4 096 elements.
struct Tensor {
  std::vector<float> start;
  std::vector<float> gradient;
};
Tensor make_tensor(int number);

/// mlp: relu(x weight^T + bias), layer after layer.
inline constexpr int mlp_layers = 8;
inline constexpr int mlp_batch = 32;
inline constexpr int mlp_width = 256;
inline constexpr float mlp_bias = 0.1F;
std::vector<float> mlp_input();
/// Row-major, a row for each output.
std::vector<float> mlp_weight(int layer);

}  // namespace refrain::bench
