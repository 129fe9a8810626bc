// The error texts of counting and movement, as those of the rest in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <refrain/movement.hpp>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_movement)

BOOST_AUTO_TEST_CASE(a_count_that_does_not_move_on) {
  check_error_text([] { arange(0, 10, 0); });
}

BOOST_AUTO_TEST_CASE(a_count_of_bools) {
  check_error_text([] { arange(2, {.dtype = DType::bool_}); });
}

BOOST_AUTO_TEST_CASE(a_count_to_infinity) {
  check_error_text([] { arange(0.5, std::numeric_limits<double>::infinity()); });
}

BOOST_AUTO_TEST_CASE(a_count_of_too_many) {
  check_error_text([] { arange(0, 1, 1e-20); });
}

BOOST_AUTO_TEST_CASE(a_count_that_does_not_fit_uint8) {
  check_error_text([] { arange(0, 1000, {.dtype = DType::uint8}); });
}

BOOST_AUTO_TEST_CASE(a_count_by_halves_in_integers) {
  check_error_text([] { arange(0, 3, 0.5, {.dtype = DType::int32}); });
}

BOOST_AUTO_TEST_CASE(a_range_of_integers_by_a_count) {
  check_error_text([] { linspace(0, 1, 3, {.dtype = DType::int64}); });
}

BOOST_AUTO_TEST_CASE(a_count_below_0) {
  check_error_text([] { linspace(0, 1, -3); });
}

BOOST_AUTO_TEST_CASE(a_range_that_is_too_long) {
  check_error_text([] { linspace(-1e308, 1e308, 3); });
}

BOOST_AUTO_TEST_CASE(no_arrays_to_concatenate) {
  check_error_text([] { concatenate(std::vector<Array>()); });
}

BOOST_AUTO_TEST_CASE(arrays_without_axes_to_concatenate) {
  check_error_text([] { concatenate({ones({}), ones({})}); });
}

BOOST_AUTO_TEST_CASE(arrays_of_other_extents_to_concatenate) {
  check_error_text([] { concatenate({ones({2, 3}), ones({2, 4})}); });
}

BOOST_AUTO_TEST_CASE(arrays_of_two_devices_to_concatenate) {
  const Array x = ones({2}, {.device = Device{DeviceKind::host, 0}});
  const Array y = ones({2}, {.device = Device{DeviceKind::host, 1}});
  check_error_text([&] { concatenate({x, y}); });
}

BOOST_AUTO_TEST_CASE(arrays_of_other_shapes_to_stack) {
  check_error_text([] { stack({ones({2, 3}), ones({3, 2})}); });
}

BOOST_AUTO_TEST_CASE(more_shifts_than_axes) {
  check_error_text([] { roll(ones({2, 3}), {1, 2}, {0}); });
}

BOOST_AUTO_TEST_CASE(indices_of_floats) {
  check_error_text([] { take(ones({2}), ones({1})); });
}

BOOST_AUTO_TEST_CASE(a_position_of_no_elements) {
  check_error_text([] { take(ones({2, 0}), zeros({3}, {.dtype = DType::int64}), 1); });
}

BOOST_AUTO_TEST_CASE(indices_of_too_many_axes) {
  check_error_text([] { take(ones({1, 1, 1, 1, 2}), zeros({1, 1, 1, 1, 1}, {.dtype = DType::int64}), -1); });
}

BOOST_AUTO_TEST_CASE(arrays_that_are_too_long_together) {
  const Array none = zeros({0, std::int64_t{1} << 62});
  check_error_text([&] { concatenate({none, none}, 1); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
