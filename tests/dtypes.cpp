// Which dtype an op has, and what its numbers are: promotion, true division, wrap-around, in-place targets, casts.

#include "support.hpp"
#include "support_reference.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::array<DType, 5> all_dtypes = {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64};

constexpr DType i32 = DType::int32;
constexpr DType i64 = DType::int64;
constexpr DType f32 = DType::float32;
constexpr DType f64 = DType::float64;
constexpr DType refused = DType::bool_;  // two bools have no arithmetic

/// The dtype of a + b, a - b and a * b; rows are a's dtype, columns b's, in the order of all_dtypes.
constexpr DType arithmetic[5][5] = {
    {refused, i32, i64, f32, f64},  // bool
    {i32, i32, i64, f32, f64},      // int32
    {i64, i64, i64, f32, f64},      // int64
    {f32, f32, f32, f32, f64},      // float32
    {f64, f64, f64, f64, f64},      // float64
};

/// The dtype of a / b.
constexpr DType division[5][5] = {
    {f32, f32, f32, f32, f64}, {f32, f32, f32, f32, f64}, {f32, f32, f32, f32, f64},
    {f32, f32, f32, f32, f64}, {f64, f64, f64, f64, f64},
};

/// The same with a scalar on either side; columns are a bool, an integer and a floating-point number.
constexpr DType scalar_arithmetic[5][3] = {
    {refused, i64, f32}, {i32, i32, f32}, {i64, i64, f32}, {f32, f32, f32}, {f64, f64, f64}};
constexpr DType scalar_division[5][3] = {
    {f32, f32, f32}, {f32, f32, f32}, {f32, f32, f32}, {f32, f32, f32}, {f64, f64, f64}};

double value_in(DType dtype, double value) { return dtype == DType::bool_ ? 1 : value; }
Array of(DType dtype, double value) { return full({3}, value, {.dtype = dtype}); }

/// `fn`'s result has this dtype and value in every mode, or is refused where bools have no arithmetic.
void require_result(DType dtype, double value, const std::function<Array()>& fn) {
  if (dtype == refused) {
    require_error(Errc::invalid_value, [&] { fn(); }, {"bool", "cast"});
    return;
  }
  for (const Mode mode : {Mode::eager, Mode::graph, Mode::live}) {
    const Array result = run_as(mode, fn);
    BOOST_TEST(result.dtype() == dtype);
    const double expected = dtype == f32 ? static_cast<double>(static_cast<float>(value)) : value;
    BOOST_TEST(numbers(result) == std::vector<double>(3, expected), per_element());
  }
}

template <class T>
std::vector<T> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(bits());  // of all sizes: sums and products wrap around
    } else {
      value = static_cast<T>(std::uniform_real_distribution<double>(-1e3, 1e3)(bits));
    }
  }
  return values;
}

/// The op on wrapping integers or on floats.
template <class T, class Op>
T wrapping(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(op(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  } else {
    return op(a, b);
  }
}

template <class T, class Op>
void require_elementwise(Op op) {
  const std::vector<T> a = random_numbers<T>(1025, 1);
  const std::vector<T> b = random_numbers<T>(1025, 2);
  std::vector<T> expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(wrapping(op, a[i], b[i]));
  const Array left = from_host(a, {1025});
  const Array right = from_host(b, {1025});
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(dtype_of<T>() << ' ' << mode) {
      const Array result = run_as(mode, [&] { return Array(op(left, right)); });
      BOOST_TEST(result.template to_vector<T>() == expected, per_element());
    }
  }
}

template <class T>
void require_all_ops() {
  require_elementwise<T>([](const auto& a, const auto& b) { return a + b; });
  require_elementwise<T>([](const auto& a, const auto& b) { return a - b; });
  require_elementwise<T>([](const auto& a, const auto& b) { return a * b; });
  require_elementwise<T>([](const auto& a, const auto&) { return -a; });
  if constexpr (!std::is_integral_v<T>) require_elementwise<T>([](const auto& a, const auto& b) { return a / b; });
}

template <class To, class From>
void require_cast(std::vector<From> from, const std::vector<To>& to) {
  const Array source = from_host(from, {static_cast<std::int64_t>(from.size())});
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(dtype_of<From>() << " to " << dtype_of<To>() << ", " << mode) {
      const Array result = run_as(mode, [&] { return source.cast(dtype_of<To>()); });
      BOOST_TEST(result.dtype() == dtype_of<To>());
      const std::vector<To> got = result.to_vector<To>();
      for (std::size_t i = 0; i < to.size(); ++i) BOOST_TEST(got.at(i) == to[i], from[i] << " gave " << got.at(i));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dtypes)

BOOST_AUTO_TEST_CASE(two_arrays_follow_the_promotion_table, *label("report-77")) {
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t column = 0; column < 5; ++column) {
      const Array a = of(all_dtypes[row], 6);
      const Array b = of(all_dtypes[column], 4);
      const double x = value_in(a.dtype(), 6);
      const double y = value_in(b.dtype(), 4);
      BOOST_TEST_CONTEXT(a.dtype() << " and " << b.dtype()) {
        require_result(arithmetic[row][column], x + y, [&] { return a + b; });
        require_result(arithmetic[row][column], x - y, [&] { return a - b; });
        require_result(arithmetic[row][column], x * y, [&] { return a * b; });
        require_result(division[row][column], x / y, [&] { return a / b; });
        if (arithmetic[row][column] != refused) BOOST_TEST(promote(a.dtype(), b.dtype()) == arithmetic[row][column]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scalars_on_either_side_follow_the_promotion_table, *label("report-77")) {
  const auto check = [](const Array& a, auto scalar, DType sum, DType quotient) {
    const double x = value_in(a.dtype(), 6);
    const auto y = static_cast<double>(scalar);
    BOOST_TEST_CONTEXT(a.dtype() << " and scalar " << +scalar) {
      require_result(sum, x + y, [&] { return a + scalar; });
      require_result(sum, y + x, [&] { return scalar + a; });
      require_result(sum, x - y, [&] { return a - scalar; });
      require_result(sum, y - x, [&] { return scalar - a; });
      require_result(sum, y * x, [&] { return scalar * a; });
      require_result(quotient, x / y, [&] { return a / scalar; });
      require_result(quotient, y / x, [&] { return scalar / a; });
    }
  };
  for (std::size_t row = 0; row < 5; ++row) {
    const Array a = of(all_dtypes[row], 6);
    check(a, true, scalar_arithmetic[row][0], scalar_division[row][0]);
    check(a, 4, scalar_arithmetic[row][1], scalar_division[row][1]);
    check(a, std::int64_t{4}, scalar_arithmetic[row][1], scalar_division[row][1]);
    check(a, 0.5, scalar_arithmetic[row][2], scalar_division[row][2]);
    check(a, 0.5f, scalar_arithmetic[row][2], scalar_division[row][2]);
  }
}

BOOST_AUTO_TEST_CASE(one_minus_a_bool_array_is_an_integer) {
  const Array inverted = 1 - array({true, false});
  BOOST_TEST(inverted.to_vector<std::int64_t>() == (std::vector<std::int64_t>{0, 1}), per_element());
}

BOOST_AUTO_TEST_CASE(a_scalar_is_rounded_to_the_arrays_dtype) {
  BOOST_TEST((array({1.0}) + 0.1).item<float>() == 1.0f + 0.1f);
  BOOST_TEST((array({1.0}, {.dtype = f64}) + 0.1).item<double>() == 1.0 + 0.1);
}

BOOST_AUTO_TEST_CASE(in_place_ops_that_would_narrow_are_refused_and_leave_the_target, *label("report-77")) {
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t column = 0; column < 5; ++column) {
      Array target = of(all_dtypes[row], 6);
      const Array operand = of(all_dtypes[column], 4);
      const double x = value_in(target.dtype(), 6);
      const double y = value_in(operand.dtype(), 4);
      BOOST_TEST_CONTEXT(target.dtype() << " and " << operand.dtype()) {
        double expected = x;
        if (arithmetic[row][column] != refused && arithmetic[row][column] == target.dtype()) {
          target += operand;
          expected = x + y;
        } else {
          require_error(Errc::invalid_value, [&] { target += operand; }, {to_string(target.dtype()), "cast"});
          require_error(Errc::invalid_value, [&] { target *= operand; }, {to_string(target.dtype()), "cast"});
        }
        BOOST_TEST(numbers(target) == std::vector<double>(3, expected), per_element());
        if (division[row][column] != target.dtype()) {
          require_error(Errc::invalid_value, [&] { target /= operand; }, {to_string(target.dtype()), "cast"});
          BOOST_TEST(numbers(target) == std::vector<double>(3, expected), per_element());
        }
      }
    }
  }
  Array integers = array({1, 2});
  require_error(Errc::invalid_value, [&] { integers += 1.5; }, {"int64", "float32", "narrow"});
  require_error(Errc::invalid_value, [&] { integers.assign(1.5); }, {"int64", "float32", "narrow"});
  require_error(Errc::invalid_value, [&] { integers.assign(ones({2})); }, {"int64", "float32", "narrow"});
  integers += 1;
  BOOST_TEST(numbers(integers) == (std::vector<double>{2, 3}), per_element());
}

BOOST_AUTO_TEST_CASE(every_op_of_every_dtype_equals_a_loop) {
  require_all_ops<std::int32_t>();
  require_all_ops<std::int64_t>();
  require_all_ops<float>();
  require_all_ops<double>();
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Array a = from_host(std::vector<std::int32_t>{most}, {1});
  BOOST_TEST((a + 1).item<std::int32_t>() == std::numeric_limits<std::int32_t>::min());
  BOOST_TEST((a * 2).item<std::int32_t>() == -2);
  const Array b = array({least});
  BOOST_TEST((b - 1).item<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
  BOOST_TEST((-b).item<std::int64_t>() == least);
}

BOOST_AUTO_TEST_CASE(floats_divided_by_zero_give_infinity_or_nan) {
  for (const DType dtype : {f32, f64}) {
    const Array dividends = array({1.0, -1.0, 0.0}, {.dtype = dtype});
    for (const Mode mode : all_modes) {
      const std::vector<double> quotients = numbers(run_as(mode, [&] { return dividends / 0; }));
      BOOST_TEST(quotients.at(0) == std::numeric_limits<double>::infinity());
      BOOST_TEST(quotients.at(1) == -std::numeric_limits<double>::infinity());
      BOOST_TEST(std::isnan(quotients.at(2)));
      BOOST_TEST(numbers(dividends / -0.0).at(0) == -std::numeric_limits<double>::infinity());
    }
  }
}

BOOST_AUTO_TEST_CASE(integers_divided_by_zero_give_what_floats_give) {
  for (const DType dtype : {i32, i64}) {
    const Array dividends = array({1, -1, 0}, {.dtype = dtype});
    for (const Mode mode : all_modes) {
      const std::vector<double> quotients =
          numbers(run_as(mode, [&] { return dividends / zeros({3}, {.dtype = i32}); }));
      BOOST_TEST(quotients.at(0) == std::numeric_limits<double>::infinity());
      BOOST_TEST(quotients.at(1) == -std::numeric_limits<double>::infinity());
      BOOST_TEST(std::isnan(quotients.at(2)));
    }
  }
}

BOOST_AUTO_TEST_CASE(division_of_integers_is_true_division) {
  BOOST_TEST(numbers(array({7, -7, 1}) / array({2, 2, 3})) == (std::vector<double>{3.5, -3.5, 1.0f / 3.0f}),
             per_element());
}

BOOST_AUTO_TEST_CASE(floats_cast_to_integers_truncate_and_saturate) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr std::int32_t most32 = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t least32 = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t most64 = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least64 = std::numeric_limits<std::int64_t>::min();
  require_cast<std::int32_t, float>(
      {2.9f, -2.9f, -0.0f, 0x1p31f, 1e20f, -0x1p31f, -1e20f, inf, -inf, NAN, 2147483520.0f},
      {2, -2, 0, most32, most32, least32, least32, most32, least32, 0, 2147483520});
  require_cast<std::int32_t, double>({2147483647.9, 2147483648.0, -2147483648.9, -2147483649.0, NAN},
                                     {most32, most32, least32, least32, 0});
  require_cast<std::int64_t, float>({0x1p63f, -0x1p63f, -1e30f, inf, -inf, NAN, 0x1p62f},
                                    {most64, least64, least64, most64, least64, 0, std::int64_t{1} << 62});
  require_cast<std::int64_t, double>({0x1p63, 9007199254740993.0, -0x1p63, 1e300, NAN, -0.9},
                                     {most64, 9007199254740992, least64, most64, 0, 0});
}

BOOST_AUTO_TEST_CASE(anything_but_zero_casts_to_true) {
  require_cast<bool, float>({0.0f, -0.0f, 0.5f, NAN, 1e-45f, -3.0f}, {false, false, true, true, true, true});
  require_cast<bool, double>({0.0, 1e-320, std::numeric_limits<double>::infinity()}, {false, true, true});
  require_cast<bool, std::int64_t>({0, std::int64_t{1} << 32, -1}, {false, true, true});
  require_cast<bool, std::int32_t>({0, 256, -1}, {false, true, true});
}

BOOST_AUTO_TEST_CASE(casts_to_floats_round_to_nearest) {
  require_cast<float, std::int32_t>({16777217, 16777219, -5}, {16777216.0f, 16777220.0f, -5.0f});
  require_cast<double, std::int64_t>({9007199254740993, 9007199254740995}, {9007199254740992.0, 9007199254740996.0});
  require_cast<float, double>({0.1, 1e300, -1e300, 1e-320}, {0.1f, HUGE_VALF, -HUGE_VALF, 0.0f});
  require_cast<double, float>({0.1f}, {static_cast<double>(0.1f)});
}

BOOST_AUTO_TEST_CASE(bools_cast_to_zero_and_one) {
  const Array flags = array({true, false});
  for (const DType dtype : {i32, i64, f32, f64}) {
    BOOST_TEST(numbers(flags.cast(dtype)) == (std::vector<double>{1, 0}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_bool_has_no_negative) {
  require_error(Errc::invalid_value, [] { -array({true}); }, {"bool", "cast"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
