// What reductions of several steps give, bit for bit: each step as docs/arrays.md has it, in the published order, with
// the device's own exp and log.

#include "support.hpp"
#include "support_reductions.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>
#include <refrain/reduce.hpp>

#include <cmath>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr DType f16 = DType::float16;
constexpr DType bf16 = DType::bfloat16;
constexpr DType f32 = DType::float32;
constexpr DType f64 = DType::float64;

constexpr std::initializer_list<std::int64_t> counts = {1,    2,    3,    31,   33,   64,   127,  128,  129,  500,
                                                        1000, 1023, 1024, 1025, 2048, 5000, 8191, 8192, 8193, 20000};

/// Numbers of both signs, of a size that makes exponents differ.
Array normal_numbers(std::int64_t count, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.25, 3);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = normal(random);
  return from_host(values, {count}).cast(dtype);
}

/// Rounded to the dtype.
double rounded(double value, DType dtype) {
  return full({}, value, {.dtype = f64}).cast(dtype).cast(f64).item<double>();
}

double sum_of(const std::vector<double>& x) { return published_sum(x); }

/// The row as it is, as a column among others, backwards, and as rows of which the second is that.
std::vector<Array> layouts_of(const Array& x) {
  Array wide = empty({x.size(), 40}, {.dtype = x.dtype()});
  wide.assign(x.unsqueeze(1));
  Array three = zeros({x.size(), 3}, {.dtype = x.dtype()});
  three.assign(x.unsqueeze(1));
  Array rows = zeros({3, x.size()}, {.dtype = x.dtype()});
  rows.assign(x);
  return {x.unsqueeze(0),
          wide.transpose(0, 1),
          three.transpose(0, 1),
          rows,
          x.flip(0).contiguous().flip(0).unsqueeze(0),
          x.expand({4, x.size()})};
}

/// op(row, over its last axis) of every layout, in two modes, is `expected` in every row.
void require_rows(const Array& x, const std::function<Array(const Array&)>& op, const Array& expected) {
  for (const Array& rows : layouts_of(x)) {
    for (const Mode mode : {Mode::eager, Mode::graph}) {
      const Array found = run_as(mode, [&] { return op(rows); });
      for (std::int64_t row = 0; row < found.shape()[0]; ++row) {
        BOOST_TEST_CONTEXT(mode << ", rows " << rows.shape() << ", row " << row) {
          BOOST_TEST(same_bits(found.select(row), expected));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reductions_numbers, *label("sanitize"))

BOOST_AUTO_TEST_CASE(softmax_is_its_definition) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    for (const std::int64_t count : counts) {
      if (dtype != f32 && count > 1025 && count != 8193) continue;
      BOOST_TEST_CONTEXT(dtype << ", " << count) {
        const Array x = normal_numbers(count, dtype, 3);
        const DType wide = dtype == f64 ? f64 : f32;
        const Array powers = exp(x.cast(wide) - max(x).cast(wide));
        const double total = rounded(sum_of(numbers(powers)), wide);
        require_rows(
            x, [](const Array& rows) { return softmax(rows); },
            (powers / full({}, total, {.dtype = wide})).cast(dtype));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(logsumexp_is_its_definition) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    for (const std::int64_t count : counts) {
      if (dtype != f32 && count > 129) continue;
      BOOST_TEST_CONTEXT(dtype << ", " << count) {
        const Array x = normal_numbers(count, dtype, 4);
        const DType wide = dtype == f64 ? f64 : f32;
        const Array largest = max(x).cast(wide);
        const Array total = full({}, sum_of(numbers(exp(x.cast(wide) - largest))), {.dtype = f64}).cast(wide);
        require_rows(
            x, [](const Array& rows) { return logsumexp(rows, -1); }, (log(total) + largest).cast(dtype));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(var_is_its_definition) {
  for (const DType dtype : {f32, f64}) {
    for (const std::int64_t count : counts) {
      BOOST_TEST_CONTEXT(dtype << ", " << count) {
        const Array x = normal_numbers(count, dtype, 5);
        std::vector<double> elements = numbers(x);
        const double center = rounded(sum_of(elements) / static_cast<double>(count), dtype);
        for (double& element : elements) element = (element - center) * (element - center);
        const double n = count > 1 ? static_cast<double>(count - 1) : NAN;
        require_rows(
            x, [](const Array& rows) { return var(rows, -1); },
            full({}, sum_of(elements) / n, {.dtype = f64}).cast(dtype));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(norm_is_its_definition) {
  for (const DType dtype : {f32, f64}) {
    for (const std::int64_t count : counts) {
      BOOST_TEST_CONTEXT(dtype << ", " << count) {
        const Array x = normal_numbers(count, dtype, 6);
        std::vector<double> elements = numbers(x);
        for (double& element : elements) element *= element;
        require_rows(
            x, [](const Array& rows) { return norm(rows, -1); },
            full({}, std::sqrt(sum_of(elements)), {.dtype = f64}).cast(dtype));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(dot_is_the_sum_of_products) {
  for (const DType dtype : {DType::uint8, DType::int32, DType::int64, f16, bf16, f32, f64}) {
    for (const std::int64_t count : counts) {
      if (count > 8193 && dtype != f32) continue;
      const Array x = normal_numbers(count, dtype, 7);
      const Array y = normal_numbers(count, dtype, 8);
      const Array twice_as_far = normal_numbers(2 * count, dtype, 8);
      BOOST_TEST_CONTEXT(dtype << ", " << count) {
        const Array expected = sum(x * y);
        for (const Mode mode : all_modes) BOOST_TEST(same_bits(run_as(mode, [&] { return dot(x, y); }), expected));
        BOOST_TEST(same_bits(dot(x.flip(0), y.flip(0)), sum(x.flip(0) * y.flip(0))));
        const Array far = twice_as_far.slice({.begin = 0, .end = 2 * count, .step = 2});
        BOOST_TEST(same_bits(dot(x, far), sum(x * far)));
        BOOST_TEST(same_bits(dot(x, x), sum(x * x)));
      }
    }
  }
  BOOST_TEST(same_bits(dot(ones({3}), ones({3}, {.dtype = f64}) * 0.1), sum(full({3}, 0.1, {.dtype = f64}))));
  BOOST_TEST(dot(ones({0}), ones({0})).item<float>() == 0);
}

BOOST_AUTO_TEST_CASE(phases_give_what_one_command_gives) {
  // 18 chunks: too many for one block where there is one row, but not among many.
  const std::function<Array(const Array&)> ops[] = {
      [](const Array& a) { return sum(a, -1); }, [](const Array& a) { return var(a, -1); },
      [](const Array& a) { return norm(a, -1); }, [](const Array& a) { return logsumexp(a, -1); },
      [](const Array& a) { return argmin(a, -1); }};
  for (const DType dtype : {f16, DType::bfloat16, f32, DType::float64}) {
    const Array x = normal_numbers(17 * 8192 + 5, dtype, 9);
    const Array rows = x.expand({512, x.size()});
    for (const auto& op : ops) BOOST_TEST(same_bits(op(rows).select(511), op(x)));
  }
}

BOOST_AUTO_TEST_CASE(softmax_of_a_long_row_is_that_of_a_block) {
  // Columns of two chunks are in phases, rows of two chunks are not.
  const Array x = normal_numbers(8192 + 77, f32, 10);
  Array columns = empty({x.size(), 2});
  columns.assign(x.unsqueeze(1));
  const Array expected = softmax(x);
  BOOST_TEST(same_bits(softmax(columns, 0).select(1, 1), expected));
  BOOST_TEST(same_bits(logsumexp(columns, 0).select(1), logsumexp(x)));
  BOOST_TEST(same_bits(var(columns, 0).select(1), var(x)));
}

BOOST_AUTO_TEST_CASE(rows_with_nan_and_infinities) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    for (const std::int64_t n : {2, 33, 1000, 3000, 9000}) {
      BOOST_TEST_CONTEXT(dtype << ", " << n) {
        Array x = zeros({4, n}, {.dtype = dtype});
        x.select(0).select(n - 1).assign(NAN);
        x.select(1).select(n - 1).assign(INFINITY);
        x.select(2).assign(-INFINITY);
        x.select(3).select(n - 1).assign(-INFINITY);
        for (const Array& rows : {x, x.transpose(0, 1).contiguous().transpose(0, 1)}) {
          const std::vector<double> shares = numbers(softmax(rows));
          const auto at = [&](std::int64_t row, std::int64_t i) {
            return shares[static_cast<std::size_t>(row * n + i)];
          };
          BOOST_TEST(std::isnan(at(0, 0)));
          BOOST_TEST(std::isnan(at(1, 0)));  // of a total that is
          BOOST_TEST(std::isnan(at(1, n - 1)));
          BOOST_TEST(std::isnan(at(2, 0)));
          BOOST_TEST(at(3, n - 1) == 0);
          const Array share = full({}, 1, {.dtype = dtype == f64 ? f64 : f32}) / (n - 1);
          BOOST_TEST(at(3, 0) == numbers(share.cast(dtype))[0]);
          const std::vector<double> logs = numbers(logsumexp(rows, 1));
          BOOST_TEST(std::isnan(logs[0]));
          BOOST_TEST(logs[1] == INFINITY);
          BOOST_TEST(logs[2] == -INFINITY);
          BOOST_TEST(numbers(norm(rows, 1))[1] == INFINITY);
          BOOST_TEST(std::isnan(numbers(var(rows, 1))[3]));
          BOOST_TEST(numbers(argmax(rows, 1)) == (std::vector<double>{double(n - 1), double(n - 1), 0, 0}),
                     per_element());
          BOOST_TEST(numbers(argmin(rows, 1)) == (std::vector<double>{double(n - 1), 0, 0, double(n - 1)}),
                     per_element());
          BOOST_TEST(numbers(any(rows, 1)) == (std::vector<double>{1, 1, 1, 1}), per_element());
          BOOST_TEST(numbers(all(rows, 1)) == (std::vector<double>{0, 0, 1, 0}), per_element());
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(zeros_of_either_sign_are_equal_and_false) {
  const Array x = array({0.0, -0.0, 0.0});
  BOOST_TEST(argmax(x.flip(0)).item<std::int64_t>() == 0);
  BOOST_TEST(argmin(x).item<std::int64_t>() == 0);
  for (const DType dtype : {f16, bf16, f32, f64}) BOOST_TEST(!any(x.cast(dtype)).item<bool>());
}

BOOST_AUTO_TEST_CASE(no_elements_and_no_rows) {
  for (const Mode mode : all_modes) {
    BOOST_TEST((run_as(mode, [] { return softmax(zeros({0, 4})); }).shape() == Shape{0, 4}));
    BOOST_TEST((run_as(mode, [] { return softmax(zeros({4, 0})); }).shape() == Shape{4, 0}));
    BOOST_TEST(numbers(run_as(mode,
                              [] {
                                return logsumexp(zeros({2, 0}, {.dtype = f16}), 1);
                              })) == std::vector<double>(2, -INFINITY),
               per_element());
    BOOST_TEST(std::isnan(run_as(mode, [] { return var(zeros({0})); }).item<float>()));
    BOOST_TEST((run_as(mode, [] { return var(zeros({0, 3}), 1); }).shape() == Shape{0}));
    BOOST_TEST((run_as(mode, [] { return norm(zeros({3, 0}), 1); }).shape() == Shape{3}));
  }
}

BOOST_AUTO_TEST_CASE(many_short_rows_and_few_long_ones) {
  constexpr std::int64_t many = std::int64_t{1} << 20;
  const Array grid = from_host(std::vector<float>{1, 3, 2}, {3}).expand({many, 3}).contiguous();
  BOOST_TEST(holds(sum(grid, 1), 6));
  BOOST_TEST(holds(argmax(grid, 1), 1));
  BOOST_TEST(holds(all(grid, 1), 1));
  BOOST_TEST(holds(var(grid, 1), 1));
  const Array shares = softmax(grid);
  BOOST_TEST(same_bits(shares.select(many - 1), softmax(grid.select(0))));
  BOOST_TEST(same_bits(shares.select(many / 2), shares.select(0)));

  const Array wide = zeros({3, many + 1});
  Array last = wide.select(many, 1);
  last.assign(1);
  BOOST_TEST(holds(sum(wide, 1), 1));
  BOOST_TEST(holds(argmax(wide, 1), static_cast<double>(many)));
  BOOST_TEST(holds(argmin(wide, 1), 0));
  BOOST_TEST(holds(any(wide, 1), 1));
  BOOST_TEST(holds(all(wide, 1), 0));
  BOOST_TEST(holds(norm(wide, 1), 1));
  const Array flat = zeros({3, many + 1}) + 2;
  BOOST_TEST(holds(var(flat, 1), 0));
  BOOST_TEST(holds(logsumexp(flat, 1), static_cast<double>(log(full({}, many + 1, {.dtype = f32})).item<float>() + 2)));
  BOOST_TEST(holds(softmax(flat), static_cast<double>(1.0F / static_cast<float>(many + 1))));
  BOOST_TEST(holds(softmax(flat, 0), static_cast<double>(1.0F / 3)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
