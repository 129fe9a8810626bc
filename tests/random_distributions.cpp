// What the distributions promise beyond PyTorch's numbers (random_rows.cpp): ranges, roundings, one result however a
// program is run.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/distributions.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::initializer_list<DType> floats = {DType::float16, DType::bfloat16, DType::float32, DType::float64};

GeneratorState state() { return generator_state(current_device()); }

struct Op {
  std::string name;
  std::function<Array(Shape)> draw;
};

/// Every distribution in each of its dtypes.
std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (const DType dtype : floats) {
    const std::string of = " " + std::string(to_string(dtype));
    const ArrayOptions options{.dtype = dtype};
    ops.push_back({"rand" + of, [=](Shape shape) { return rand(shape, options); }});
    ops.push_back({"randn" + of, [=](Shape shape) { return randn(shape, options); }});
    ops.push_back({"uniform" + of, [=](Shape shape) { return uniform(-3, 5, shape, options); }});
    ops.push_back({"normal" + of, [=](Shape shape) { return normal(2, 0.5, shape, options); }});
    ops.push_back({"bernoulli" + of, [=](Shape shape) { return bernoulli(0.25, shape, options); }});
    ops.push_back({"exponential" + of, [=](Shape shape) { return exponential(1.5, shape, options); }});
  }
  ops.push_back({"bernoulli bool", [](Shape shape) { return bernoulli(0.25, shape, {.dtype = DType::bool_}); }});
  return ops;
}

double mean_of(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}
double variance_of(const std::vector<double>& all) {
  const double mean = mean_of(all);
  double sum = 0;
  for (const double number : all) sum += (number - mean) * (number - mean);
  return sum / static_cast<double>(all.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_distributions, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(eager_calls_and_replays_draw_the_same_bits) {
  for (const Op& op : all_ops()) {
    for (const std::int64_t size : {std::int64_t{33}, std::int64_t{300001}}) {
      manual_seed(4);
      const Array first = op.draw({size});
      const Array second = op.draw({size});
      const GeneratorState end = state();
      for (const Mode mode : graph_modes) {
        BOOST_TEST_CONTEXT(op.name << " of " << size << ", " << mode) {
          auto [graph, drawn] = capture([&] { return op.draw({size}); }, capture_options(mode));
          const GraphExec exec = graph.instantiate(instantiate_options(mode));
          manual_seed(4);
          exec.replay();
          BOOST_TEST(same_bits(drawn, first));
          exec.replay();
          BOOST_TEST(same_bits(drawn, second));
          BOOST_TEST((state() == end));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(captured_draws_have_values_on_replay_only, *label("conformance-36")) {
  for (const Op& op : all_ops()) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      BOOST_TEST_CONTEXT(op.name << ", seed " << seed) {
        manual_seed(seed);
        const Array expected = op.draw({33});
        auto [graph, result] = capture([&] { return op.draw({33}); });
        const GraphExec exec = graph.instantiate();
        const Array& unplayed = result;
        require_error(Errc::illegal_state, [&] { numbers(unplayed); }, {"replay"});
        manual_seed(seed);
        exec.replay();
        BOOST_TEST(same_bits(result, expected));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(odd_sizes_draw_the_beginning_of_a_longer_draw, *label("report-74")) {
  const std::initializer_list<Shape> shapes = {{0}, {1}, {2}, {3}, {5}, {7}, {257}, {1023}, {3, 3}, {}};
  for (const Op& op : all_ops()) {
    manual_seed(3);
    const std::vector<double> longer = numbers(op.draw({2048}));
    for (const Shape& shape : shapes) {
      for (const Mode mode : all_modes) {
        BOOST_TEST_CONTEXT(op.name << ' ' << shape << ' ' << mode) {
          manual_seed(3);
          const Array drawn = run_as(mode, [&] { return op.draw(shape); });
          BOOST_TEST(drawn.shape() == shape);
          const std::vector<double> all = numbers(drawn);
          BOOST_TEST(std::equal(all.begin(), all.end(), longer.begin()));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(numbers_of_16_bits_are_those_of_float32_rounded) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const ArrayOptions options{.dtype = dtype};
    const auto require_rounded = [&](const std::function<Array(ArrayOptions)>& draw) {
      manual_seed(8);
      const Array rounded = draw({}).cast(dtype);
      manual_seed(8);
      BOOST_TEST(same_bits(draw(options), rounded), dtype);
    };
    require_rounded([](ArrayOptions of) { return randn({50000}, of); });
    require_rounded([](ArrayOptions of) { return normal(1, 2, {50000}, of); });
    require_rounded([](ArrayOptions of) { return exponential(2, {50000}, of); });
    require_rounded([](ArrayOptions of) { return bernoulli(0.5, {50000}, of); });
    // What is rounded to the upper bound becomes the lower one.
    manual_seed(8);
    std::vector<double> expected = numbers(rand({50000}).cast(dtype));
    BOOST_TEST(std::count(expected.begin(), expected.end(), 1.0) > 0);
    std::replace(expected.begin(), expected.end(), 1.0, 0.0);
    manual_seed(8);
    BOOST_TEST(numbers(rand({50000}, options)) == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(uniform_numbers_are_scaled_and_moved_with_one_rounding) {
  constexpr float low = -0.3F;
  constexpr float high = 1.5F;
  manual_seed(8);
  const std::vector<float> standard = rand({100000}).to_vector<float>();
  manual_seed(8);
  const std::vector<float> drawn = uniform(low, high, {100000}).to_vector<float>();
  int rounded_twice = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const float expected = std::fma(standard[i], high - low, low);
    BOOST_TEST(drawn[i] == expected, "element " << i << ": " << drawn[i] << ", not " << expected);
    const volatile float product = standard[i] * (high - low);
    rounded_twice += product + low != expected ? 1 : 0;
  }
  BOOST_TEST(rounded_twice > 0);  // else this shows nothing
}

BOOST_AUTO_TEST_CASE(numbers_lie_where_their_distribution_has_them) {
  for (const DType dtype : floats) {
    BOOST_TEST_CONTEXT(dtype) {
      const ArrayOptions options{.dtype = dtype};
      manual_seed(3);
      const std::vector<double> flat = numbers(uniform(-1, 3, {100000}, options));
      BOOST_TEST(std::all_of(flat.begin(), flat.end(), [](double number) { return number >= -1 && number < 3; }));
      BOOST_TEST(std::abs(mean_of(flat) - 1) < 0.03);
      BOOST_TEST(std::abs(variance_of(flat) - 16.0 / 12) < 0.03);

      const std::vector<double> bell = numbers(normal(10, 3, {100000}, options));
      BOOST_TEST(std::abs(mean_of(bell) - 10) < 0.06);
      BOOST_TEST(std::abs(variance_of(bell) - 9) < 0.2);

      const std::vector<double> waits = numbers(exponential(0.5, {100000}, options));
      BOOST_TEST(std::all_of(waits.begin(), waits.end(), [](double number) { return number > 0; }));
      BOOST_TEST(std::abs(mean_of(waits) - 2) < 0.04);
      BOOST_TEST(std::abs(variance_of(waits) - 4) < 0.2);

      const std::vector<double> coins = numbers(bernoulli(0.2, {100000}, options));
      BOOST_TEST(std::all_of(coins.begin(), coins.end(), [](double number) { return number == 0 || number == 1; }));
      BOOST_TEST(std::abs(mean_of(coins) - 0.2) < 0.01);
    }
  }
}

BOOST_AUTO_TEST_CASE(certain_draws_are_certain) {
  manual_seed(3);
  BOOST_TEST(holds(bernoulli(0, {100000}), 0));
  BOOST_TEST(holds(bernoulli(1, {100000}), 1));
  BOOST_TEST(holds(uniform(2, 2, {1000}), 2));
  BOOST_TEST(holds(normal(-4, 0, {1000}), -4));
}

BOOST_AUTO_TEST_CASE(parameters_that_make_no_sense_are_refused_and_advance_nothing) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double none = std::nan("");
  const auto refused = [](std::function<void()> fn, std::initializer_list<std::string_view> words) {
    require_error(Errc::invalid_value, fn, words);
  };
  manual_seed(3);
  refused([] { uniform(1, -1, {3}); }, {"uniform", "[1, -1)"});
  refused([&] { uniform(0, infinity, {3}); }, {"uniform", "inf"});
  refused([&] { uniform(none, 1, {3}); }, {"uniform", "nan"});
  refused([] { uniform(-3e38, 3e38, {3}); }, {"uniform", "float32"});
  refused([] { uniform(0, 1e5, {3}, {.dtype = DType::float16}); }, {"uniform", "float16", "100000)"});
  refused([] { normal(0, -0.5, {3}); }, {"normal", "-0.5"});
  refused([&] { normal(none, 1, {3}); }, {"normal", "nan"});
  refused([] { bernoulli(1.5, {3}); }, {"bernoulli", "1.5"});
  refused([&] { bernoulli(none, {3}); }, {"bernoulli", "nan"});
  refused([] { exponential(0, {3}); }, {"exponential", "rate 0"});
  refused([&] { exponential(infinity, {3}); }, {"exponential", "inf"});
  refused([] { uniform(0, 1, {3}, {.dtype = DType::int64}); }, {"uniform", "int64", "float32"});
  refused([] { exponential(1, {3}, {.dtype = DType::bool_}); }, {"exponential", "bool"});
  refused([] { bernoulli(1, {3}, {.dtype = DType::int32}); }, {"bernoulli", "int32", "bool"});
  BOOST_TEST((state() == GeneratorState{3, 0}));
  uniform(-1e38, 1e38, {3});
  uniform(0, 60000, {3}, {.dtype = DType::float16});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
