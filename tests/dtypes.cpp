// Which dtype an op has, and what its numbers are: promotion, true division, wrap-around, in-place targets, casts.

#include "support.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

/// The dtype of `a op b`: rows are a's dtype, columns b's or the kind of a scalar. Bools alone have no arithmetic: what
/// the table says of them holds for the ops that they have, and `/`, which gives float32 where the table has no float.
constexpr std::string_view promotion_table = R"(
|              | bool     | uint8    | int32    | int64    | float16  | bfloat16 | float32  | float64  |
|--------------|----------|----------|----------|----------|----------|----------|----------|----------|
| **bool**     | bool     | uint8    | int32    | int64    | float16  | bfloat16 | float32  | float64  |
| **uint8**    | uint8    | uint8    | int32    | int64    | float16  | bfloat16 | float32  | float64  |
| **int32**    | int32    | int32    | int32    | int64    | float16  | bfloat16 | float32  | float64  |
| **int64**    | int64    | int64    | int64    | int64    | float16  | bfloat16 | float32  | float64  |
| **float16**  | float16  | float16  | float16  | float16  | float16  | float32  | float32  | float64  |
| **bfloat16** | bfloat16 | bfloat16 | bfloat16 | bfloat16 | float32  | bfloat16 | float32  | float64  |
| **float32**  | float32  | float32  | float32  | float32  | float32  | float32  | float32  | float64  |
| **float64**  | float64  | float64  | float64  | float64  | float64  | float64  | float64  | float64  |
)";

constexpr std::string_view scalar_table = R"(
|              | a bool   | an integer | a floating-point number |
|--------------|----------|------------|-------------------------|
| **bool**     | bool     | int64      | float32                 |
| **uint8**    | uint8    | uint8      | float32                 |
| **int32**    | int32    | int32      | float32                 |
| **int64**    | int64    | int64      | float32                 |
| **float16**  | float16  | float16    | float16                 |
| **bfloat16** | bfloat16 | bfloat16   | bfloat16                |
| **float32**  | float32  | float32    | float32                 |
| **float64**  | float64  | float64    | float64                 |
)";

constexpr std::array<DType, 8> all_dtypes = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                                             DType::float16, DType::bfloat16, DType::float32, DType::float64};

constexpr DType i32 = DType::int32;
constexpr DType i64 = DType::int64;
constexpr DType f32 = DType::float32;
constexpr DType f64 = DType::float64;
constexpr DType refused = DType::bool_;  // two bools have no arithmetic

DType dtype_named(const std::string& name) {
  for (const DType dtype : all_dtypes) {
    if (name == to_string(dtype)) return dtype;
  }
  throw std::invalid_argument("no dtype: " + name);
}

/// The entry in the row of `left`.
DType entry(std::string_view table, DType left, std::size_t column) {
  const std::string row = "**" + std::string(to_string(left)) + "**";
  std::istringstream cells(std::string(table.substr(table.find(row) + row.size())));
  std::string name;
  for (std::size_t i = 0; i <= column; ++i) cells >> name >> name;  // a bar and a cell
  return dtype_named(name);
}
DType sum_dtype(DType left, DType right) { return entry(promotion_table, left, static_cast<std::size_t>(right)); }
DType quotient_of(DType sum) { return is_floating(sum) ? sum : f32; }

/// The number that the dtype makes of this one.
double stored_in(DType dtype, double value) {
  return with_type(dtype, [&]<class T>(T) {
    const bool is_whole = std::is_integral_v<T>;
    return static_cast<double>(converted<T>(value, is_whole));  // integers keep the low bits
  });
}

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
    BOOST_TEST(numbers(result) == std::vector<double>(3, stored_in(dtype, value)), per_element());
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
  for (const DType left : all_dtypes) {
    for (const DType right : all_dtypes) {
      const Array a = of(left, 6);
      const Array b = of(right, 4);
      const double x = value_in(left, 6);
      const double y = value_in(right, 4);
      const DType dtype = sum_dtype(left, right);
      BOOST_TEST_CONTEXT(left << " and " << right) {
        require_result(dtype, x + y, [&] { return a + b; });
        require_result(dtype, x - y, [&] { return a - b; });
        require_result(dtype, x * y, [&] { return a * b; });
        require_result(quotient_of(dtype), x / y, [&] { return a / b; });
        BOOST_TEST(promote(left, right) == dtype);
        BOOST_TEST(where(array({true, false, true}), a, b).dtype() == dtype);
        BOOST_TEST(numbers(a >= b) == std::vector<double>(3, x >= y ? 1 : 0), per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scalars_on_either_side_follow_the_promotion_table, *label("report-77")) {
  const auto check = [](const Array& a, auto scalar, std::size_t column) {
    const DType sum = entry(scalar_table, a.dtype(), column);
    const DType quotient = quotient_of(sum);
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
  for (const DType dtype : all_dtypes) {
    const Array a = of(dtype, 6);
    check(a, true, 0);
    check(a, 4, 1);
    check(a, std::int64_t{4}, 1);
    check(a, std::uint8_t{4}, 1);
    check(a, 0.5, 2);
    check(a, 0.5f, 2);
  }
}

BOOST_AUTO_TEST_CASE(one_minus_a_bool_array_is_an_integer, *label("report-77")) {
  const Array flags = array({true, false});
  for (const Mode mode : all_modes) {
    const Array inverted = run_as(mode, [&] { return 1 - flags; });
    BOOST_TEST(inverted.to_vector<std::int64_t>() == (std::vector<std::int64_t>{0, 1}), per_element());
  }
  require_error(Errc::invalid_value, [&] { true - flags; }, {"bool", "cast"});
  require_error(Errc::invalid_value, [&] { ones({2}, {.dtype = DType::bool_}) - flags; }, {"bool", "cast"});
}

BOOST_AUTO_TEST_CASE(zero_minus_one_is_255_in_uint8, *label("report-77")) {
  const Array zero = zeros({2}, {.dtype = DType::uint8});
  const Array one = ones({2}, {.dtype = DType::uint8});
  const std::vector<std::uint8_t> expected = {255, 255};
  for (const Mode mode : all_modes) {
    const auto values = [&](const std::function<Array()>& fn) { return run_as(mode, fn).to_vector<std::uint8_t>(); };
    BOOST_TEST(values([&] { return zero - one; }) == expected, per_element());
    BOOST_TEST(values([&] { return zero - 1; }) == expected, per_element());
    BOOST_TEST(values([&] { return 0 - one; }) == expected, per_element());
    BOOST_TEST(values([&] { return -one; }) == expected, per_element());
    Array target = snapshot(zero);
    BOOST_TEST(values([&] { return target -= 1; }) == expected, per_element());
  }
  require_error(Errc::invalid_value, [&] { zero + -1; }, {"-1", "uint8"});
  require_error(Errc::invalid_value, [&] { zero + 256; }, {"256", "uint8"});
}

BOOST_AUTO_TEST_CASE(a_scalar_is_rounded_to_the_arrays_dtype) {
  BOOST_TEST((array({1.0}) + 0.1).item<float>() == 1.0f + 0.1f);
  BOOST_TEST((array({1.0}, {.dtype = f64}) + 0.1).item<double>() == 1.0 + 0.1);
}

BOOST_AUTO_TEST_CASE(in_place_ops_that_would_narrow_are_refused_and_leave_the_target, *label("report-77")) {
  for (const DType left : all_dtypes) {
    for (const DType right : all_dtypes) {
      Array target = of(left, 6);
      const Array operand = of(right, 4);
      const DType dtype = sum_dtype(left, right);
      const double x = value_in(target.dtype(), 6);
      const double y = value_in(operand.dtype(), 4);
      BOOST_TEST_CONTEXT(target.dtype() << " and " << operand.dtype()) {
        double expected = x;
        if (dtype != refused && dtype == left) {
          target += operand;
          expected = x + y;
        } else {
          require_error(Errc::invalid_value, [&] { target += operand; }, {to_string(target.dtype()), "cast"});
          require_error(Errc::invalid_value, [&] { target *= operand; }, {to_string(target.dtype()), "cast"});
        }
        BOOST_TEST(numbers(target) == std::vector<double>(3, expected), per_element());
        if (quotient_of(dtype) != left) {
          require_error(Errc::invalid_value, [&] { target /= operand; }, {to_string(target.dtype()), "cast"});
          BOOST_TEST(numbers(target) == std::vector<double>(3, expected), per_element());
        }
      }
    }
  }
  for (const DType dtype : all_dtypes) {
    Array target = of(dtype, 6);
    const auto require_narrowing = [&](auto scalar, std::size_t column) {
      const DType sum = entry(scalar_table, dtype, column);
      if (sum == dtype) return;
      require_error(Errc::invalid_value, [&] { target.assign(scalar); },
                    {to_string(dtype), to_string(sum), "narrow", "cast"});
      require_error(Errc::invalid_value, [&] { target += scalar; }, {to_string(dtype), to_string(sum), "cast"});
    };
    require_narrowing(3, 1);
    require_narrowing(0.5, 2);
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
