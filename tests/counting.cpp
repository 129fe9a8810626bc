// arange and linspace: how many numbers, which, in every dtype and mode, to the last bit of their definition.

#include "support.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

#include <refrain/movement.hpp>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Values = std::vector<double>;

constexpr DType i64 = DType::int64;
constexpr DType f32 = DType::float32;
constexpr DType f64 = DType::float64;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Every mode gives these numbers in this dtype.
void require_numbers(const std::function<Array()>& fn, DType dtype, const Values& expected) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Array got = run_as(mode, fn);
      BOOST_TEST(got.dtype() == dtype);
      BOOST_TEST(got.ndim() == 1);
      BOOST_TEST(numbers(got) == expected, per_element());
    }
  }
}

/// The definition of a number, each step in memory and so rounded.
double defined(double start, double step, std::int64_t i) {
  volatile double product = static_cast<double>(i) * step;
  volatile double sum = start + product;
  return sum;
}

/// Every mode gives numbers of these definitions, bit for bit.
void require_defined_numbers(const std::function<Array()>& fn, const Values& expected) {
  for (const Mode mode : all_modes) {
    const Array got = run_as(mode, fn);
    BOOST_TEST_REQUIRE(got.size() == std::ssize(expected));
    const Values values = numbers(got);
    const std::string wrong = with_type(got.dtype(), [&]<class T>(T) {
      const auto wanted = [&](std::size_t i) -> Real {
        if constexpr (std::is_integral_v<T>)
          return expected[i];
        else
          return nearest<T>(expected[i]);
      };
      return wrong_ones(
          values.size(), [&](std::size_t i) { return !is_identical(values[i], wanted(i)); },
          [&](std::size_t i) { return digits(i, values[i], wanted(i)); });
    });
    BOOST_TEST(wrong == "", got.dtype() << ", " << mode << ":\n" << wrong);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(counting, *label("sanitize"))

BOOST_AUTO_TEST_CASE(the_three_forms_of_arange) {
  require_numbers([] { return arange(4); }, i64, {0, 1, 2, 3});
  require_numbers([] { return arange(2, 5); }, i64, {2, 3, 4});
  require_numbers([] { return arange(2, 9, 3); }, i64, {2, 5, 8});
  require_numbers([] { return arange(9, 2, -3); }, i64, {9, 6, 3});
  require_numbers([] { return arange(3.0); }, f32, {0, 1, 2});
  require_numbers([] { return arange(1, 2.5, 0.5); }, f32, {1, 1.5, 2});
  require_numbers([] { return arange(1, -0.5, -0.5); }, f32, {1, 0.5, 0});
  require_numbers([] { return arange(true, 3U); }, i64, {1, 2});
  require_numbers([] { return arange(4, {.dtype = DType::uint8}); }, DType::uint8, {0, 1, 2, 3});
  require_numbers([] { return arange(-2, 2, {.dtype = DType::float16}); }, DType::float16, {-2, -1, 0, 1});
  require_numbers([] { return arange(0.0, 1e1, 3.0, {.dtype = DType::int32}); }, DType::int32, {0, 3, 6, 9});
  const Device other{DeviceKind::host, 1};
  BOOST_TEST(arange(3, {.device = other}).device() == other);
}

BOOST_AUTO_TEST_CASE(a_step_that_leads_away_gives_none) {
  for (const auto& fn : std::vector<std::function<Array()>>{
           [] { return arange(0); }, [] { return arange(-5); }, [] { return arange(3, 3); },
           [] { return arange(0, 5, -1); }, [] { return arange(1.5, 1.5); }, [] { return arange(1.0, 0.0, 0.25); },
           [] { return linspace(1, 2, 0); }}) {
    for (const Mode mode : all_modes) BOOST_TEST((run_as(mode, fn).shape() == Shape{0}));
    BOOST_TEST(capture(fn).first.nodes().empty());
  }
}

BOOST_AUTO_TEST_CASE(integers_are_exact_up_to_their_limits) {
  const auto integers = [](const Array& x) { return x.to_vector<std::int64_t>(); };
  constexpr std::int64_t step = std::int64_t{1} << 62;
  const std::vector<std::int64_t> far = {least, least + step, 0, step};
  const std::vector<std::int64_t> back = {most, most - step, -1, -1 - step};
  for (const Mode mode : all_modes) {
    BOOST_TEST(integers(run_as(mode, [] { return arange(least, most, step); })) == far, per_element());
    BOOST_TEST(integers(run_as(mode, [] { return arange(most, least, -step); })) == back, per_element());
  }
  BOOST_TEST(arange(most, least, least).size() == 2);
  BOOST_TEST(integers(arange(most - 2, most)) == (std::vector{most - 2, most - 1}), per_element());
  BOOST_TEST(numbers(arange(254, 256, {.dtype = DType::uint8})) == (Values{254, 255}), per_element());
  // float32 has no 2^24 + 1, and float64 no 2^53 + 1: rounded once.
  BOOST_TEST(arange(16777217, 16777218, {.dtype = f32}).item<double>() == 16777216);
  BOOST_TEST(arange((std::int64_t{1} << 53) + 3, most, most, {.dtype = f64}).item<double>() == 0x1p53 + 4);
}

BOOST_AUTO_TEST_CASE(floats_are_as_they_are_defined) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> start(-100, 100);
  std::uniform_real_distribution<double> step(-0.75, 0.75);
  for (const DType dtype : {DType::float16, DType::bfloat16, f32, f64}) {
    for (const std::int64_t n : {1, 31, 33, 1025, 70001}) {
      const double first = start(random);
      const double by = step(random);
      const double end = first + (static_cast<double>(n) - 0.5) * by;
      Values expected;
      for (std::int64_t i = 0; i < n; ++i) expected.push_back(defined(first, by, i));
      require_defined_numbers([&] { return arange(first, end, by, {.dtype = dtype}); }, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(whole_numbers_in_every_dtype) {
  for (const DType dtype : {DType::uint8, DType::int32, i64, DType::float16, DType::bfloat16, f32, f64}) {
    for (const std::int64_t n : {1, 31, 33, 85, 1025, 70001}) {
      if (dtype == DType::uint8 && n > 85) continue;
      Values expected;
      for (std::int64_t i = 0; i < n; ++i) expected.push_back(static_cast<double>(1 + 3 * i));
      require_defined_numbers([&] { return arange(1, 1 + 3 * n, 3, {.dtype = dtype}); }, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(linspace_ends_with_its_end) {
  require_numbers([] { return linspace(0, 1, 5); }, f32, {0, 0.25, 0.5, 0.75, 1});
  require_numbers([] { return linspace(3, -1, 3); }, f32, {3, 1, -1});
  require_numbers([] { return linspace(2, 7, 1); }, f32, {2});
  require_numbers([] { return linspace(2, 2, 3, {.dtype = DType::bfloat16}); }, DType::bfloat16, {2, 2, 2});
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> any(-100, 100);
  for (const DType dtype : {DType::float16, DType::bfloat16, f32, f64}) {
    for (const std::int64_t n : {2, 3, 31, 33, 1025, 70001}) {
      const double first = any(random);
      const double last = any(random);
      const double by = (last - first) / static_cast<double>(n - 1);
      Values expected;
      for (std::int64_t i = 0; i < n - 1; ++i) expected.push_back(defined(first, by, i));
      expected.push_back(last);
      require_defined_numbers([&] { return linspace(first, last, n, {.dtype = dtype}); }, expected);
    }
  }
  int other_ends = 0;
  for (std::int64_t n = 2; n < 300; ++n) {
    BOOST_TEST(linspace(0.1, 0.7, n, {.dtype = f64}).select(-1).item<double>() == 0.7);
    other_ends += defined(0.1, (0.7 - 0.1) / static_cast<double>(n - 1), n - 1) != 0.7 ? 1 : 0;
  }
  BOOST_TEST(other_ends > 0);  // by the definition of the others
  const Device other{DeviceKind::host, 1};
  BOOST_TEST(linspace(0, 1, 2, {.device = other}).device() == other);
}

BOOST_AUTO_TEST_CASE(a_count_is_one_node) {
  const auto [graph, x] = capture([] { return arange(0, 1000, 2); });
  BOOST_TEST(labels(graph) == (std::vector<std::string>{"arange"}), per_element());
  BOOST_TEST(labels(capture([] { return linspace(0, 1, 5); }).first) == (std::vector<std::string>{"linspace"}),
             per_element());
  GraphExec exec = graph.instantiate();
  for (int run = 0; run < 3; ++run) {
    exec.replay();
    BOOST_TEST(x.select(-1).item<int>() == 998);
    Array written = x;
    written *= 0;  // the next replay writes all of it again
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_counted_is_refused_and_a_capture_goes_on) {
  const auto refuse = [] {
    require_error(Errc::invalid_value, [] { arange(0, 5, 0); }, {"[arange]", "0 to 5 by 0", "counting.cpp:"});
    require_error(Errc::invalid_value, [] { arange(0.0, 5, 0.0); });
    require_error(Errc::invalid_value, [] { arange(std::numeric_limits<double>::quiet_NaN()); }, {"finite"});
    require_error(Errc::invalid_value, [] { arange(0, 1, 1e-30); }, {"2^60"});
    require_error(Errc::invalid_value, [] { arange(least, most); }, {"2^60"});
    require_error(Errc::invalid_value, [] { arange(257, {.dtype = DType::uint8}); }, {"uint8"});
    require_error(Errc::invalid_value, [] { arange(-1, 1, {.dtype = DType::uint8}); }, {"uint8"});
    require_error(Errc::invalid_value, [] { arange(0, most, most - 1, {.dtype = DType::int32}); }, {"int32"});
    require_error(Errc::invalid_value, [] { arange(0, 1, 0.5, {.dtype = i64}); }, {"int64", "whole"});
    require_error(Errc::invalid_value, [] { arange(2, {.dtype = DType::bool_}); }, {"bool"});
    require_error(Errc::invalid_value, [] { linspace(0, 1, -1); }, {"-1"});
    require_error(Errc::invalid_value, [] { linspace(-1e308, 1e308, 3); }, {"far apart"});
    require_error(Errc::invalid_value, [] { linspace(0, 1, 3, {.dtype = i64}); }, {"int64"});
    require_error(Errc::no_device, [] { arange(3, {.device = Device{DeviceKind::host, 63}}); });
  };
  refuse();
  const Array x = run_as(Mode::graph, [&] {
    refuse();
    return arange(3);
  });
  BOOST_TEST(numbers(x) == (Values{0, 1, 2}), per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
