// Each op of the table on integers and bools, against exact integers.

#include "support.hpp"
#include "support_memory.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

__extension__ using Wide = __int128;  // holds every product

using Binary = std::function<Array(const Array&, const Array&)>;
using Unary = std::function<Array(const Array&)>;

template <class T>
std::vector<T> special_integers() {
  constexpr T most = std::numeric_limits<T>::max();
  constexpr T least = std::numeric_limits<T>::min();
  std::vector<T> values = {0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, most / 2, most / 2 + 1, most - 1, most};
  if (least == 0) return values;
  for (const T x : {T(-1), T(-2), T(-3), T(-5), T(-7), T(-8), T(-31), T(-100), T(least / 2), T(least + 1), least}) {
    values.push_back(x);
  }
  return values;
}

template <class T>
Pairs<T> pairs_of() {
  Pairs<T> pairs = Pairs<T>::of(special_integers<T>(), special_integers<T>());
  pairs.append(random_values<T>(4000, 3), random_values<T>(4000, 4));
  return pairs;
}

template <class Fn>
void on_each_integer(Fn&& fn) {
  fn(std::uint8_t{});
  fn(std::int32_t{});
  fn(std::int64_t{});
}

/// `is_right(x, y, got)` of every pair, in every mode.
template <class T, class Out>
void require_all(const char* name, const Binary& op, const std::function<bool(T, T, Out)>& is_right) {
  const Pairs<T> pairs = pairs_of<T>();
  const Array left = as_array(pairs.left);
  const Array right = as_array(pairs.right);
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(name << " of " << dtype_of<T>() << ' ' << mode) {
      const std::vector<Out> got = run_as(mode, [&] { return op(left, right); }).template to_vector<Out>();
      BOOST_TEST(wrong_ones(
                     got.size(), [&](std::size_t i) { return !is_right(pairs.left[i], pairs.right[i], got[i]); },
                     [&](std::size_t i) { return digits(+pairs.left[i], +pairs.right[i], +got[i]); }) == "");
    }
  }
}

/// `op` gives the low bits of what `reference` gives.
void require_exact(const char* name, const Binary& op, Wide (*reference)(Wide, Wide)) {
  on_each_integer([&]<class T>(T) {
    require_all<T, T>(name, op, [&](T x, T y, T got) { return got == static_cast<T>(reference(x, y)); });
  });
}

void require_truth(const char* name, const Binary& op, bool (*reference)(Wide, Wide)) {
  on_each_integer(
      [&]<class T>(T) { require_all<T, bool>(name, op, [&](T x, T y, bool got) { return got == reference(x, y); }); });
}

void require_exact(const char* name, const Unary& op, Wide (*reference)(Wide)) {
  on_each_integer([&]<class T>(T) {
    const std::vector<T> x = pairs_of<T>().left;
    for (const Mode mode : all_modes) {
      BOOST_TEST_CONTEXT(name << " of " << dtype_of<T>() << ' ' << mode) {
        const std::vector<T> got = run_as(mode, [&] { return op(as_array(x)); }).template to_vector<T>();
        BOOST_TEST(wrong_ones(
                       got.size(), [&](std::size_t i) { return got[i] != static_cast<T>(reference(x[i])); },
                       [&](std::size_t i) { return digits(+x[i], +got[i]); }) == "");
      }
    }
  });
}

/// The largest integer not above x / y, of y that is not 0, by repeated correction of C++'s quotient.
Wide floor_of(Wide x, Wide y) {
  Wide quotient = x / y;
  while ((y > 0) ? quotient * y > x : quotient * y < x) --quotient;
  return quotient;
}

const std::vector<DType> whole_dtypes = {DType::bool_, DType::uint8, DType::int32, DType::int64};

/// Every pair of bools.
const std::initializer_list<bool> some_left = {false, false, true, true};
const std::initializer_list<bool> some_right = {false, true, false, true};

}  // namespace

BOOST_AUTO_TEST_SUITE(op_table_integers)

BOOST_AUTO_TEST_CASE(arithmetic_wraps_around) {
  require_exact(
      "add", [](auto& x, auto& y) { return x + y; }, [](Wide x, Wide y) { return x + y; });
  require_exact(
      "sub", [](auto& x, auto& y) { return x - y; }, [](Wide x, Wide y) { return x - y; });
  require_exact(
      "mul", [](auto& x, auto& y) { return x * y; }, [](Wide x, Wide y) { return x * y; });
  require_exact(
      "neg", [](auto& x) { return -x; }, [](Wide x) { return -x; });
  require_exact(
      "abs", [](auto& x) { return abs(x); }, [](Wide x) { return x < 0 ? -x : x; });
}

BOOST_AUTO_TEST_CASE(division_floors_and_by_zero_gives_zero, *label("report-69")) {
  require_exact("floor_divide", floor_divide, [](Wide x, Wide y) { return y == 0 ? 0 : floor_of(x, y); });
  require_exact("remainder", remainder, [](Wide x, Wide y) { return y == 0 ? 0 : x - y * floor_of(x, y); });
  require_exact(
      "%", [](auto& x, auto& y) { return x % y; }, [](Wide x, Wide y) { return y == 0 ? 0 : x - y * floor_of(x, y); });
}

BOOST_AUTO_TEST_CASE(true_division_is_that_of_float32) {
  on_each_integer([]<class T>(T) {
    const auto as_float = [](T x) { return static_cast<float>(x); };
    require_all<T, float>(
        "div", [](auto& x, auto& y) { return x / y; },
        [&](T x, T y, float got) { return is_identical(got, as_float(x) / as_float(y)); });
  });
}

BOOST_AUTO_TEST_CASE(scalar_divisors_and_in_place_divisions_do_the_same, *label("report-69")) {
  on_each_integer([]<class T>(T) {
    const bool is_signed = std::numeric_limits<T>::is_signed;
    const std::vector<T> x = special_integers<T>();
    for (const std::int64_t y : {0, 1, 3, is_signed ? -1 : 2, is_signed ? -3 : 4}) {
      std::vector<T> quotients;
      std::vector<T> rests;
      for (const T value : x) {
        quotients.push_back(y == 0 ? T{0} : static_cast<T>(floor_of(value, y)));
        rests.push_back(y == 0 ? T{0} : static_cast<T>(value - y * floor_of(value, y)));
      }
      for (const Mode mode : all_modes) {
        BOOST_TEST_CONTEXT(dtype_of<T>() << " by " << y << ' ' << mode) {
          const Array left = as_array(x);
          const Array in_place = run_as(mode, [&] {
            Array rest = left + 0;
            rest %= y;
            return rest;
          });
          BOOST_TEST(in_place.template to_vector<T>() == rests, per_element());
          BOOST_TEST(run_as(mode, [&] { return left % y; }).template to_vector<T>() == rests, per_element());
          const Array divided = run_as(mode, [&] { return floor_divide(left, y); });
          BOOST_TEST(divided.template to_vector<T>() == quotients, per_element());
        }
      }
    }
    BOOST_TEST(numbers(floor_divide(7, from_host(std::vector<T>{0, 2}, {2}))) == (std::vector<double>{0, 3}),
               per_element());
  });
}

BOOST_AUTO_TEST_CASE(pow_wraps_around_and_negative_powers_are_whole_parts) {
  on_each_integer([]<class T>(T) {
    require_all<T, T>("pow", pow, [](T x, T y, T got) {
      const Wide base = x;
      const Wide exponent = y;
      if (base == 1) return got == 1;
      if (base == -1) return got == static_cast<T>(exponent % 2 == 0 ? 1 : -1);
      if (exponent < 0) return got == 0;
      if (base % 2 == 0 && exponent >= 64) return got == 0;
      if (exponent > 300) return got % 2 != 0;  // of an odd number, too many factors for a loop
      std::uint64_t product = 1;
      for (Wide i = 0; i < exponent; ++i) product *= static_cast<std::uint64_t>(base);
      return got == static_cast<T>(product);
    });
  });
}

BOOST_AUTO_TEST_CASE(order) {
  require_exact("minimum", minimum, [](Wide x, Wide y) { return x < y ? x : y; });
  require_exact("maximum", maximum, [](Wide x, Wide y) { return x < y ? y : x; });
  require_exact(
      "sign", [](auto& x) { return sign(x); }, [](Wide x) { return Wide{(x > 0) - (x < 0)}; });
  require_exact(
      "relu", [](auto& x) { return relu(x); }, [](Wide x) { return x > 0 ? x : Wide{0}; });
  require_truth(
      "equal", [](auto& x, auto& y) { return x == y; }, [](Wide x, Wide y) { return x == y; });
  require_truth(
      "not_equal", [](auto& x, auto& y) { return x != y; }, [](Wide x, Wide y) { return x != y; });
  require_truth(
      "less", [](auto& x, auto& y) { return x < y; }, [](Wide x, Wide y) { return x < y; });
  require_truth(
      "less_equal", [](auto& x, auto& y) { return x <= y; }, [](Wide x, Wide y) { return x <= y; });
  require_truth(
      "greater", [](auto& x, auto& y) { return x > y; }, [](Wide x, Wide y) { return x > y; });
  require_truth(
      "greater_equal", [](auto& x, auto& y) { return x >= y; }, [](Wide x, Wide y) { return x >= y; });
}

BOOST_AUTO_TEST_CASE(bits_and_truth) {
  require_exact(
      "bitwise_and", [](auto& x, auto& y) { return x & y; }, [](Wide x, Wide y) { return x & y; });
  require_exact(
      "bitwise_or", [](auto& x, auto& y) { return x | y; }, [](Wide x, Wide y) { return x | y; });
  require_exact(
      "bitwise_xor", [](auto& x, auto& y) { return x ^ y; }, [](Wide x, Wide y) { return x ^ y; });
  require_exact(
      "bitwise_not", [](auto& x) { return ~x; }, [](Wide x) { return ~x; });
  require_truth("logical_and", logical_and, [](Wide x, Wide y) { return x != 0 && y != 0; });
  require_truth("logical_or", logical_or, [](Wide x, Wide y) { return x != 0 || y != 0; });
  require_truth("logical_xor", logical_xor, [](Wide x, Wide y) { return (x != 0) != (y != 0); });
}

BOOST_AUTO_TEST_CASE(bools_compare_and_combine) {
  const Array x = array(some_left);
  const Array y = array(some_right);
  const auto check = [&](const Binary& op, std::vector<bool> expected) {
    for (const Mode mode : all_modes) {
      const Array got = run_as(mode, [&] { return op(x, y); });
      BOOST_TEST(got.dtype() == DType::bool_);
      BOOST_TEST(got.to_vector<bool>() == expected);
    }
  };
  check([](auto& a, auto& b) { return a == b; }, {true, false, false, true});
  check([](auto& a, auto& b) { return a != b; }, {false, true, true, false});
  check([](auto& a, auto& b) { return a < b; }, {false, true, false, false});
  check([](auto& a, auto& b) { return a <= b; }, {true, true, false, true});
  check([](auto& a, auto& b) { return a > b; }, {false, false, true, false});
  check([](auto& a, auto& b) { return a >= b; }, {true, false, true, true});
  check(logical_and, {false, false, false, true});
  check(logical_or, {false, true, true, true});
  check(logical_xor, {false, true, true, false});
  check([](auto& a, auto& b) { return where(a, b, true); }, {true, true, false, true});
  check([](auto& a, auto& b) { return where(a, false, b); }, {false, true, false, false});
  check([](auto& a, auto& b) { return a & b; }, {false, false, false, true});
  check([](auto& a, auto& b) { return a | b; }, {false, true, true, true});
  check([](auto& a, auto& b) { return a ^ b; }, {false, true, true, false});
  check([](auto& a, auto&) { return ~a; }, {true, true, false, false});
  check([](auto& a, auto&) { return logical_not(a); }, {true, true, false, false});
}

BOOST_AUTO_TEST_CASE(a_bool_of_other_code_may_be_any_byte) {
  const Memory memory(2);
  from_blob(memory.at(), {8}, DType::uint8).assign(array({0, 1, 2, 128, 255, 0, 3, 1}).cast(DType::uint8));
  const Array flags = from_blob(memory.at(), {8}, DType::bool_);
  const Array ones_and_zeros = array({0, 1, 1, 1, 1, 0, 1, 1});
  const Array truth = ones_and_zeros.cast(DType::bool_);
  const auto check = [&](const std::function<Array(const Array&)>& fn) {
    for (const Mode mode : all_modes) {
      const Array got = run_as(mode, [&] { return fn(flags); });
      BOOST_TEST(numbers(got) == numbers(fn(truth)), per_element());
    }
  };
  BOOST_TEST(flags.to_vector<bool>() == truth.to_vector<bool>());
  check([](auto& x) { return x.cast(DType::int32); });
  check([](auto& x) { return x.cast(DType::float16); });
  check([](auto& x) { return where(x, 5, 7); });
  check([](auto& x) { return where(x.slice({.step = -2}), x.slice(0, 4), false); });
  check([](auto& x) { return x == true; });
  check([](auto& x) { return x < x.flip(0); });
  check([](auto& x) { return x ^ x.flip(0); });
  check([](auto& x) { return x & true; });
  check([](auto& x) { return ~x; });
  check([](auto& x) { return logical_not(x); });
  check([](auto& x) { return logical_xor(x, 1); });
  check([](auto& x) { return x + 1; });
}

BOOST_AUTO_TEST_CASE(logical_ops_take_operands_of_any_two_dtypes) {
  for (const DType left : {DType::bool_, DType::uint8, DType::int64, DType::float16, DType::float64}) {
    for (const DType right : {DType::bool_, DType::int32, DType::bfloat16, DType::float32}) {
      const Array x = array({0, 0, 2, 2}).cast(left);
      const Array y = array({0, 256, 0, 256}).cast(right);
      BOOST_TEST(numbers(logical_and(x, y)) == (std::vector<double>{0, 0, 0, 1}), per_element());
      BOOST_TEST(numbers(logical_or(x, y)) == (std::vector<double>{0, 1, 1, 1}), per_element());
      BOOST_TEST(numbers(logical_xor(x, y)) == (std::vector<double>{0, 1, 1, 0}), per_element());
      BOOST_TEST(numbers(logical_and(x, 0.5)) == (std::vector<double>{0, 0, 1, 1}), per_element());
      BOOST_TEST(numbers(logical_or(false, y)) == (std::vector<double>{0, 1, 0, 1}), per_element());
      BOOST_TEST(numbers(logical_xor(x, 256)) == (std::vector<double>{1, 1, 0, 0}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(ops_of_numbers_refuse_bools) {
  const Array x = array({true, false});
  using OfOperands = std::function<Array(const Operand&, const Operand&)>;
  for (const OfOperands& op : std::initializer_list<OfOperands>{floor_divide, remainder, pow, minimum, maximum,
                                                                [](auto&a, auto&b) { return clamp(a, b, true); }}) {
    require_error(Errc::invalid_value, [&] { op(x, x); }, {"bool", "cast"});
    require_error(Errc::invalid_value, [&] { op(x, true); }, {"bool", "cast"});
  }
  for (const Unary& op : std::initializer_list<Unary>{[](auto& a) { return abs(a); }, [](auto& a) { return sign(a); },
                                                      [](auto& a) { return relu(a); }, [](auto& a) { return -a; }}) {
    require_error(Errc::invalid_value, [&] { op(x); }, {"bool", "cast"});
  }
}

BOOST_AUTO_TEST_CASE(bits_of_floats_are_refused) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Array x = ones({2}, {.dtype = dtype});
    const Array y = array({1, 2});
    for (const auto& fn : std::initializer_list<std::function<Array()>>{[&] { return x & y; }, [&] { return y | x; },
                                                                        [&] { return x ^ x; }, [&] { return ~x; },
                                                                        [&] { return y & 0.5; }}) {
      require_error(Errc::invalid_value, fn, {"bits", "float"});
    }
  }
}

BOOST_AUTO_TEST_CASE(clamp_and_where_mix_arrays_and_scalars) {
  on_each_integer([]<class T>(T) {
    const Array x = from_host(std::vector<T>{0, 3, 50, 100}, {4});
    const Array bound = from_host(std::vector<T>{1, 5, 40, 200}, {4});
    const auto check = [&](const std::function<Array()>& fn, const std::vector<T>& expected) {
      for (const Mode mode : all_modes) {
        const Array got = run_as(mode, fn);
        BOOST_TEST(got.dtype() == dtype_of<T>());
        BOOST_TEST(got.template to_vector<T>() == expected, per_element());
      }
    };
    check([&] { return clamp(x, 2, 60); }, {2, 3, 50, 60});
    check([&] { return clamp(x, bound, 60); }, {1, 5, 50, 60});
    check([&] { return clamp(x, 2, bound); }, {1, 3, 40, 100});
    check([&] { return clamp(7, x, bound); }, {1, 5, 40, 100});
    check([&] { return clamp(x, 60, 2); }, {2, 2, 2, 2});
    check([&] { return where(x, bound, 9); }, {9, 5, 40, 200});
    check([&] { return where(x > 10, 9, bound); }, {1, 5, 9, 9});
    check([&] { return where(x > 10, true, bound); }, {1, 5, 1, 1});
    check([&] { return where(from_host(std::vector<double>{0.5}, {1}), x, bound); }, {0, 3, 50, 100});
  });
}

BOOST_AUTO_TEST_CASE(integers_are_finite_and_no_nan) {
  for (const DType dtype : whole_dtypes) {
    const Array x = array({0, 1, 255, -1}).cast(dtype);
    for (const Mode mode : all_modes) {
      const std::vector<bool> nans = run_as(mode, [&] { return isnan(x); }).to_vector<bool>();
      const std::vector<bool> finite = run_as(mode, [&] { return isfinite(x); }).to_vector<bool>();
      BOOST_TEST(nans == std::vector<bool>(4, false));
      BOOST_TEST(finite == std::vector<bool>(4, true));
    }
    BOOST_TEST(isnan(x.slice(0, 0)).size() == 0);
    BOOST_TEST((isfinite(x.reshape({2, 2}).transpose(0, 1)).shape() == Shape{2, 2}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
