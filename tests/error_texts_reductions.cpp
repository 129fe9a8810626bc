// The error texts of reductions, as those of the rest in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <refrain/reduce.hpp>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_reductions)

BOOST_AUTO_TEST_CASE(a_reduced_axis_that_is_not_there) {
  check_error_text([] { sum(ones({2, 3}), 2); });
}

BOOST_AUTO_TEST_CASE(a_reduced_axis_that_is_named_twice) {
  check_error_text([] { mean(ones({2, 3}), {0, -2}); });
}

BOOST_AUTO_TEST_CASE(more_axes_than_arrays_have) {
  check_error_text([] { sum(ones({2}), {0, 0, 0, 0, 0, 0, 0, 0, 0}); });
}

BOOST_AUTO_TEST_CASE(the_largest_of_no_elements) {
  check_error_text([] { max(ones({0, 4})); });
}

BOOST_AUTO_TEST_CASE(a_dot_product_of_other_shapes) {
  check_error_text([] { dot(ones({2}), ones({3})); });
}

BOOST_AUTO_TEST_CASE(a_dot_product_of_bools) {
  const Array truth = ones({3}, {.dtype = DType::bool_});
  check_error_text([&] { dot(truth, truth); });
}

BOOST_AUTO_TEST_CASE(a_dot_product_of_two_devices) {
  const auto devices = two_devices();
  if (!devices) return;
  const Array left = ones({3}, {.device = devices->first});
  const Array right = ones({3}, {.device = devices->second});
  check_error_text([&] { dot(left, right); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
