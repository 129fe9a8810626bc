// The error texts of generators and distributions, as those of the rest in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <refrain/distributions.hpp>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_random)

BOOST_AUTO_TEST_CASE(a_generator_of_another_device_than_asked_for) {
  check_error_text([] { rand({3}, Generator(1), {.device = Device{current_device().kind, 63}}); });
}

BOOST_AUTO_TEST_CASE(a_uniform_range_that_does_not_fit_its_type) {
  check_error_text([] { uniform(0, 1e5, {3}, {.dtype = DType::float16}); });
}

BOOST_AUTO_TEST_CASE(a_uniform_range_the_wrong_way_round) {
  check_error_text([] { uniform(1, -1, {3}); });
}

BOOST_AUTO_TEST_CASE(a_deviation_below_0) {
  check_error_text([] { normal(0, -0.5, {3}); });
}

BOOST_AUTO_TEST_CASE(a_probability_above_1) {
  check_error_text([] { bernoulli(1.5, {3}); });
}

BOOST_AUTO_TEST_CASE(a_rate_of_0) {
  check_error_text([] { exponential(0, {3}); });
}

BOOST_AUTO_TEST_CASE(coins_of_an_integer_type) {
  check_error_text([] { bernoulli(0.5, {3}, {.dtype = DType::int32}); });
}

BOOST_AUTO_TEST_CASE(an_offset_that_no_draw_gives) {
  check_error_text([] { Generator(1).set_state(GeneratorState{1, 6}); });
}

BOOST_AUTO_TEST_CASE(another_seed_of_a_generator_in_a_capture) {
  check_error_text([] { capture([] { Generator(1).manual_seed(2); }); });
}

BOOST_AUTO_TEST_CASE(a_state_from_outside_in_a_capture) {
  const Generator generator(1);
  const Generator::State state = generator.get_state();
  check_error_text([&] { capture([&] { generator.set_state(state); }); });
}

BOOST_AUTO_TEST_CASE(a_state_of_another_capture) {
  const Generator generator(1);
  std::optional<Generator::State> state;
  capture([&] { state = generator.get_state(); });
  check_error_text([&] { capture([&] { generator.set_state(*state); }); });
}

BOOST_AUTO_TEST_CASE(a_state_of_another_generator_in_a_capture) {
  const Generator generator(1);
  const Generator other(1);
  check_error_text([&] { capture([&] { other.set_state(generator.get_state()); }); });
}

BOOST_AUTO_TEST_CASE(a_state_of_a_capture_outside_of_it) {
  const Generator generator(1);
  std::optional<Generator::State> state;
  capture([&] { state = generator.get_state(); });
  check_error_text([&] { generator.set_state(*state); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
