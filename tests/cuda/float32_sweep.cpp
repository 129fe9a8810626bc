// Each op of one float32 on 2^24 of the 2^32 patterns, one in 256 at a random place there, and on special numbers; each
// op of two on all pairs of some. Against references in double, within the bounds that docs/arrays.md publishes.

#include "support.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

#include <bit>
#include <set>

namespace refrain::test {

namespace {

using Floats = std::vector<float>;
using Function = double (*)(double);

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Patterns 256 i to 256 i + 255, one of each, then the special numbers.
Floats sampled_patterns(unsigned seed) {
  std::mt19937 random(seed);
  Floats values;
  values.reserve((1U << 24) + 100);
  for (std::uint32_t i = 0; i < 1U << 24; ++i) {
    values.push_back(std::bit_cast<float>(i << 8 | static_cast<std::uint32_t>(random() & 255)));
  }
  for (const float special : special_values<float>()) values.push_back(special);
  return values;
}

/// How a result may differ from the reference.
struct Bound {
  double ulps = 0;  ///< 0: the reference, rounded, and zeros by their sign
  bool of_the_operand = false;
  bool small_may_vanish = false;
};

struct UnaryOp {
  const char* name;
  std::function<Array(const Array&)> apply;
  Function reference;
  Bound bound;
};

constexpr auto op(Array (*fn)(const Array&, SourceLocation)) {
  return [fn](const Array& x) { return fn(x, SourceLocation::current()); };
}

/// Below it there is -inf alone, of which gelu and silu have the limit.
constexpr double least = std::numeric_limits<double>::lowest();

double round_to_even(double x) { return std::nearbyint(x); }

std::vector<UnaryOp> unary_ops() {
  const Bound two{2};
  const Bound more{2.5};
  const Bound quotient{.ulps = 4.5, .small_may_vanish = true};
  return {{"neg", [](const Array& x) { return -x; }, [](double x) { return -x; }, {}},
          {"abs", op(abs), [](double x) { return std::abs(x); }, {}},
          {"sign", op(sign), [](double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x); }, {}},
          {"floor", op(floor), [](double x) { return std::floor(x); }, {}},
          {"ceil", op(ceil), [](double x) { return std::ceil(x); }, {}},
          {"round", op(round), round_to_even, {}},
          {"trunc", op(trunc), [](double x) { return std::trunc(x); }, {}},
          {"exp", op(exp), [](double x) { return std::exp(x); }, two},
          {"log", op(log), [](double x) { return std::log(x); }, two},
          {"log1p", op(log1p), [](double x) { return std::log1p(x); }, two},
          {"expm1", op(expm1), [](double x) { return std::expm1(x); }, two},
          {"sqrt", op(sqrt), [](double x) { return std::sqrt(x); }, {}},
          {"rsqrt", op(rsqrt), [](double x) { return 1 / std::sqrt(x); }, {1.5}},
          {"sin", op(sin), [](double x) { return std::sin(x); }, more},
          {"cos", op(cos), [](double x) { return std::cos(x); }, more},
          {"tanh", op(tanh), [](double x) { return std::tanh(x); }, more},
          {"erf", op(erf), [](double x) { return std::erf(x); }, more},
          {"sigmoid", op(sigmoid), [](double x) { return 1 / (1 + std::exp(-x)); }, quotient},
          {"relu", op(relu), [](double x) { return std::isnan(x) || x > 0 ? x : 0; }, {}},
          {"gelu",
           op(gelu),
           [](double x) { return x < least ? -0.0 : x * std::erfc(-x / std::sqrt(2.0)) / 2; },
           {.ulps = 3, .of_the_operand = true}},
          {"silu", op(silu), [](double x) { return x < least ? -0.0 : x / (1 + std::exp(-x)); }, quotient},
          {"isnan", op(isnan), [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, {}},
          {"isfinite", op(isfinite), [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }, {}},
          {"logical_not", op(logical_not), [](double x) { return x == 0 ? 1.0 : 0.0; }, {}}};
}

/// The names of the table's ops of so many operands.
std::set<std::string> names_in_table(int operands) {
  const std::set<std::string> of_one = {
#define REFRAIN_UNARY(name, domain, result, expression) #name,
#include "kernels/elementwise_table.hpp"
  };
  const std::set<std::string> of_two = {
#define REFRAIN_BINARY(name, domain, result, expression) #name,
#include "kernels/elementwise_table.hpp"
  };
  return operands == 1 ? of_one : of_two;
}

bool is_same(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected && std::signbit(got) == std::signbit(expected);
}

/// Units in the last place from the reference; 0 where the result may vanish and has.
double units(double x, double got, double exact, const Bound& bound) {
  const bool is_small = std::abs(exact) < 256 * static_cast<double>(least_normal<float>());
  if (bound.small_may_vanish && got == 0 && is_small) return 0;
  return static_cast<double>(distance<float>(got, exact, bound.of_the_operand ? x : 0));
}

/// What is wrong with a result, and the largest distance of all.
struct Judge {
  Bound bound;
  double most = 0;

  bool is_right(double x, double got, double exact) {
    const auto rounded = static_cast<double>(static_cast<float>(exact));
    if (is_same(got, rounded)) return true;  // nearly all
    if (bound.ulps == 0) return false;
    const double off = units(x, got, exact, bound);
    most = std::max(most, off);
    return off <= bound.ulps;
  }
};

void require_unary(const UnaryOp& tested, const Floats& x, const Array& operand) {
  const std::vector<float> got = tested.apply(operand).cast(DType::float32).to_vector<float>();
  Judge judge{tested.bound};
  const auto exact = [&](std::size_t i) { return tested.reference(static_cast<double>(x[i])); };
  BOOST_TEST_CONTEXT(tested.name) {
    BOOST_TEST(wrong_ones(
                   x.size(), [&](std::size_t i) { return !judge.is_right(x[i], got[i], exact(i)); },
                   [&](std::size_t i) { return digits(x[i], got[i], exact(i)); }) == "");
  }
  BOOST_TEST_MESSAGE(tested.name << ": " << judge.most << " ulp");
}

struct BinaryOp {
  const char* name;
  std::function<Array(const Array&, const Array&)> apply;
  double (*reference)(double, double);
  Bound bound = {};
  bool zeros_are_alike = false;
};

double remainder_of(double x, double y) {
  const double rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(0.0, y);
  return std::signbit(rest) == std::signbit(y) || std::isnan(rest) ? rest : rest + y;
}

/// As floor_divide is defined where the quotient is not exact.
double floor_quotient(double x, double y) {
  if (y == 0 || std::isnan(x) || std::isnan(y) || std::isinf(x)) return y == 0 ? x / y : nan;
  const double rest = std::fmod(x, y);
  double quotient = std::nearbyint((x - rest) / y);
  if (rest != 0 && std::signbit(rest) != std::signbit(y)) quotient -= 1;
  return quotient == 0 ? std::copysign(0.0, x / y) : quotient;
}

std::vector<BinaryOp> binary_ops() {
  return {
      {"add", [](auto& x, auto& y) { return x + y; }, [](double x, double y) { return x + y; }},
      {"sub", [](auto& x, auto& y) { return x - y; }, [](double x, double y) { return x - y; }},
      {"mul", [](auto& x, auto& y) { return x * y; }, [](double x, double y) { return x * y; }},
      {"div", [](auto& x, auto& y) { return x / y; }, [](double x, double y) { return x / y; }},
      {"floor_divide", [](auto& x, auto& y) { return floor_divide(x, y); }, floor_quotient, {2}},
      {"remainder", [](auto& x, auto& y) { return remainder(x, y); }, remainder_of},
      {"pow", [](auto& x, auto& y) { return pow(x, y); }, [](double x, double y) { return std::pow(x, y); }, {4.5}},
      {"minimum",
       [](auto& x, auto& y) { return minimum(x, y); },
       [](double x, double y) { return std::isnan(x) || std::isnan(y) ? nan
                                       : x < y                        ? x
                                                                      : y; },
       {},
       true},
      {"maximum",
       [](auto& x, auto& y) { return maximum(x, y); },
       [](double x, double y) { return std::isnan(x) || std::isnan(y) ? nan
                                       : x < y                        ? y
                                                                      : x; },
       {},
       true},
      {"equal", [](auto& x, auto& y) { return x == y; }, [](double x, double y) { return x == y ? 1.0 : 0.0; }},
      {"not_equal", [](auto& x, auto& y) { return x != y; }, [](double x, double y) { return x != y ? 1.0 : 0.0; }},
      {"less", [](auto& x, auto& y) { return x < y; }, [](double x, double y) { return x < y ? 1.0 : 0.0; }},
      {"less_equal", [](auto& x, auto& y) { return x <= y; }, [](double x, double y) { return x <= y ? 1.0 : 0.0; }},
      {"greater", [](auto& x, auto& y) { return x > y; }, [](double x, double y) { return x > y ? 1.0 : 0.0; }},
      {"greater_equal", [](auto& x, auto& y) { return x >= y; }, [](double x, double y) { return x >= y ? 1.0 : 0.0; }},
      {"logical_and", [](auto& x, auto& y) { return logical_and(x, y); },
       [](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; }},
      {"logical_or", [](auto& x, auto& y) { return logical_or(x, y); },
       [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }},
      {"logical_xor", [](auto& x, auto& y) { return logical_xor(x, y); },
       [](double x, double y) { return (x != 0) != (y != 0) ? 1.0 : 0.0; }}};
}

void require_binary(const BinaryOp& tested, const Floats& values, const Array& operand) {
  const std::vector<float> got = tested.apply(operand.unsqueeze(1), operand).cast(DType::float32).to_vector<float>();
  Judge judge{tested.bound};
  const auto left = [&](std::size_t i) { return static_cast<double>(values[i / values.size()]); };
  const auto right = [&](std::size_t i) { return static_cast<double>(values[i % values.size()]); };
  const auto is_wrong = [&](std::size_t i) {
    const double exact = tested.reference(left(i), right(i));
    if (tested.zeros_are_alike && exact == 0 && got[i] == 0) return false;
    return !judge.is_right(left(i), got[i], exact);
  };
  BOOST_TEST_CONTEXT(tested.name) {
    BOOST_TEST(wrong_ones(got.size(), is_wrong, [&](std::size_t i) {
                 return digits(left(i), right(i), got[i], tested.reference(left(i), right(i)));
               }) == "");
  }
  BOOST_TEST_MESSAGE(tested.name << ": " << judge.most << " ulp");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_float32_sweep)

BOOST_AUTO_TEST_CASE(every_op_of_one_number_on_one_pattern_in_256) {
  const Floats x = sampled_patterns(1);
  const Array operand = as_array(x);
  std::set<std::string> left = names_in_table(1);
  for (const UnaryOp& tested : unary_ops()) {
    require_unary(tested, x, operand);
    left.erase(tested.name);
  }
  BOOST_TEST((left == std::set<std::string>{"bitwise_not"}));  // floats have none
}

BOOST_AUTO_TEST_CASE(every_op_of_two_numbers_on_all_pairs_of_some) {
  Floats values = special_values<float>();
  // Quiet ones: what the power 0 of a signalling NaN is depends on the C library.
  for (const float value : random_values<float>(1500, 3)) values.push_back(std::isnan(value) ? std::nanf("") : value);
  const Array operand = as_array(values);
  std::set<std::string> left = names_in_table(2);
  for (const BinaryOp& tested : binary_ops()) {
    require_binary(tested, values, operand);
    left.erase(tested.name);
  }
  BOOST_TEST((left == std::set<std::string>{"bitwise_and", "bitwise_or", "bitwise_xor"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
