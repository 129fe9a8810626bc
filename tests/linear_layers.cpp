// Linear layers: bias and activations, in every mode with equal bits.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/linalg.hpp>

#include <cmath>
#include <limits>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

/// Whole numbers from -3 to 3, whose sums are exact in every dtype.
Array whole_numbers(Shape shape, DType dtype = DType::float32, int first = 0) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 5 + static_cast<std::size_t>(first)) % 7) - 3;
  return from_host(values, shape).cast(dtype);
}

void require_equal_modes(const std::function<Array()>& fn, const Array& expected) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) { BOOST_TEST(numbers(run_as(mode, fn)) == numbers(expected), per_element()); }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_layers, *label("sanitize"))

BOOST_AUTO_TEST_CASE(is_a_product_with_the_transposed_weight_and_a_bias) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    BOOST_TEST_CONTEXT(to_string(dtype)) {
      const Array x = whole_numbers({9, 12}, dtype);
      const Array weight = whole_numbers({5, 12}, dtype, 2);
      const Array bias = whole_numbers({5}, dtype, 4);
      const Array product = matmul(x, weight.transpose(0, 1));
      require_equal_modes([&] { return linear(x, weight); }, product);
      require_equal_modes([&] { return linear(x, weight, bias); }, product + bias);
      require_equal_modes([&] { return linear(x, weight, bias, Activation::relu); }, relu(product + bias));
      require_equal_modes([&] { return linear(x, weight, {}, Activation::relu); }, relu(product));
    }
  }
}

BOOST_AUTO_TEST_CASE(is_one_node) {
  const Array x = whole_numbers({9, 12});
  const Array weight = whole_numbers({5, 12});
  const Array bias = whole_numbers({5});
  const Graph graph = capture([&] { return linear(x, weight, bias, Activation::relu); }).first;
  BOOST_TEST(graph.nodes().size() == 1U);
  BOOST_TEST(labels(graph) == std::vector<std::string>{"linear"}, per_element());
}

BOOST_AUTO_TEST_CASE(other_activations_are_those_ops) {
  const Array x = whole_numbers({9, 12}) * 0.25F;
  const Array weight = whole_numbers({5, 12}) * 0.25F;
  const Array bias = whole_numbers({5});
  const Array sums = linear(x, weight, bias);
  for (const auto& [activation, expected] : {std::pair{Activation::gelu, gelu(sums)},
                                             {Activation::silu, silu(sums)},
                                             {Activation::tanh, tanh(sums)},
                                             {Activation::sigmoid, sigmoid(sums)}}) {
    require_equal_modes([&, activation = activation] { return linear(x, weight, bias, activation); }, expected);
  }
}

BOOST_AUTO_TEST_CASE(inputs_have_any_axes_and_views_are_read) {
  const Array weight = whole_numbers({5, 12});
  const Array bias = whole_numbers({10}).slice({.step = 2});
  const Array x = whole_numbers({2, 3, 4, 12});
  const Array expected = matmul(x, weight.transpose(0, 1)) + bias;
  require_equal_modes([&] { return linear(x, weight, bias); }, expected);
  require_equal_modes([&] { return linear(x.select(1).select(2).select(3), weight, bias); },
                      expected.select(1).select(2).select(3));
  require_equal_modes([&] { return linear(x.permute({1, 0, 2, 3}), weight, bias); }, expected.permute({1, 0, 2, 3}));
  require_equal_modes([&] { return linear(x, weight, whole_numbers({1}).expand({5})); },
                      matmul(x, weight.transpose(0, 1)) + whole_numbers({1}));
}

BOOST_AUTO_TEST_CASE(relu_keeps_nan_as_everywhere) {
  const float infinity = std::numeric_limits<float>::infinity();
  Array x = whole_numbers({4, 8});
  x.select(1).assign(std::nanf(""));
  x.select(2).assign(-infinity);
  for (const bool with_bias : {false, true}) {
    const std::vector<double> got = numbers(linear(x, ones({3, 8}), with_bias ? ones({3}) : Array(), Activation::relu));
    for (std::size_t i = 3; i < 6; ++i) BOOST_TEST(std::isnan(got[i]));
    for (std::size_t i = 6; i < 9; ++i) BOOST_TEST(got[i] == 0);
  }
}

BOOST_AUTO_TEST_CASE(no_elements_leave_the_bias, *label("report-67")) {
  const Array bias = whole_numbers({3});
  require_equal_modes(
      [&] {
        return linear(ones({2, 0}), ones({3, 0}), bias, Activation::relu);
      },
      relu(bias.expand({2, 3})));
  BOOST_TEST(linear(ones({0, 4}), ones({3, 4}), bias).shape() == Shape({0, 3}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
