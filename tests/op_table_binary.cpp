// Each op of two or three floating-point operands on each dtype, against references in wider arithmetic.

#include "support.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

using Binary = std::function<Array(const Array&, const Array&)>;

template <class T>
Pairs<T> operands() {
  Pairs<T> pairs = Pairs<T>::of(special_values<T>(), special_values<T>());
  pairs.append(random_values<T>(4000, 1), random_values<T>(4000, 2));
  return pairs;
}

/// `is_right(x, y, got)` of every pair, and the same in a graph.
template <class T>
void require_all(const std::string& name, const Binary& op, const std::function<bool(T, T, Real)>& is_right) {
  const Pairs<T> pairs = operands<T>();
  const Array left = as_array(pairs.left);
  const Array right = as_array(pairs.right);
  const Array result = op(left, right);
  const std::vector<double> got = numbers(result);
  BOOST_TEST_CONTEXT(name << " of " << dtype_of<T>()) {
    BOOST_TEST(wrong_ones(
                   got.size(), [&](std::size_t i) { return !is_right(pairs.left[i], pairs.right[i], got[i]); },
                   [&](std::size_t i) { return digits(real(pairs.left[i]), real(pairs.right[i]), got[i]); }) == "");
    BOOST_TEST(same_bits(run_as(Mode::graph, [&] { return op(left, right); }), result));
  }
}

template <class Fn>
void on_each_dtype(Fn&& fn) {
  fn(float16{});
  fn(bfloat16{});
  fn(float{});
  fn(double{});
}

/// `op` gives what `reference` gives in double, rounded once.
void require_exact(const char* name, const Binary& op, double (*reference)(double, double)) {
  on_each_dtype([&]<class T>(T) {
    require_all<T>(name, op, [&](T x, T y, Real got) {
      return is_identical(got, nearest<T>(reference(static_cast<double>(real(x)), static_cast<double>(real(y)))));
    });
  });
}

void require_truth(const char* name, const Binary& op, bool (*reference)(Real, Real)) {
  on_each_dtype([&]<class T>(T) {
    require_all<T>(name, op, [&](T x, T y, Real got) { return got == (reference(real(x), real(y)) ? 1 : 0); });
  });
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

const std::vector<DType> float_dtypes = {DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// Equal as doubles, NaN to NaN and zeros by their sign.
void require_numbers(const Array& got, const std::vector<double>& expected) {
  const std::vector<double> values = numbers(got);
  BOOST_TEST_REQUIRE(values.size() == expected.size());
  BOOST_TEST(wrong_ones(
                 values.size(), [&](std::size_t i) { return !is_identical(values[i], expected[i]); },
                 [&](std::size_t i) { return digits(i, values[i], expected[i]); }) == "");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(op_table_binary)

BOOST_AUTO_TEST_CASE(arithmetic_is_rounded_correctly) {
  require_exact(
      "add", [](auto& x, auto& y) { return x + y; }, [](double x, double y) { return x + y; });
  require_exact(
      "sub", [](auto& x, auto& y) { return x - y; }, [](double x, double y) { return x - y; });
  require_exact(
      "mul", [](auto& x, auto& y) { return x * y; }, [](double x, double y) { return x * y; });
  require_exact(
      "div", [](auto& x, auto& y) { return x / y; }, [](double x, double y) { return x / y; });
}

BOOST_AUTO_TEST_CASE(remainder_has_the_divisors_sign) {
  require_exact("remainder", remainder, [](double x, double y) {
    const double rest = std::fmod(x, y);
    if (rest == 0) return std::copysign(0.0, y);
    return std::signbit(rest) == std::signbit(y) || std::isnan(rest) ? rest : rest + y;
  });
}

BOOST_AUTO_TEST_CASE(floor_divide_is_exact_while_quotients_are) {
  on_each_dtype([]<class T>(T) {
    require_all<T>("floor_divide", floor_divide, [](T left, T right, Real got) {
      const Real x = real(left);
      const Real y = real(right);
      if (y == 0 || std::isnan(x) || std::isnan(y) || std::isinf(x)) {
        return is_identical(got, y == 0 ? x / y : static_cast<Real>(nan));
      }
      const Real rest = std::fmod(x, y);
      Real quotient = std::nearbyint((x - rest) / y);
      if (rest != 0 && std::signbit(rest) != std::signbit(y)) quotient -= 1;
      if (quotient == 0) return is_identical(got, std::copysign(Real{0}, x / y));
      const bool is_exact = std::abs(quotient) < std::ldexp(Real{1}, Format<T>::precision - 2);
      return is_exact ? got == quotient : distance<T>(got, quotient) <= 2;
    });
  });
}

BOOST_AUTO_TEST_CASE(pow_is_near) {
  // CUDA's functions: 4 and 2 ulp from the correctly rounded number; glibc 2.36: below 1.
  on_each_dtype([]<class T>(T) {
    const double single = 4.5 * std::ldexp(1, Format<T>::precision - 24);
    const double bound = sizeof(T) == 2 ? 0.5 + single : std::is_same_v<T, float> ? single : 2.5;
    require_all<T>("pow", pow, [&](T x, T y, Real got) {
      const Real exact = std::pow(real(x), real(y));
      return distance<T>(got, exact) <= bound && (exact != 0 || got == 0);
    });
  });
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_are_nan_where_one_is) {
  // Of two zeros either may be given.
  const auto same = [](Real got, Real expected) { return is_identical(got, expected) || (got == 0 && expected == 0); };
  on_each_dtype([&]<class T>(T) {
    require_all<T>("minimum", minimum, [&](T x, T y, Real got) {
      const Real a = real(x);
      const Real b = real(y);
      return same(got, std::isnan(a) || std::isnan(b) ? static_cast<Real>(nan) : a < b ? a : b);
    });
    require_all<T>("maximum", maximum, [&](T x, T y, Real got) {
      const Real a = real(x);
      const Real b = real(y);
      return same(got, std::isnan(a) || std::isnan(b) ? static_cast<Real>(nan) : a < b ? b : a);
    });
  });
}

BOOST_AUTO_TEST_CASE(comparisons_of_nan_are_false_but_for_unequal) {
  require_truth(
      "equal", [](auto& x, auto& y) { return x == y; }, [](Real x, Real y) { return x == y; });
  require_truth(
      "not_equal", [](auto& x, auto& y) { return x != y; }, [](Real x, Real y) { return !(x == y); });
  require_truth(
      "less", [](auto& x, auto& y) { return x < y; }, [](Real x, Real y) { return x < y; });
  require_truth(
      "less_equal", [](auto& x, auto& y) { return x <= y; }, [](Real x, Real y) { return x < y || x == y; });
  require_truth(
      "greater", [](auto& x, auto& y) { return x > y; }, [](Real x, Real y) { return y < x; });
  require_truth(
      "greater_equal", [](auto& x, auto& y) { return x >= y; }, [](Real x, Real y) { return y < x || x == y; });
  for (const DType dtype : float_dtypes) {
    const Array x = full({2}, nan, {.dtype = dtype});
    const auto all = [](const Array& truth) { return truth.to_vector<bool>() == std::vector<bool>{true, true}; };
    const auto none = [](const Array& truth) { return truth.to_vector<bool>() == std::vector<bool>{false, false}; };
    BOOST_TEST(all(x != x));
    BOOST_TEST(all(x != nan));
    for (const Array& truth : {x == x, x<x, x <= x, x> x, x >= x, x < inf, -inf < x, nan >= x}) {
      BOOST_TEST(none(truth));
    }
  }
}

BOOST_AUTO_TEST_CASE(logical_ops_take_anything_but_zero_as_true) {
  require_truth("logical_and", logical_and, [](Real x, Real y) { return !(x == 0) && !(y == 0); });
  require_truth("logical_or", logical_or, [](Real x, Real y) { return !(x == 0) || !(y == 0); });
  require_truth("logical_xor", logical_xor, [](Real x, Real y) { return (x == 0) != (y == 0); });
}

BOOST_AUTO_TEST_CASE(clamp_is_the_minimum_of_the_maximum) {
  for (const DType dtype : float_dtypes) {
    const Array x = array({-3.0, -0.5, 0.25, 2.0, inf, -inf, nan}, {.dtype = dtype});
    const Array low = array({-1.0, -1.0, 0.5, nan, 0.0, -2.0, 0.0}, {.dtype = dtype});
    const Array high = full({7}, 1.5, {.dtype = dtype});
    for (const Mode mode : all_modes) {
      BOOST_TEST_CONTEXT(dtype << ' ' << mode) {
        require_numbers(run_as(mode, [&] { return clamp(x, -1, 1.5); }), {-1, -0.5, 0.25, 1.5, 1.5, -1, nan});
        require_numbers(run_as(mode, [&] { return clamp(x, low, high); }), {-1, -0.5, 0.5, nan, 1.5, -2, nan});
        require_numbers(run_as(mode, [&] { return clamp(x, low, 1.5); }), {-1, -0.5, 0.5, nan, 1.5, -2, nan});
        require_numbers(run_as(mode, [&] { return clamp(x, -1, high); }), {-1, -0.5, 0.25, 1.5, 1.5, -1, nan});
        require_numbers(run_as(mode, [&] { return clamp(0.25, low, high); }), {0.25, 0.25, 0.5, nan, 0.25, 0.25, 0.25});
        require_numbers(run_as(mode, [&] { return clamp(x, 1, -1); }), {-1, -1, -1, -1, -1, -1, nan});
        require_numbers(run_as(mode, [&] { return clamp(x, nan, 1); }), {nan, nan, nan, nan, nan, nan, nan});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(where_keeps_the_chosen_bits) {
  for (const DType dtype : float_dtypes) {
    const Array x = array({-0.0, nan, 1.0, inf}, {.dtype = dtype});
    const Array y = array({2.0, 3.0, nan, -inf}, {.dtype = dtype});
    const Array condition = array({true, false, false, true});
    for (const Mode mode : all_modes) {
      BOOST_TEST_CONTEXT(dtype << ' ' << mode) {
        require_numbers(run_as(mode, [&] { return where(condition, x, y); }), {-0.0, 3, nan, inf});
        require_numbers(run_as(mode, [&] { return where(condition, x, -1.5); }), {-0.0, -1.5, -1.5, inf});
        require_numbers(run_as(mode, [&] { return where(condition, 7, y); }), {7, 3, nan, 7});
        require_numbers(run_as(mode, [&] { return where(condition, true, -0.0); }), {1, -0.0, -0.0, 1});
        require_numbers(run_as(mode, [&] { return where(x, x, y); }), {2, nan, 1, inf});  // NaN is true
        require_numbers(run_as(mode, [&] { return where(condition.slice(1, 2), x, y); }), {2, 3, nan, -inf});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(where_promotes_what_it_chooses_from) {
  const Array condition = array({true, false});
  const auto dtype = [&](const Operand& x, const Operand& y) { return where(condition, x, y).dtype(); };
  const Array small = ones({2}, {.dtype = DType::uint8});
  BOOST_TEST(dtype(true, false) == DType::bool_);
  BOOST_TEST(dtype(1, 0) == DType::int64);
  BOOST_TEST(dtype(1, 0.5) == DType::float32);
  BOOST_TEST(dtype(small, 0) == DType::uint8);
  BOOST_TEST(dtype(small, 0.5) == DType::float32);
  BOOST_TEST(dtype(small.cast(DType::float16), small.cast(DType::bfloat16)) == DType::float32);
  BOOST_TEST(dtype(small.cast(DType::int32), small.cast(DType::float16)) == DType::float16);
  BOOST_TEST(numbers(where(condition, small, -7 * small.cast(DType::int32))) == (std::vector<double>{1, -7}),
             per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
