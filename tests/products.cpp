// Matrix products against a naive loop in double: shapes, layouts, dtypes, in every mode with equal bits.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/linalg.hpp>

#include <cmath>
#include <random>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr DType f16 = DType::float16;
constexpr DType bf16 = DType::bfloat16;
constexpr DType f32 = DType::float32;
constexpr DType f64 = DType::float64;

/// Numbers in [-1, 1], of few enough bits for every dtype.
Array numbers_of(Shape shape, unsigned seed, DType dtype = f32) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 129) - 64) / 64;
  return from_host(values, shape).cast(dtype);
}

/// The product of arrays with as many axes each, two at least, and the sum of the terms' magnitudes.
struct Reference {
  std::vector<double> value;
  std::vector<double> magnitude;

  Reference(const Array& left, const Array& right) {
    const int ndim = left.ndim();
    std::vector<std::int64_t> batch;
    for (int axis = 0; axis < ndim - 2; ++axis) batch.push_back(std::max(left.shape()[axis], right.shape()[axis]));
    const auto whole = [&](const Array& array) {
      std::vector<std::int64_t> extents = batch;
      for (int axis = ndim - 2; axis < ndim; ++axis) extents.push_back(array.shape()[axis]);
      return numbers(array.expand(Shape(extents)));
    };
    const std::vector<double> a = whole(left);
    const std::vector<double> b = whole(right);
    const auto m = static_cast<std::size_t>(left.shape()[ndim - 2]);
    const auto k = static_cast<std::size_t>(left.shape()[ndim - 1]);
    const auto n = static_cast<std::size_t>(right.shape()[ndim - 1]);
    std::size_t count = 1;
    for (const std::int64_t extent : batch) count *= static_cast<std::size_t>(extent);
    for (std::size_t at = 0; at < count; ++at) {
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double sum = 0;
          double all = 0;
          for (std::size_t p = 0; p < k; ++p) {
            const double term = a[(at * m + i) * k + p] * b[(at * k + p) * n + j];
            sum += term;
            all += std::abs(term);
          }
          value.push_back(sum);
          magnitude.push_back(all);
        }
      }
    }
  }
};

/// Half a unit in the last place, relative.
double half_unit(DType dtype) {
  switch (dtype) {
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::float32: return 0x1p-24;
    default: return 0x1p-53;
  }
}

/// Every mode gives the same bits, within the stated bound of the reference.
void require_product(const Array& left, const Array& right, DType dtype = f32) {
  const Reference expected(left, right);
  const Array eager = matmul(left, right);
  BOOST_TEST(eager.dtype() == dtype);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      BOOST_TEST(same_bits(run_as(mode, [&] { return matmul(left, right); }), eager));
    }
  }
  const std::vector<double> got = numbers(eager);
  BOOST_REQUIRE(got.size() == expected.value.size());
  const auto k = static_cast<double>(left.shape()[left.ndim() - 1]);
  const double of_sums = dtype == f64 ? half_unit(f64) : half_unit(f32);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double bound = k * of_sums * expected.magnitude[i] + half_unit(dtype) * std::abs(expected.value[i]);
    if (!(std::abs(got[i] - expected.value[i]) <= bound)) ++wrong;
  }
  BOOST_TEST(wrong == 0U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(products, *label("sanitize"))

BOOST_AUTO_TEST_CASE(small_and_odd_and_large_shapes) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {2, 3, 4},
                                {1, 33, 31},
                                {31, 1, 33},
                                {33, 31, 1},
                                {129, 65, 257},
                                {256, 256, 256},
                                {5, 1025, 7},
                                {64, 64, 1025}}) {
    BOOST_TEST_CONTEXT(m << ' ' << n << ' ' << k) { require_product(numbers_of({m, k}, 1), numbers_of({k, n}, 2)); }
  }
}

BOOST_AUTO_TEST_CASE(every_floating_dtype) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    BOOST_TEST_CONTEXT(to_string(dtype)) {
      require_product(numbers_of({33, 40}, 3, dtype), numbers_of({40, 24}, 4, dtype), dtype);
      require_product(numbers_of({300, 64}, 3, dtype), numbers_of({64, 64}, 4, dtype).transpose(0, 1), dtype);
      require_product(numbers_of({2, 7, 9}, 3, dtype), numbers_of({2, 9, 5}, 4, dtype), dtype);
    }
  }
}

BOOST_AUTO_TEST_CASE(transposed_operands_and_slices_are_read_where_they_are) {
  const Array a = numbers_of({24, 40}, 5);
  const Array b = numbers_of({40, 24}, 6);
  const auto nodes = [](const Array& left, const Array& right) {
    return capture([&] { return matmul(left, right); }).first.nodes().size();
  };
  for (const auto& [left, right] : {std::pair{a, a.transpose(0, 1)},
                                    {b.transpose(0, 1), b},
                                    {b.transpose(0, 1), a.transpose(0, 1)},
                                    {a.slice({.begin = 3, .end = 20}), b.slice({.begin = 5, .end = 9}, 1)},
                                    {a.slice({.step = 2}), b},
                                    {a.slice({.begin = 1, .end = 31}, 1), b.slice({.begin = 9, .end = 39})},
                                    {a.slice({.begin = 2, .end = 3}), b.slice({.begin = 7, .end = 8}, 1)},
                                    {b.slice({.begin = 2, .end = 3}, 1).transpose(0, 1), b}}) {
    BOOST_TEST_CONTEXT(left.shape() << right.shape()) {
      require_product(left, right);
      BOOST_TEST(nodes(left, right) == 1U);
    }
  }
}

BOOST_AUTO_TEST_CASE(operands_without_a_dense_axis_are_copied) {
  const Array a = numbers_of({24, 40}, 5);
  const Array b = numbers_of({40, 24}, 6);
  for (const auto& [left, right] : {std::pair{a.slice({.step = 2}, 1), b.slice({.step = 2})},
                                    {a.flip(1), b},
                                    {a.flip(0), b},
                                    {numbers_of({1, 40}, 7).expand({24, 40}), b},
                                    {a, numbers_of({40, 1}, 7).expand({40, 6})},
                                    {numbers_of({24, 1}, 7).expand({24, 40}), b},
                                    {numbers_of({1}, 7).expand({3, 40}), b.flip(1)}}) {
    BOOST_TEST_CONTEXT(left.shape() << right.shape()) { require_product(left, right); }
  }
}

BOOST_AUTO_TEST_CASE(batches_are_broadcast) {
  const auto with = [](std::initializer_list<std::int64_t> left, std::initializer_list<std::int64_t> right) {
    const Array a = numbers_of(left, 8);
    const Array b = numbers_of(right, 9);
    BOOST_TEST_CONTEXT(a.shape() << b.shape()) { require_product(a, b); }
  };
  with({3, 4, 5}, {3, 5, 6});
  with({3, 4, 5}, {1, 5, 6});
  with({1, 4, 5}, {3, 5, 6});
  with({2, 3, 4, 5}, {2, 3, 5, 6});
  with({2, 3, 4, 5}, {1, 1, 5, 6});
  with({2, 1, 4, 5}, {1, 3, 5, 6});
  with({2, 1, 3, 5}, {2, 7, 5, 3});
  with({2, 3, 4, 3, 5}, {2, 1, 4, 5, 3});
  with({2, 1, 2, 1, 3, 5}, {1, 3, 1, 2, 5, 1});
}

BOOST_AUTO_TEST_CASE(batches_that_are_views) {
  const Array a = numbers_of({4, 6, 5, 8}, 10);
  const Array b = numbers_of({4, 6, 8, 7}, 11);
  require_product(a.slice({.step = 2}, 1), b.slice({.begin = 0, .end = 3}, 1));
  require_product(a.permute({1, 0, 2, 3}), b.permute({1, 0, 2, 3}));
  require_product(a.transpose(2, 3), b.slice({.begin = 0, .end = 5}, 2));
  require_product(a.flip(0), b);
  require_product(a.slice({.begin = 1, .end = 2}), b);
}

BOOST_AUTO_TEST_CASE(fewer_axes_are_broadcast_and_vectors_lose_their_axis) {
  const Array a = numbers_of({3, 4, 5}, 12);
  const Array b = numbers_of({5, 6}, 13);
  BOOST_TEST(same_bits(matmul(a, b), matmul(a, b.expand({1, 5, 6}))));
  const Array row = numbers_of({4}, 14);
  const Array column = numbers_of({5}, 15);
  BOOST_TEST(matmul(row, a).shape() == Shape({3, 5}));
  BOOST_TEST(matmul(a, column).shape() == Shape({3, 4}));
  BOOST_TEST(matmul(column, column).shape() == Shape({}));
  BOOST_TEST(same_bits(matmul(row, a), matmul(row.unsqueeze(0), a).squeeze(1)));
  BOOST_TEST(same_bits(matmul(a, column), matmul(a, column.unsqueeze(1)).squeeze(2)));
  const double sum = matmul(column, column).item<double>();
  BOOST_TEST(sum == numbers(dot(column, column))[0], boost::test_tools::tolerance(1e-6));
  require_product(column.slice({.step = -1}).unsqueeze(0), b);
}

BOOST_AUTO_TEST_CASE(dtypes_are_promoted) {
  const Array a = numbers_of({4, 5}, 16);
  const Array b = numbers_of({5, 6}, 17);
  BOOST_TEST(matmul(a, b.cast(f64)).dtype() == f64);
  BOOST_TEST(matmul(a.cast(f16), b).dtype() == f32);
  BOOST_TEST(matmul(a.cast(f16), b.cast(bf16)).dtype() == f32);
  const Array whole = (a * 8).cast(DType::int64);
  BOOST_TEST(same_bits(matmul(whole, b), matmul(whole.cast(f32), b)));
}

BOOST_AUTO_TEST_CASE(no_elements, *label("report-67")) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const auto shape = [&](Shape left, Shape right) {
        return run_as(mode, [&] { return matmul(ones(left), ones(right)); }).shape();
      };
      BOOST_TEST(shape({0, 3}, {3, 4}) == Shape({0, 4}));
      BOOST_TEST(shape({4, 3}, {3, 0}) == Shape({4, 0}));
      BOOST_TEST(shape({0, 4, 3}, {3, 2}) == Shape({0, 4, 2}));
      const Array sums = run_as(mode, [] { return matmul(ones({2, 0}), ones({0, 3})); });
      BOOST_TEST(sums.shape() == Shape({2, 3}));
      BOOST_TEST(holds(sums, 0));
    }
  }
}

BOOST_AUTO_TEST_CASE(nan_and_infinity_stay_in_their_rows_and_columns) {
  const float infinity = std::numeric_limits<float>::infinity();
  Array a = ones({4, 8});
  a.select(1).assign(std::nanf(""));
  a.select(2).assign(infinity);
  const std::vector<double> got = numbers(matmul(a, ones({8, 3})));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t row = i / 3;
    BOOST_TEST((row == 1 ? std::isnan(got[i]) : got[i] == (row == 2 ? infinity : 8)));
  }
}

BOOST_AUTO_TEST_CASE(a_leave_to_be_less_precise_is_bounded) {
  const Array a = numbers_of({96, 128}, 18) * 1.001F;
  const Array b = numbers_of({128, 64}, 19) * 1.001F;
  const Reference exact(a, b);
  for (const auto& [precision, half] : {std::pair{MatmulPrecision::tf32, 0x1p-11},
                                        {MatmulPrecision::float16, 0x1p-11},
                                        {MatmulPrecision::bfloat16, 0x1p-8}}) {
    const auto product = [&, precision = precision] { return matmul(a, b, {.precision = precision}); };
    const Array eager = product();
    for (const Mode mode : graph_modes) BOOST_TEST(same_bits(run_as(mode, product), eager));
    const std::vector<double> got = numbers(eager);
    for (std::size_t i = 0; i < got.size(); ++i) {
      BOOST_REQUIRE(std::abs(got[i] - exact.value[i]) <= (2.1 * half + 128 * 0x1p-24) * exact.magnitude[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(products_of_several_streams_do_not_disturb_each_other) {
  constexpr int count = 6;
  std::vector<Array> left;
  std::vector<Array> right;
  for (unsigned i = 0; i < count; ++i) {
    left.push_back(numbers_of({65, 700}, 20 + i));
    right.push_back(numbers_of({700, 33}, 30 + i));
  }
  std::vector<Array> alone;
  for (std::size_t i = 0; i < count; ++i) alone.push_back(matmul(left[i], right[i]));
  const auto program = [&] {
    std::vector<Stream> streams(count);
    std::vector<Array> all;
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        const StreamGuard on(streams[i]);
        const Array product = matmul(left[i], right[i]);
        if (round == 0) all.push_back(product);
      }
    }
    for (const Stream& stream : streams) current_stream().wait_stream(stream);
    return all;
  };
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const std::vector<Array> together = run_as(mode, program);
      for (std::size_t i = 0; i < count; ++i) BOOST_TEST(same_bits(together[i], alone[i]));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_product_that_is_refused_leaves_nothing_in_a_capture) {
  const Array whole = ones({2, 3, 4}, {.dtype = DType::int32});
  const Array b = numbers_of({3, 4, 5}, 40);
  const Array weight = numbers_of({5, 4}, 41);
  const Array x = numbers_of({2, 3}, 42);
  const Array bias = numbers_of({5}, 43, f16);
  const auto [graph, product] = capture([&] {
    require_error(Errc::invalid_value, [&] { matmul(whole, b); });  // which would cast first
    require_error(Errc::invalid_value, [&] { linear(x, weight, bias); });
    return matmul(b.select(0), weight.flip(0));  // the copy of what runs backwards, and the product
  });
  BOOST_TEST(labels(graph) == (std::vector<std::string>{"matmul", "matmul"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
