// What layers of a network do to their input.

#include "inputs.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/ops.hpp>
#include <refrain/reduce.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace refrain::bench {
namespace {

constexpr int norm_commands = 9;
constexpr double norm_tolerance = 1e-6;

std::vector<double> expected_activations() {
  const std::vector<float> scale = norm_scale();
  const std::vector<float> shift = norm_shift();
  std::vector<double> results;
  for (std::int64_t row = 0; row < matrix_rows; ++row) {
    const std::int64_t first = row * matrix_columns;
    double sum = 0;
    for (std::int64_t i = 0; i < matrix_columns; ++i) sum += double{number_at(first + i)};
    const double mean = sum / matrix_columns;
    double squares = 0;
    for (std::int64_t i = 0; i < matrix_columns; ++i) squares += std::pow(double{number_at(first + i)} - mean, 2);
    const double deviation = std::sqrt(squares / matrix_columns + double{norm_epsilon});
    for (std::int64_t i = 0; i < matrix_columns; ++i) {
      const double normal = (double{number_at(first + i)} - mean) / deviation;
      const auto column = static_cast<std::size_t>(i);
      const double x = normal * double{scale[column]} + double{shift[column]};
      results.push_back(x * 0.5 * std::erfc(-x * std::sqrt(0.5)));
    }
  }
  return results;
}

Program layernorm_gelu() {
  const auto step = [x = number_array({matrix_rows, matrix_columns}), scale = from_host(norm_scale(), {matrix_columns}),
                     shift = from_host(norm_shift(), {matrix_columns})]() -> std::vector<Array> {
    const Array centred = x - mean(x, -1, true);
    const Array variance = var(x, -1, 0, true);
    return {gelu(centred * rsqrt(variance + norm_epsilon) * scale + shift)};
  };
  const auto check = [](const std::vector<Array>& results, int) {
    return difference(expected_activations(), results[0], norm_tolerance);
  };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> layer_workloads() {
  return {{"layernorm_gelu", "rows of 4096 x 1024 float32 normalised, scaled and shifted, then gelu", norm_commands,
           norm_commands - 1, layernorm_gelu}};
}

}  // namespace refrain::bench
