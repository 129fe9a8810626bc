// Reductions: results against a naive loop, the order that is published, zero sizes, NaN, ties, any axes of any view.

#include "support.hpp"
#include "support_reductions.hpp"
#include "support_reference.hpp"

#include <refrain/reduce.hpp>

#include <cmath>
#include <numeric>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr DType f16 = DType::float16;
constexpr DType bf16 = DType::bfloat16;
constexpr DType f32 = DType::float32;
constexpr DType f64 = DType::float64;

constexpr std::initializer_list<Mode> modes = {Mode::eager, Mode::graph, Mode::graph_none, Mode::live};

/// Small whole numbers, so that sums are exact in every dtype's order.
Array whole_numbers(Shape shape, DType dtype, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (float& value : values) value = static_cast<float>(random() % 5);
  return from_host(values, shape).cast(dtype);
}

std::vector<double> doubles(const Array& array) { return array.cast(f64).to_vector<double>(); }

/// Every mode gives these numbers.
void require_numbers(const std::function<Array()>& fn, const std::vector<double>& expected) {
  for (const Mode mode : modes) {
    BOOST_TEST_CONTEXT(mode) { BOOST_TEST(doubles(run_as(mode, fn)) == expected, per_element()); }
  }
}

/// The elements as each of some columns.
Array columns_of(const Array& x, std::int64_t count) {
  Array wide = empty({x.size(), count});
  wide.assign(x.unsqueeze(1));
  return wide;
}

std::vector<double> normal_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(normal(random));
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reductions, *label("sanitize"))

BOOST_AUTO_TEST_CASE(any_axes_of_a_permuted_array, *label("report-72")) {
  const Array base = whole_numbers({5, 4, 1, 5}, f32);
  int order[] = {0, 1, 2, 3};
  do {
    const Array x = base.permute({order[0], order[1], order[2], order[3]});
    const std::vector<double> all = doubles(x);
    for (unsigned mask = 0; mask < 16; ++mask) {
      std::vector<int> axes;
      std::vector<std::int64_t> kept;
      for (int axis = 0; axis < 4; ++axis) {
        if ((mask >> axis & 1) != 0) {
          axes.push_back(axis);
        } else {
          kept.push_back(x.shape()[axis]);
        }
      }
      if (axes.empty()) continue;
      const Shape shape{std::span<const std::int64_t>(kept)};
      std::vector<double> expected(static_cast<std::size_t>(shape.size()));
      for (std::size_t i = 0; i < all.size(); ++i) {
        std::size_t rest = i;
        std::size_t index[4];
        for (int axis = 3; axis >= 0; --axis) {
          const auto extent = static_cast<std::size_t>(x.shape()[axis]);
          index[axis] = rest % extent;
          rest /= extent;
        }
        std::size_t at = 0;
        for (int axis = 0; axis < 4; ++axis) {
          if ((mask >> axis & 1) == 0) at = at * static_cast<std::size_t>(x.shape()[axis]) + index[axis];
        }
        expected[at] += all[i];
      }
      Axes named;
      switch (axes.size()) {
        case 1: named = Axes{axes[0]}; break;
        case 2: named = Axes{axes[0], axes[1] - 4}; break;
        case 3: named = Axes{axes[2], axes[0], axes[1]}; break;
        default: break;
      }
      const Array result = sum(x, named);
      BOOST_TEST((result.shape() == shape));
      BOOST_TEST(doubles(result) == expected, per_element());
      const auto [graph, replayed] = capture([&] { return sum(x, named, true); });
      graph.instantiate().replay();
      BOOST_TEST(replayed.ndim() == 4);
      BOOST_TEST(doubles(replayed) == expected, per_element());
    }
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

BOOST_AUTO_TEST_CASE(the_order_is_the_published_one_whatever_the_layout) {
  for (const std::size_t count :
       {1UL, 2UL, 3UL, 31UL, 33UL, 1023UL, 1024UL, 1025UL, 2049UL, 8191UL, 8192UL, 8193UL, 20000UL, 100001UL}) {
    const std::vector<double> numbers = normal_numbers(count, 7);
    std::vector<float> floats(numbers.begin(), numbers.end());
    const auto n = static_cast<std::int64_t>(count);
    const Array x = from_host(floats, {n});
    const auto expected = static_cast<float>(published_sum(numbers));
    BOOST_TEST_CONTEXT(count) {
      for (const Mode mode : modes) BOOST_TEST(run_as(mode, [&] { return sum(x); }).item<float>() == expected);
      // As a column among others, with a stride, backwards twice, cut into axes, and twice as far apart.
      const Array wide = columns_of(x, 3);
      for (const float total : sum(wide, 0).to_vector<float>()) BOOST_TEST(total == expected);
      for (const float total : sum(wide.transpose(0, 1), 1).to_vector<float>()) BOOST_TEST(total == expected);
      BOOST_TEST(sum(wide.select(1, 1)).item<float>() == expected);
      BOOST_TEST(sum(x.flip(0).contiguous().flip(0)).item<float>() == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_of_every_dtype) {
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int32, DType::int64, f16, bf16, f32, f64}) {
    BOOST_TEST_CONTEXT(dtype) {
      const Array x = whole_numbers({3, 20}, dtype);
      const std::vector<double> all = doubles(x);
      std::vector<double> sums(3);
      std::vector<double> products(3, 1);
      for (std::size_t i = 0; i < all.size(); ++i) {
        sums[i / 20] += all[i];
        products[i / 20] *= all[i] == 0 ? 1 : all[i] > 2 ? 1 : all[i];
      }
      require_numbers([&] { return sum(x, -1); }, sums);
      BOOST_TEST(sum(x, 1).dtype() == (is_floating(dtype) ? dtype : DType::int64));
      if (dtype == DType::bool_) continue;
      const Array factors =
          where(x == 0, full({}, 1, {.dtype = dtype}), where(x > 2, full({}, 1, {.dtype = dtype}), x));
      require_numbers([&] { return prod(factors, 1); }, products);
    }
  }
  BOOST_TEST(sum(full({1000}, 255, {.dtype = DType::uint8})).item<std::int64_t>() == 255000);
}

BOOST_AUTO_TEST_CASE(large_sums_are_right_to_the_last_digits, *label("report-73")) {
  constexpr std::int64_t n = std::int64_t{1} << 25;
  const double exact = static_cast<double>(0.1F) * static_cast<double>(n);
  const auto require_near = [](double found, double wanted) { BOOST_TEST(std::abs(found - wanted) <= 1e-7 * wanted); };
  BOOST_TEST(sum(ones({n})).item<float>() == static_cast<float>(n));
  BOOST_TEST(mean(ones({n})).item<float>() == 1);
  require_near(sum(full({n}, 0.1)).item<double>(), exact);
  require_near(mean(full({n}, 0.1)).item<double>(), static_cast<double>(0.1F));
  for (const double found : doubles(sum(full({n, 3}, 0.1), 0))) require_near(found, exact);
  for (const double found : doubles(sum(full({3, n}, 0.1), 1))) require_near(found, exact);
  const auto [graph, total] = capture([&] { return sum(full({n}, 0.1)); });
  graph.instantiate().replay();
  require_near(total.item<double>(), exact);
}

BOOST_AUTO_TEST_CASE(no_elements, *label("report-65")) {
  for (const DType dtype : {f32, DType::int32}) {
    for (const Shape& shape : {Shape{0}, Shape{0, 4}}) {
      const Array x = zeros(shape, {.dtype = dtype});
      require_numbers([&] { return sum(x); }, {0});
      require_numbers([&] { return prod(x); }, {1});
      require_numbers([&] { return any(x); }, {0});
      require_numbers([&] { return all(x); }, {1});
      for (const Mode mode : modes) BOOST_TEST(std::isnan(run_as(mode, [&] { return mean(x); }).item<float>()));
      const auto refuse = [&] {
        require_error(Errc::invalid_value, [&] { max(x); }, {"max", "no elements"});
        require_error(Errc::invalid_value, [&] { min(x, 0); });
        require_error(Errc::invalid_value, [&] { argmax(x); });
        require_error(Errc::invalid_value, [&] { argmin(x, 0); });
      };
      refuse();
      capture(refuse);
    }
  }
  const Array x = zeros({0, 4});
  BOOST_TEST((max(x, 1).shape() == Shape{0}));
  BOOST_TEST((argmin(x, 1, true).shape() == Shape{0, 1}));
  require_numbers([&] { return sum(x, 0); }, {0, 0, 0, 0});
  BOOST_TEST(logsumexp(x).item<float>() == -INFINITY);
  BOOST_TEST(norm(x).item<float>() == 0);
}

BOOST_AUTO_TEST_CASE(nan_is_the_extreme, *label("report-68")) {
  for (const std::int64_t n : {1, 2, 31, 33, 1024, 1025, 9000}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      Array x = whole_numbers({n}, f32);
      x.select(0).assign(INFINITY);
      x.select(n - 1).assign(-INFINITY);
      x.select(at).assign(NAN);
      BOOST_TEST_CONTEXT(n << " at " << at) {
        for (const Mode mode : modes) {
          BOOST_TEST(std::isnan(run_as(mode, [&] { return max(x); }).item<float>()));
          BOOST_TEST(std::isnan(run_as(mode, [&] { return min(x); }).item<float>()));
          BOOST_TEST(std::isnan(run_as(mode, [&] { return sum(x); }).item<float>()));
          BOOST_TEST(run_as(mode, [&] { return argmax(x); }).item<std::int64_t>() == at);
          BOOST_TEST(run_as(mode, [&] { return argmin(x); }).item<std::int64_t>() == at);
        }
      }
    }
    BOOST_TEST(argmax(full({n}, NAN)).item<std::int64_t>() == 0);
  }
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_ones_is_named, *label("report-79")) {
  Array grid = ones({3, 4});
  grid.select(1).select(2).assign(0);
  const Array many = ones({1000000});
  for (int run = 0; run < 20; ++run) {
    BOOST_TEST(argmax(ones({4})).item<std::int64_t>() == 0);
    BOOST_TEST(argmin(grid).item<std::int64_t>() == 6);
    BOOST_TEST(argmax(grid, 0).to_vector<std::int64_t>() == (std::vector<std::int64_t>{0, 0, 0, 0}), per_element());
    BOOST_TEST(argmin(grid, 1).to_vector<std::int64_t>() == (std::vector<std::int64_t>{0, 2, 0}), per_element());
    BOOST_TEST(argmax(many).item<std::int64_t>() == 0);
    BOOST_TEST(argmax(many.flip(0)).item<std::int64_t>() == 0);
  }
}

BOOST_AUTO_TEST_CASE(extremes_of_every_dtype) {
  for (const DType dtype : {DType::uint8, DType::int32, DType::int64, f16, bf16, f32, f64}) {
    BOOST_TEST_CONTEXT(dtype) {
      const Array x = whole_numbers({40, 50}, dtype, 3) + 3;
      require_numbers([&] { return min(x); }, {3});
      require_numbers([&] { return max(x); }, {7});
      const Array negative = dtype == DType::uint8 ? x : -x;
      const double sign = dtype == DType::uint8 ? 1 : -1;
      require_numbers([&] { return max(negative); }, {sign > 0 ? 7.0 : -3.0});
      require_numbers([&] { return min(negative.transpose(0, 1).flatten()); }, {sign > 0 ? 3.0 : -7.0});
    }
  }
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(max(full({3}, least, {.dtype = DType::int64})).item<std::int64_t>() == least);
  BOOST_TEST(max(full({3}, -INFINITY)).item<float>() == -INFINITY);
}

BOOST_AUTO_TEST_CASE(means_and_variances) {
  const Array x = array({1.0, 2.0, 3.0, 4.0, 6.0, 8.0}).reshape({2, 3});
  require_numbers([&] { return mean(x, 1); }, {2, 6});
  require_numbers([&] { return mean(x.cast(DType::int32), 0, true); }, {2.5, 4, 5.5});
  BOOST_TEST(mean(x.cast(DType::int32)).dtype() == f32);
  require_numbers([&] { return var(x, 1); }, {1, 4});
  require_numbers([&] { return var(x, 0, 0); }, {2.25, 4, 6.25});
  BOOST_TEST(std::isnan(var(ones({1})).item<float>()));
  // A mean that is large beside the variance.
  const Array far = array({1000000.0, 1000001.0, 1000002.0}, {.dtype = f64});
  require_numbers([&] { return var(far); }, {1});
}

BOOST_AUTO_TEST_CASE(norms_softmax_and_their_like) {
  require_numbers([] { return norm(array({3.0, 4.0})); }, {5});
  require_numbers([] { return norm(array({300.0, 400.0}, {.dtype = f16})); }, {500});  // the squares do not fit
  require_numbers([] { return dot(array({1.0, 2.0, 3.0}), array({4.0, 5.0, 6.0})); }, {32});
  require_numbers([] { return softmax(full({2, 4}, 1000)); }, std::vector<double>(8, 0.25));
  require_numbers([] { return softmax(array({0, 0})); }, {0.5, 0.5});
  require_numbers([] { return softmax(full({2, 2}, 1, {.dtype = bf16}), 0); }, std::vector<double>(4, 0.5));
  const Array x = from_host(std::vector<float>{-2.5F, 0.25F, 3, 700}, {4});
  BOOST_TEST(logsumexp(x).item<float>() == 700);
  BOOST_TEST(std::abs(logsumexp(x.slice(0, 3)).item<double>() - 3.0658) < 1e-4);
  BOOST_TEST(logsumexp(full({3}, -INFINITY)).item<float>() == -INFINITY);
  BOOST_TEST(logsumexp(array({1.0, INFINITY})).item<float>() == INFINITY);
  require_error(Errc::invalid_value, [] { dot(ones({2}), ones({3})); }, {"dot"});
}

BOOST_AUTO_TEST_CASE(truth_of_any_dtype) {
  const Array x = array({0.0, 0.0, 0.0, NAN}).reshape({2, 2});
  require_numbers([&] { return any(x, 1); }, {0, 1});
  require_numbers([&] { return all(x != 0, 1, true); }, {0, 0});
  require_numbers([&] { return all(ones({3}, {.dtype = DType::uint8})); }, {1});
  BOOST_TEST(any(x).dtype() == DType::bool_);
}

BOOST_AUTO_TEST_CASE(axes_that_are_not_there_are_refused) {
  const Array x = ones({2, 3});
  require_error(Errc::invalid_value, [&] { sum(x, 2); }, {"axis 2", "[2, 3]", "reductions.cpp:"});
  require_error(Errc::invalid_value, [&] { sum(x, {0, -2}); }, {"twice"});
  require_error(Errc::invalid_value, [] { sum(Array()); });
  require_error(Errc::invalid_value, [] { Axes({0, 1, 2, 3, 4, 5, 6, 7, 8}); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
