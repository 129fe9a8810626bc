// The error texts of views and elementwise ops, as those of the rest in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_views)

BOOST_AUTO_TEST_CASE(a_slice_of_no_axis) {
  check_error_text([] { ones({}).slice({.begin = 0}); });
}

BOOST_AUTO_TEST_CASE(a_slice_that_does_not_move_on) {
  check_error_text([] { ones({4}).slice({.begin = 1, .end = 3, .step = 0}); });
}

BOOST_AUTO_TEST_CASE(a_slice_backwards_beyond_its_axis) {
  check_error_text([] { ones({2, 4}).slice({.begin = 4, .end = 1, .step = -2}, 1); });
}

BOOST_AUTO_TEST_CASE(a_position_beyond_its_axis) {
  check_error_text([] { ones({2, 4}).select(4, -1); });
}

BOOST_AUTO_TEST_CASE(an_axis_that_is_not_there) {
  check_error_text([] { ones({2, 4}).transpose(0, 2); });
}

BOOST_AUTO_TEST_CASE(an_axis_of_an_array_without_any) {
  check_error_text([] { ones({}).squeeze(0); });
}

BOOST_AUTO_TEST_CASE(axes_that_are_no_permutation) {
  check_error_text([] { ones({2, 4, 1}).permute({0, 2, 0}); });
}

BOOST_AUTO_TEST_CASE(a_shape_of_other_elements) {
  check_error_text([] { ones({2, 4}).reshape({3, 3}); });
}

BOOST_AUTO_TEST_CASE(an_extent_that_cannot_be_worked_out) {
  check_error_text([] { ones({2, 4}).reshape({3, -1}); });
}

BOOST_AUTO_TEST_CASE(axes_in_the_wrong_order) {
  check_error_text([] { ones({2, 4, 1}).flatten(2, 1); });
}

BOOST_AUTO_TEST_CASE(a_shape_that_does_not_expand) {
  check_error_text([] { ones({2, 4}).expand({3, 2, 5}); });
}

BOOST_AUTO_TEST_CASE(an_axis_that_is_not_of_extent_one) {
  check_error_text([] { ones({2, 4}).squeeze(1); });
}

BOOST_AUTO_TEST_CASE(one_axis_too_many) {
  check_error_text([] { ones({1, 1, 1, 1, 1, 1, 1, 1}).unsqueeze(0); });
}

BOOST_AUTO_TEST_CASE(a_target_that_is_expanded) {
  Array target = ones({1, 3}).expand({2, 3});
  check_error_text([&] { target += 1; });
}

BOOST_AUTO_TEST_CASE(an_op_of_scalars_alone) {
  check_error_text([] { maximum(1, 2.5); });
}

BOOST_AUTO_TEST_CASE(bits_of_floats) {
  check_error_text([] { ones({2}) & 1; });
}

BOOST_AUTO_TEST_CASE(a_view_that_a_host_function_gets) {
  const Stream stream(Device{DeviceKind::host, 0});
  const DeviceGuard on(stream.device());
  const Array x = ones({2, 4});
  check_error_text([&] { stream.enqueue("sum", read(x.transpose(0, 1)), on_host([](const float*) {})); });
}

BOOST_AUTO_TEST_CASE(a_scalar_that_does_not_fit_uint8) {
  check_error_text([] { ones({2}, {.dtype = DType::uint8}) + 256; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
