// The texts of errors of graphed functions, as in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

#include <cstdlib>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(error_texts_graphed)

BOOST_AUTO_TEST_CASE(a_limit_is_nothing) {
  check_error_text([] { (void)graphed([] {}, {.capacity = 0}); });
}

BOOST_AUTO_TEST_CASE(an_array_escapes_in_strict_mode) {
  Array kept;
  auto step = graphed([&](const Array& x) { kept = x + 1; }, {.strict = true});
  check_error_text([&] { step(filled(1)); });
}

BOOST_AUTO_TEST_CASE(it_is_cleared_while_it_is_called) {
  Graphed<std::function<void()>>* self = nullptr;
  auto step = graphed(std::function<void()>([&] { self->clear(); }));
  self = &step;
  check_error_text([&] { step(); });
}

BOOST_AUTO_TEST_CASE(a_captured_array_has_become_another_one) {
  setenv("REFRAIN_CHECK", "1", 1);
  Array weight = filled(1);
  auto step = graphed([&](const Array& x) { return x * weight; });
  unsetenv("REFRAIN_CHECK");
  (void)step(filled(1));
  weight = filled(2);
  check_error_text([&] { (void)step(filled(1)); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
