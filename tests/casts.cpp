// Casts between every two dtypes against exact numbers: what does not fit saturates or wraps around, NaN, and rounding
// once, which is what a conversion through float32 would get wrong.

#include "support.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

namespace refrain::test {

namespace {

constexpr std::initializer_list<DType> every_dtype = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                                                      DType::float16, DType::bfloat16, DType::float32, DType::float64};

template <class T>
T as(Real x) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(nearest<T>(x)));
  } else {
    return static_cast<T>(x);
  }
}

/// Numbers between two of a dtype with so many bits, as far from either, and a little more or less than that.
std::vector<Real> about_ties() {
  std::vector<Real> values;
  for (const int precision : {8, 11, 24, 53}) {
    for (const int exponent : {-3, 0, 5, 14, 30, 61, 62}) {
      for (const Real last : {0, 1, 2}) {  // ties to the lower and to the upper one
        const Real tie = std::ldexp(Real{1}, exponent) + (2 * last + 1) * std::ldexp(Real{1}, exponent - precision);
        for (const Real off : {Real{0}, Real{1}, std::ldexp(Real{1}, exponent - 50)}) {
          values.insert(values.end(), {tie, tie + off, tie - off, -tie - off, -tie + off});
        }
      }
    }
  }
  for (const int exponent : {-24, -133, -149}) {  // the least float16, bfloat16 and float32
    for (const Real tie : {0.5L, 1.5L, 2.5L, 511.5L, 1022.5L}) {
      for (const Real off : {0.0L, 1e-9L, -1e-9L}) values.push_back(std::ldexp(tie + off, exponent));
    }
  }
  return values;
}

/// The ends of every dtype's range.
std::vector<Real> about_ends() {
  std::vector<Real> values;
  for (const Real end : {std::ldexp(Real{1}, 8), std::ldexp(Real{1}, 31), std::ldexp(Real{1}, 32),
                         std::ldexp(Real{1}, 63), Real{65520}, Real{0}}) {
    for (const Real off : {0.0L, 0.5L, 0.9L, 1.0L, 1.5L, 256.0L, 2048.0L}) {
      values.insert(values.end(), {end - off, end + off, -end - off, -end + off});
    }
  }
  return values;
}

/// The values of `all` that From has, or nearly, and numbers of its own.
template <class From>
std::vector<From> sources() {
  if constexpr (std::is_integral_v<From>) {
    std::vector<From> values = random_values<From>(500, 5);
    for (const auto& list : {about_ties(), about_ends()}) {
      for (const Real x : list) {
        const Real whole = std::nearbyint(x);
        if (whole >= Real{std::numeric_limits<From>::min()} && whole <= Real{std::numeric_limits<From>::max()}) {
          values.push_back(as<From>(whole));
        }
      }
    }
    return values;
  } else {
    std::vector<From> values = special_values<From>();
    const std::vector<From> more = random_values<From>(2000, 6);
    values.insert(values.end(), more.begin(), more.end());
    for (const auto& list : {about_ties(), about_ends()}) {
      for (const Real x : list) values.push_back(as<From>(x));
    }
    return values;
  }
}

template <class To, class From>
void require_cast(const std::vector<From>& from, const Array& source) {
  const Array result = source.cast(dtype_of<To>());
  BOOST_TEST_CONTEXT(dtype_of<From>() << " to " << dtype_of<To>()) {
    BOOST_TEST(result.dtype() == dtype_of<To>());
    const std::vector<To> got = result.template to_vector<To>();
    const auto expected = [&](std::size_t i) { return converted<To>(real(from[i]), std::is_integral_v<From>); };
    BOOST_TEST(wrong_ones(
                   from.size(), [&](std::size_t i) { return !is_identical(real<To>(got[i]), expected(i)); },
                   [&](std::size_t i) { return digits(real(from[i]), real<To>(got[i]), expected(i)); }) == "");
    BOOST_TEST(same_bits(run_as(Mode::graph, [&] { return source.cast(dtype_of<To>()); }), result));
  }
}

template <class From>
void require_casts(const std::vector<From>& from, const Array& source) {
  require_cast<bool>(from, source);
  require_cast<std::uint8_t>(from, source);
  require_cast<std::int32_t>(from, source);
  require_cast<std::int64_t>(from, source);
  require_cast<float16>(from, source);
  require_cast<bfloat16>(from, source);
  require_cast<float>(from, source);
  require_cast<double>(from, source);
}

template <class From>
void require_casts() {
  const std::vector<From> from = sources<From>();
  require_casts(from, as_array(from));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(casts)

BOOST_AUTO_TEST_CASE(integers_wrap_around_and_round_once) {
  require_casts<std::uint8_t>();
  require_casts<std::int32_t>();
  require_casts<std::int64_t>();
  require_casts<bool>({true, false, true}, array({true, false, true}));
}

BOOST_AUTO_TEST_CASE(float32_and_float64_saturate_and_round_once) {
  require_casts<float>();
  require_casts<double>();
}

BOOST_AUTO_TEST_CASE(all_16_bit_numbers) {
  require_casts(all_values<float16>(), as_array(all_values<float16>()));
  require_casts(all_values<bfloat16>(), as_array(all_values<bfloat16>()));
}

BOOST_AUTO_TEST_CASE(the_types_of_16_bits_convert_as_the_dtypes_do) {
  const std::vector<float> from = sources<float>();
  const std::vector<float16> halves = as_array(from).cast(DType::float16).to_vector<float16>();
  const std::vector<bfloat16> upper_halves = as_array(from).cast(DType::bfloat16).to_vector<bfloat16>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i])) continue;
    BOOST_TEST_REQUIRE(float16(from[i]).bits == halves[i].bits);
    BOOST_TEST_REQUIRE(bfloat16(from[i]).bits == upper_halves[i].bits);
  }
}

BOOST_AUTO_TEST_CASE(scalars_convert_as_arrays_do) {
  for (const double x : sources<double>()) {
    for (const DType dtype : every_dtype) {
      const Array expected = array({x}, {.dtype = DType::float64}).cast(dtype);
      BOOST_TEST_REQUIRE(same_bits(full({1}, x, {.dtype = dtype}), expected));
    }
  }
  for (const std::int64_t x : sources<std::int64_t>()) {
    for (const DType dtype : {DType::bool_, DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
      BOOST_TEST_REQUIRE(same_bits(full({1}, x, {.dtype = dtype}), array({x}).cast(dtype)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_parameters_new_value_is_converted_as_its_first_one) {
  const Param<double> factor(1.0);
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Array x = array({3}, {.dtype = dtype});
    auto [graph, y] = capture([&] { return x * factor; });
    GraphExec exec = graph.instantiate();
    for (const double value : {0.1, 1e-7, 1e300, 1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-8 + 0x1p-40}) {
      exec.set(factor, value);
      exec.replay();
      BOOST_TEST_REQUIRE(same_bits(y, x * value));
    }
  }
  const Param<int> step(1);
  const Array small = array({250}, {.dtype = DType::uint8});
  auto [graph, y] = capture([&] { return small + step; });
  GraphExec exec = graph.instantiate();
  require_error(Errc::invalid_value, [&] { exec.set(step, 256); }, {"256", "uint8"});
  exec.set(step, 7);
  exec.replay();
  BOOST_TEST(y.item<int>() == 1);
}

BOOST_AUTO_TEST_CASE(an_item_is_its_number) {
  for (const DType dtype : every_dtype) {
    const Array one = ones({1, 1}, {.dtype = dtype});
    BOOST_TEST(one.item<bool>());
    BOOST_TEST(one.item<std::uint8_t>() == 1);
    BOOST_TEST(one.item<std::int64_t>() == 1);
    BOOST_TEST(one.item<double>() == 1);
  }
  BOOST_TEST(array({-1.5}, {.dtype = DType::bfloat16}).item<float>() == -1.5F);
  BOOST_TEST(array({-1.5}, {.dtype = DType::float16}).item<int>() == -1);
  BOOST_TEST(array({200}, {.dtype = DType::uint8}).item<int>() == 200);
}

BOOST_AUTO_TEST_CASE(a_cast_to_the_own_dtype_is_the_array_itself) {
  Array x = ones({2}, {.dtype = DType::bfloat16});
  x.cast(DType::bfloat16).assign(3);
  BOOST_TEST(numbers(x).at(1) == 3);
}

BOOST_AUTO_TEST_CASE(views_are_cast_in_their_order) {
  const Array x = array({1, 2, 3, 4, 5, 300}).reshape({2, 3});
  for (const Mode mode : all_modes) {
    const Array got = run_as(mode, [&] { return x.transpose(0, 1).flip(0).cast(DType::uint8); });
    BOOST_TEST((got.shape() == Shape{3, 2}));
    BOOST_TEST(got.to_vector<std::uint8_t>() == (std::vector<std::uint8_t>{3, 44, 2, 5, 1, 4}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
