// The error texts of arrays, as those of the rest in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <cstdint>
#include <limits>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_arrays)

BOOST_AUTO_TEST_CASE(a_shape_of_too_many_axes) {
  check_error_text([] { zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); });
}

BOOST_AUTO_TEST_CASE(a_shape_with_a_negative_extent) {
  check_error_text([] { zeros({2, -1}); });
}

BOOST_AUTO_TEST_CASE(a_shape_of_too_many_elements) {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  check_error_text([] { zeros({big, big}); });
}

BOOST_AUTO_TEST_CASE(a_number_that_is_no_scalar) {
  check_error_text([] { ones({2}) + std::numeric_limits<std::uint64_t>::max(); });
}

BOOST_AUTO_TEST_CASE(a_scalar_that_does_not_fit_int32) {
  const Array a = ones({2}, {.dtype = DType::int32});
  check_error_text([&] { a + (std::int64_t{1} << 31); });
}

BOOST_AUTO_TEST_CASE(an_array_that_is_empty) {
  check_error_text([] { Array() + 1; });
}

BOOST_AUTO_TEST_CASE(an_array_before_the_first_replay) {
  auto [graph, made] = capture([] { return ones({3}); });
  check_error_text([&made = made] { made.to_vector<float>(); });
}

BOOST_AUTO_TEST_CASE(an_array_of_a_discarded_capture) {
  Array gone;
  {
    const Capture discarded;
    gone = ones({3});
  }
  check_error_text([&] { gone.to_vector<float>(); });
}

BOOST_AUTO_TEST_CASE(elements_read_as_another_type) {
  check_error_text([] { ones({2}).to_vector<double>(); });
}

BOOST_AUTO_TEST_CASE(an_item_of_several) {
  check_error_text([] { ones({2}).item<float>(); });
}

BOOST_AUTO_TEST_CASE(host_elements_that_do_not_fill_the_shape) {
  check_error_text([] { from_host(std::vector<float>{1, 2, 3}, {2, 2}); });
}

BOOST_AUTO_TEST_CASE(a_slice_of_an_array_without_axes) {
  check_error_text([] { ones({}).slice(0, 1); });
}

BOOST_AUTO_TEST_CASE(a_slice_beyond_the_first_axis) {
  check_error_text([] { ones({2, 3}).slice(1, 3); });
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_broadcast) {
  check_error_text([] { ones({2, 3}) + ones({4}); });
}

BOOST_AUTO_TEST_CASE(operands_on_two_devices) {
  const auto devices = two_devices();
  if (!devices) return;
  const Array a = ones({2}, {.device = devices->first});
  const Array b = ones({3}, {.device = devices->second});
  check_error_text([&] { a + b; });
}

BOOST_AUTO_TEST_CASE(a_sum_of_bools) {
  const Array a = array({true, false});
  check_error_text([&] { a + a; });
}

BOOST_AUTO_TEST_CASE(a_negative_of_bools) {
  check_error_text([] { -array({true, false}); });
}

BOOST_AUTO_TEST_CASE(a_target_that_is_too_small) {
  Array target = ones({3});
  check_error_text([&] { target += ones({2, 3}); });
}

BOOST_AUTO_TEST_CASE(a_target_that_is_too_narrow) {
  Array target = array({1, 2});
  check_error_text([&] { target += 0.5; });
}

BOOST_AUTO_TEST_CASE(random_floats_of_an_integer_type) {
  check_error_text([] { rand({2}, {.dtype = DType::int64}); });
}

BOOST_AUTO_TEST_CASE(random_integers_of_an_empty_range) {
  check_error_text([] { randint(3, 3, {2}); });
}

BOOST_AUTO_TEST_CASE(random_integers_of_a_floating_type) {
  check_error_text([] { randint(0, 3, {2}, {.dtype = DType::float32}); });
}

BOOST_AUTO_TEST_CASE(random_integers_that_do_not_fit_int32) {
  check_error_text([] { randint(0, std::int64_t{1} << 40, {2}, {.dtype = DType::int32}); });
}

BOOST_AUTO_TEST_CASE(borrowed_memory_of_another_type) {
  std::vector<double> memory(2);
  check_error_text([&] { copy_to(ones({2}), borrowed(std::span<double>(memory))); });
}

BOOST_AUTO_TEST_CASE(borrowed_memory_of_another_size) {
  std::vector<float> memory(2);
  check_error_text([&] { copy_to(ones({3}), borrowed(std::span<float>(memory))); });
}

BOOST_AUTO_TEST_CASE(borrowed_memory_that_is_const) {
  const std::vector<float> memory(2);
  check_error_text([&] { copy_to(ones({2}), borrowed(std::span<const float>(memory))); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
