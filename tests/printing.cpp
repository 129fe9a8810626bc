// What arrays look like as text.

#include "support.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// The printed array without its dtype and device.
std::string text(const Array& array) {
  std::ostringstream out;
  out << array;
  const std::string all = out.str();
  return all.substr(0, all.find(", dtype="));
}

std::string text_of(double value, DType dtype = DType::float32) { return text(full({}, value, {.dtype = dtype})); }

}  // namespace

BOOST_AUTO_TEST_SUITE(printing)

BOOST_AUTO_TEST_CASE(an_array_prints_values_dtype_and_device) {
  std::ostringstream out;
  out << array({10, 20, 30});
  BOOST_TEST(out.str() == "array([10, 20, 30], dtype=int64, device=" + current_device().str() + ")");
}

BOOST_AUTO_TEST_CASE(a_scalar_array_prints_without_brackets) {
  BOOST_TEST(text(full({}, 7, {.dtype = DType::int32})) == "array(7");
  BOOST_TEST(text(full({}, 2.5)) == "array(2.5");
}

BOOST_AUTO_TEST_CASE(whole_floats_keep_a_point) { BOOST_TEST(text(array({1.0, -2.0, 0.0})) == "array([1., -2., 0.]"); }

BOOST_AUTO_TEST_CASE(a_matrix_prints_a_row_a_line) {
  const Array matrix = from_host(std::vector<std::int32_t>{1, 2, 3, 4}, {2, 2});
  BOOST_TEST(text(matrix) == "array([[1, 2],\n       [3, 4]]");
}

BOOST_AUTO_TEST_CASE(an_array_of_rank_3_prints_its_nesting) {
  const Array cube = from_host(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const std::string printed = text(cube);
  BOOST_TEST(printed.substr(0, 9) == "array([[[");
  BOOST_TEST(printed.substr(printed.size() - 3) == "]]]");
  for (const char* row : {"[1, 2]", "[3, 4]", "[5, 6]", "[7, 8]"}) BOOST_TEST(printed.find(row) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_array_without_elements_prints_its_shape) {
  const std::string printed = text(zeros({0, 3}));
  BOOST_TEST(printed.find("[]") != std::string::npos);
  BOOST_TEST(printed.find("[0, 3]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_large_array_prints_its_edges_and_shape) {
  Array large = zeros({1000000});
  large += 0;
  const std::string printed = text(large);
  BOOST_TEST(printed.find("...") != std::string::npos);
  BOOST_TEST(printed.find("[1000000]") != std::string::npos);
  BOOST_TEST(printed.size() < 200u);
}

BOOST_AUTO_TEST_CASE(a_large_array_prints_the_right_elements) {
  std::vector<std::int32_t> values(100 * 200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  const std::string printed = text(from_host(values, {100, 200}));
  for (const char* row :
       {"[0, 1, 2, ..., 197, 198, 199]", "[400, 401, 402, ..., 597, 598, 599]",
        "[19400, 19401, 19402, ..., 19597, 19598, 19599]", "[19800, 19801, 19802, ..., 19997, 19998, 19999]"}) {
    BOOST_TEST(printed.find(row) != std::string::npos, row << " is missing in " << printed);
  }
  BOOST_TEST(printed.find("[600,") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(long_arrays_of_short_rows_print_whole_rows) {
  std::vector<std::int32_t> values(2 * 5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  const std::string printed = text(from_host(values, {5000, 2}));
  for (const char* row : {"[0, 1]", "[4, 5]", "[9994, 9995]", "[9998, 9999]"}) {
    BOOST_TEST(printed.find(row) != std::string::npos, row << " is missing in " << printed);
  }
}

BOOST_AUTO_TEST_CASE(bools_print_as_words) { BOOST_TEST(text(array({true, false})) == "array([true, false]"); }

BOOST_AUTO_TEST_CASE(extreme_integers_print_all_digits) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(text(array({least, most})) == "array([-9223372036854775808, 9223372036854775807]");
}

BOOST_AUTO_TEST_CASE(nan_and_infinities_print_as_words) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  BOOST_TEST(text(array({std::nan(""), inf, -inf})) == "array([nan, inf, -inf]");
}

BOOST_AUTO_TEST_CASE(a_computed_nan_prints_like_any_other) {
  // On x86, 0 / 0 has its sign bit set.
  BOOST_TEST(text(zeros({1}) / 0) == "array([nan]");
  BOOST_TEST(text(array({-std::nan("")})) == "array([nan]");
}

BOOST_AUTO_TEST_CASE(negative_zero_keeps_its_sign) { BOOST_TEST(text(array({-0.0, 0.0})) == "array([-0., 0.]"); }

BOOST_AUTO_TEST_CASE(a_number_that_is_not_zero_never_prints_as_zero) {
  for (const double value : {1e-5, 2e-5, -1e-8, 0.05524, 1e-38, 1e-45}) {
    const std::string printed = text_of(value).substr(6);
    BOOST_TEST_CONTEXT(value << " printed as " << printed) {
      const float read = std::strtof(printed.c_str(), nullptr);
      const auto expected = static_cast<float>(value);
      BOOST_TEST(read != 0);
      BOOST_TEST(std::abs(read - expected) <= 1e-5f * std::abs(expected));
    }
  }
  BOOST_TEST(text_of(5e-324, DType::float64) != "array(0.");
}

BOOST_AUTO_TEST_CASE(large_and_small_values_stand_side_by_side) {
  const std::string printed = text(array({1e-8, 1e8}));
  BOOST_TEST(printed == "array([1e-08, 1e+08]");
}

BOOST_AUTO_TEST_CASE(a_scalar_array_prints_every_digit_it_has, *label("report-75")) {
  for (const double value : {1.0 / 3, 123456789.0, 1e-5, 5e-324, 1.0}) {
    const std::string in_doubles = text_of(value, DType::float64).substr(6);
    BOOST_TEST(std::strtod(in_doubles.c_str(), nullptr) == value);
    const std::string in_floats = text_of(value, DType::float32).substr(6);
    BOOST_TEST(std::strtof(in_floats.c_str(), nullptr) == static_cast<float>(value));
  }
}

BOOST_AUTO_TEST_CASE(an_empty_handle_prints_that_it_is_empty) {
  std::ostringstream out;
  out << Array();
  BOOST_TEST(out.str() == "array(empty handle)");
}

BOOST_AUTO_TEST_CASE(an_array_without_values_yet_cannot_be_printed) {
  const auto captured = capture([] { return ones({3}) + 1; });
  std::ostringstream out;
  require_error(Errc::illegal_state, [&] { out << captured.second; }, {"replay"});
}

BOOST_AUTO_TEST_CASE(printing_leaves_the_streams_format_alone) {
  std::ostringstream out;
  out.precision(3);
  out << std::hex << array({255}) << ' ' << 255;
  BOOST_TEST(out.str().substr(0, 12) == "array([255],");
  BOOST_TEST(out.str().substr(out.str().size() - 2) == "ff");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
