// Layers of matrix products.

#include "inputs.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/linalg.hpp>

#include <algorithm>
#include <cstddef>

namespace refrain::bench {
namespace {

constexpr double tolerance = 1e-5;

std::vector<double> expected_activations() {
  constexpr auto width = static_cast<std::size_t>(mlp_width);
  const std::vector<float> input = mlp_input();
  std::vector<double> x(input.begin(), input.end());
  for (int layer = 0; layer < mlp_layers; ++layer) {
    const std::vector<float> weight = mlp_weight(layer);
    std::vector<double> next;
    for (std::size_t row = 0; row < x.size(); row += width) {
      for (std::size_t out = 0; out < width; ++out) {
        double sum = double{mlp_bias};
        for (std::size_t in = 0; in < width; ++in) sum += x[row + in] * weight[out * width + in];
        next.push_back(std::max(sum, 0.0));
      }
    }
    x = next;
  }
  return x;
}

Program mlp() {
  const Shape square{mlp_width, mlp_width};
  std::vector<Array> weights;
  for (int layer = 0; layer < mlp_layers; ++layer) weights.push_back(from_host(mlp_weight(layer), square));
  const auto step = [weights, input = from_host(mlp_input(), {mlp_batch, mlp_width}),
                     bias = full({mlp_width}, mlp_bias)]() -> std::vector<Array> {
    Array x = input;
    for (const Array& weight : weights) x = linear(x, weight, bias, Activation::relu);
    return {x};
  };
  const auto check = [](const std::vector<Array>& results, int) {
    return difference(expected_activations(), results[0], tolerance);
  };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> mlp_workloads() {
  return {{"mlp", "8 layers of 256 x 256 with bias and relu on 32 rows", mlp_layers, mlp_layers - 1, mlp}};
}

}  // namespace refrain::bench
