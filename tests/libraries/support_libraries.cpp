#include "support_libraries.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::test {

std::vector<float> eighths(std::int64_t size, int seed) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t place = i + 5 * static_cast<std::size_t>(seed);
    values[i] = static_cast<float>(static_cast<int>((place * 7 + place / 23) % 23) - 11) / 8.0F;
  }
  return values;
}

Array eighths_array(std::int64_t size, int seed) { return from_host(eighths(size, seed), {size}); }

void refill(Array& array, int seed) { array.assign(eighths_array(array.size(), seed)); }

Array workspace_of(std::int64_t bytes) {
  constexpr std::int64_t element = 8;
  return empty({std::max<std::int64_t>(1, (bytes + element - 1) / element)}, {.dtype = DType::int64});
}

double error_of(const Array& actual, const std::vector<double>& expected) {
  const std::vector<double> values = numbers(actual);
  if (values.size() != expected.size()) return HUGE_VAL;
  double largest = 1;
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::max(error, std::isfinite(values[i]) ? std::abs(values[i] - expected[i]) : HUGE_VAL);
  }
  return error / largest;
}

void check_close(const Array& actual, const std::vector<double>& expected, double tolerance, SourceLocation where) {
  BOOST_TEST_CONTEXT("at " << where.str()) { BOOST_TEST(error_of(actual, expected) <= tolerance); }
}

void check_refused(const char* label, const std::function<void(cudaStream_t, float*)>& function, SourceLocation where) {
  Array x = zeros({4});
  const auto enqueue = [&] { current_stream().enqueue(Label(label, where), readwrite(x), function); };
  const Graph graph = capture([&] {
    x += 1;
    require_error(Errc::capture_unsupported, enqueue, {label, where.str(), "before the capture"}, where);
    x += 2;
  });
  BOOST_TEST(graph.node_count() == 2);
  const GraphExec exec = graph.instantiate();
  exec.replay();
  exec.replay();
  BOOST_TEST(holds(x, 6));

  std::string text;
  try {
    capture(
        [&] {
          x += 1;
          enqueue();
        },
        {.live = true});
  } catch (const Error& error) {
    text = error.what();
  }
  BOOST_TEST((text.find(label) != std::string::npos), "the label is missing in: " << text);
  x += 1;
  BOOST_TEST(holds(x, 7));
}

std::vector<double> gemm_expected(const std::vector<double>& x) {
  const std::vector<float> weights = eighths(std::int64_t{gemm_m} * gemm_k, 9);
  std::vector<double> y(std::size_t{gemm_m} * gemm_n);
  for (std::size_t column = 0; column < gemm_n; ++column) {
    for (std::size_t i = 0; i < gemm_k; ++i) {
      const double factor = x[column * gemm_k + i];
      for (std::size_t row = 0; row < gemm_m; ++row) y[column * gemm_m + row] += weights[i * gemm_m + row] * factor;
    }
  }
  return y;
}

}  // namespace refrain::test
