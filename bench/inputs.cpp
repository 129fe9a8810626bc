#include "inputs.hpp"

namespace refrain::bench {

float number_at(std::int64_t i) { return static_cast<float>(i % 1009) * 0.001F - 0.3F; }

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = number_at(static_cast<std::int64_t>(i));
  return values;
}

Array number_array(const Shape& shape) { return from_host(numbers(shape.size()), shape); }

std::vector<float> norm_scale() {
  std::vector<float> values;
  for (int column = 0; column < matrix_columns; ++column)
    values.push_back(0.5F + static_cast<float>(column % 7) * 0.125F);
  return values;
}

std::vector<float> norm_shift() {
  std::vector<float> values;
  for (int column = 0; column < matrix_columns; ++column)
    values.push_back(static_cast<float>(column % 5) * 0.25F - 0.5F);
  return values;
}

std::vector<float> branch_start(int branch) {
  std::vector<float> values(branch_elements);
  for (int i = 0; i < branch_elements; ++i) {
    values[static_cast<std::size_t>(i)] = number_at(std::int64_t{branch} * branch_elements + i);
  }
  return values;
}

std::vector<float> grid_source() {
  std::vector<float> values(grid_points);
  values[64 * grid_extent + 64] = 1;
  values[200 * grid_extent + 31] = -1;
  return values;
}

Contracts make_contracts() {
  Contracts made;
  for (int i = 0; i < contracts; ++i) {
    made.spot.push_back(50 + static_cast<float>(i % 997) * 0.1F);
    made.strike.push_back(60 + static_cast<float>(i % 787) * 0.1F);
    made.years.push_back(0.25F + static_cast<float>(i % 61) * 0.05F);
  }
  return made;
}

Tensor make_tensor(int number) {
  const int size = 64 * (1 + number * 37 % 64);
  Tensor made;
  for (int i = 0; i < size; ++i) {
    made.start.push_back(number_at(std::int64_t{number} * 4096 + i));
    made.gradient.push_back(number_at(std::int64_t{i} * 7 + number));
  }
  return made;
}

std::vector<float> mlp_input() { return numbers(mlp_batch * mlp_width); }

std::vector<float> mlp_weight(int layer) {
  constexpr int size = mlp_width * mlp_width;
  std::vector<float> values;
  for (int i = 0; i < size; ++i) {
    // A mean of about 0 and as large as keeps the activations' size from layer to layer.
    values.push_back((number_at(std::int64_t{i} * 7 + std::int64_t{layer} * size) - 0.204F) * 0.3F);
  }
  return values;
}

}  // namespace refrain::bench
