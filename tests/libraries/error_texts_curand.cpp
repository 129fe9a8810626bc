// The error texts of curand.hpp: see tests/error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/curand.hpp>

namespace rf = refrain;
using rf::test::check_error_text;

BOOST_AUTO_TEST_SUITE(library_error_texts_curand)

BOOST_AUTO_TEST_CASE(curand_draw_in_a_capture) {
  rf::CurandGenerator generator;
  const rf::Array x = rf::zeros({4});
  rf::capture([&] { check_error_text([&] { generator.uniform(x); }); });
}

BOOST_AUTO_TEST_CASE(curand_draw_into_another_dtype) {
  rf::CurandGenerator generator;
  const rf::Array x = rf::zeros({4}, {.dtype = rf::DType::int64});
  check_error_text([&] { generator.uniform(x); });
}

BOOST_AUTO_TEST_CASE(curand_draw_of_half_a_point) {
  rf::CurandGenerator generator(CURAND_RNG_QUASI_SOBOL32, {.dimensions = 3});
  const rf::Array x = rf::zeros({4});
  check_error_text([&] { generator.uniform(x); });
}

BOOST_AUTO_TEST_CASE(curand_draw_of_half_a_pair) {
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW);
  const rf::Array x = rf::zeros({3});
  check_error_text([&] { generator.normal(x); });
}

BOOST_AUTO_TEST_CASE(curand_draw_on_another_device) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW, {.device = devices->first});
  const rf::Array x = rf::zeros({4}, {.device = devices->first});
  check_error_text([&] { generator.uniform(x, rf::Stream(devices->second)); });
}

BOOST_AUTO_TEST_CASE(curand_lambda_out_of_range) {
  rf::CurandGenerator generator;
  const rf::Array x = rf::zeros({4}, {.dtype = rf::DType::int32});
  check_error_text([&] { generator.poisson(x, -1); });
}

BOOST_AUTO_TEST_CASE(curand_offset_of_a_twister) {
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_MT19937);
  check_error_text([&] { generator.set_offset(1); });
}

BOOST_AUTO_TEST_CASE(curand_option_of_another_engine) {
  check_error_text([] { rf::CurandGenerator(CURAND_RNG_QUASI_SOBOL32, {.seed = 1}); });
}

BOOST_AUTO_TEST_CASE(curand_seed_of_a_quasirandom_engine) {
  rf::CurandGenerator generator(CURAND_RNG_QUASI_SOBOL32);
  check_error_text([&] { generator.set_seed(1); });
}

BOOST_AUTO_TEST_SUITE_END()
