// Integer scalars that do not fit the op they are given to.

#include "support.hpp"

#include <cstdint>
#include <limits>

namespace rf = refrain;
using rf::DType;
using rf::Errc;
using rf::test::require_error;

namespace {

constexpr std::int64_t wide = std::int64_t{1} << 40;
constexpr const char* wide_text = "1099511627776";
constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t int32_min = std::numeric_limits<std::int32_t>::min();
constexpr std::uint64_t above_int64 = std::uint64_t{1} << 63;

rf::Array int32s() { return rf::array({1, 2}, {.dtype = DType::int32}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(scalars)

// int32

BOOST_AUTO_TEST_CASE(an_int32_op_refuses_a_wider_scalar_on_either_side) {
  const rf::Array a = int32s();
  require_error(Errc::invalid_value, [&] { return a + wide; }, {wide_text, "int32", "scalars.cpp:"});
  require_error(Errc::invalid_value, [&] { return a - wide; }, {wide_text, "int32", "scalars.cpp:"});
  require_error(Errc::invalid_value, [&] { return a * wide; }, {wide_text, "int32", "scalars.cpp:"});
  require_error(Errc::invalid_value, [&] { return wide + a; }, {wide_text, "int32", "scalars.cpp:"});
  require_error(Errc::invalid_value, [&] { return wide - a; }, {wide_text, "int32", "scalars.cpp:"});
  require_error(Errc::invalid_value, [&] { return wide * a; }, {wide_text, "int32", "scalars.cpp:"});
}

BOOST_AUTO_TEST_CASE(a_refused_scalar_leaves_the_target_of_an_in_place_op) {
  rf::Array a = int32s();
  require_error(Errc::invalid_value, [&] { a += wide; }, {wide_text, "int32"});
  require_error(Errc::invalid_value, [&] { a -= wide; }, {wide_text, "int32"});
  require_error(Errc::invalid_value, [&] { a *= wide; }, {wide_text, "int32"});
  require_error(Errc::invalid_value, [&] { a.assign(wide); }, {wide_text, "int32"});
  BOOST_TEST((a.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(full_of_int32_refuses_a_wider_number) {
  require_error(Errc::invalid_value, [] { rf::full({2}, wide, {.dtype = DType::int32}); },
                {"full", wide_text, "int32", "scalars.cpp:"});
  require_error(Errc::invalid_value, [] { rf::full({2}, -wide, {.dtype = DType::int32}); }, {"-1099511627776"});
}

BOOST_AUTO_TEST_CASE(the_limits_of_int32_are_the_last_that_fit) {
  const rf::Array zero = rf::zeros({1}, {.dtype = DType::int32});
  for (const std::int64_t fits : {int32_min, int32_max}) {
    BOOST_TEST((zero + fits).item<std::int64_t>() == fits);
    BOOST_TEST(rf::full({1}, fits, {.dtype = DType::int32}).item<std::int64_t>() == fits);
  }
  require_error(Errc::invalid_value, [&] { zero + (int32_max + 1); }, {"2147483648"});
  require_error(Errc::invalid_value, [&] { zero + (int32_min - 1); }, {"-2147483649"});
  require_error(Errc::invalid_value, [&] { zero + std::uint32_t{1U << 31}; }, {"2147483648"});
}

BOOST_AUTO_TEST_CASE(a_scalar_that_is_refused_in_a_capture_leaves_it_intact) {
  for (const bool live : rf::test::live_modes) {
    rf::Array a = int32s();
    const rf::Graph graph = rf::capture(
        [&] {
          a += 1;
          require_error(Errc::invalid_value, [&] { a += wide; }, {wide_text});
          require_error(Errc::invalid_value, [&] { return a + wide; }, {wide_text});
          require_error(Errc::invalid_value, [] { rf::full({2}, wide, {.dtype = DType::int32}); }, {wide_text});
          a += 1;
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
    BOOST_TEST((a.to_vector<std::int32_t>() == std::vector<std::int32_t>{3, 4}));
  }
}

// Where there is room

BOOST_AUTO_TEST_CASE(wider_ops_take_what_int32_refuses) {
  const rf::Array longs = rf::array({1}) + wide;
  BOOST_TEST(longs.item<std::int64_t>() == 1099511627777);
  const rf::Array from_bool = rf::array({true}) + wide;
  BOOST_TEST((from_bool.dtype() == DType::int64));
  BOOST_TEST(from_bool.item<std::int64_t>() == 1099511627777);
  BOOST_TEST(rf::full({1}, wide).item<float>() == 1099511627776.0F);
}

BOOST_AUTO_TEST_CASE(true_division_computes_in_floats_and_takes_any_integer) {
  const rf::Array quotient = rf::array({1}, {.dtype = DType::int32}) / wide;
  BOOST_TEST((quotient.dtype() == DType::float32));
  BOOST_TEST(quotient.item<float>() == 1 / 1099511627776.0F);
}

// int64

BOOST_AUTO_TEST_CASE(an_integer_above_int64_is_no_scalar) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  const rf::Array longs = rf::array({1});
  const rf::Array floats = rf::test::filled(1);
  require_error(Errc::invalid_value, [] { rf::Scalar{above_int64}; }, {"9223372036854775808", "int64"});
  require_error(Errc::invalid_value, [] { rf::full({1}, largest); }, {"18446744073709551615", "int64"});
  require_error(Errc::invalid_value, [&] { return longs + above_int64; }, {"9223372036854775808", "int64"});
  require_error(Errc::invalid_value, [&] { return above_int64 * floats; }, {"9223372036854775808", "int64"});
}

BOOST_AUTO_TEST_CASE(an_operand_above_int64_leaves_the_target_of_an_in_place_op) {
  rf::Array longs = rf::array({1});
  require_error(Errc::invalid_value, [&] { longs += above_int64; }, {"9223372036854775808"});
  require_error(Errc::invalid_value, [&] { longs.assign(above_int64); }, {"9223372036854775808"});
  BOOST_TEST(longs.item<std::int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(the_largest_int64_is_a_scalar_of_either_sign) {
  const rf::Array zero = rf::zeros({1}, {.dtype = DType::int64});
  BOOST_TEST((zero + (above_int64 - 1)).item<std::int64_t>() == 9223372036854775807);
  BOOST_TEST((zero + std::numeric_limits<std::int64_t>::min()).item<std::int64_t>() == -9223372036854775807 - 1);
}

BOOST_AUTO_TEST_SUITE_END()
