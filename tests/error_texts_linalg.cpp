// The error texts of matrix products, as those of the rest in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <refrain/linalg.hpp>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_linalg)

BOOST_AUTO_TEST_CASE(a_product_of_matrices_that_do_not_fit) {
  check_error_text([] { matmul(ones({2, 3}), ones({4, 2})); });
}

BOOST_AUTO_TEST_CASE(a_product_of_batches_that_do_not_broadcast) {
  check_error_text([] { matmul(ones({2, 3, 3}), ones({4, 3, 3})); });
}

BOOST_AUTO_TEST_CASE(a_product_of_integers) {
  check_error_text([] { matmul(array({1, 2}), array({1, 2})); });
}

BOOST_AUTO_TEST_CASE(a_product_with_a_scalar) {
  check_error_text([] { matmul(ones({2, 3}), full({}, 2)); });
}

BOOST_AUTO_TEST_CASE(a_weight_that_is_no_matrix) {
  check_error_text([] { linear(ones({2, 3}), ones({3})); });
}

BOOST_AUTO_TEST_CASE(a_bias_that_does_not_fit) {
  check_error_text([] { linear(ones({2, 3}), ones({4, 3}), ones({3})); });
}

BOOST_AUTO_TEST_CASE(a_bias_that_would_be_narrowed) {
  check_error_text([] {
    const ArrayOptions half{.dtype = DType::float16};
    linear(ones({2, 3}, half), ones({4, 3}, half), ones({4}));
  });
}

BOOST_AUTO_TEST_CASE(a_product_of_two_devices) {
  const auto devices = two_devices();
  if (!devices) return;
  const Array left = ones({2, 2}, {.device = devices->first});
  const Array right = ones({2, 2}, {.device = devices->second});
  check_error_text([&] { matmul(left, right); });
}

BOOST_AUTO_TEST_CASE(a_product_of_more_matrices_than_are_counted) {
  const Array many = ones({1, 1, 1}).expand({std::int64_t{1} << 31, 1, 1});
  check_error_text([&] { matmul(many, ones({1, 1})); });
}

BOOST_AUTO_TEST_CASE(an_array_that_is_bound_to_a_product_it_is_not_aligned_for) {
  const Array x = ones({4, 4});
  const GraphExec exec = capture([&] { return matmul(x, x); }).first.instantiate();
  const Array odd = ones({17}).slice(1, 17).reshape({4, 4});
  check_error_text([&] { exec.bind(x, odd); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
