// REFRAIN_CHECK: what a function does now, compared with what was recorded.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cstdlib>
#include <vector>

namespace rf = refrain;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

/// REFRAIN_CHECK for functions made until the end of the scope.
class CheckScope {
 public:
  explicit CheckScope(const char* every) { setenv("REFRAIN_CHECK", every, 1); }
  ~CheckScope() { unsetenv("REFRAIN_CHECK"); }
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;
};

/// Calls a function, changes something, and calls it again: the check must say so, and name the op.
void must_find(const std::function<rf::Array(const rf::Array&)>& fn, const std::function<void()>& change,
               std::initializer_list<std::string_view> words,
               rf::SourceLocation where = rf::SourceLocation::current()) {
  BOOST_TEST_CONTEXT("at line " << where.line) {
    const CheckScope check("1");
    auto step = rf::graphed(fn);
    const rf::Array x = filled(1);
    (void)step(x);
    (void)step(x);
    BOOST_TEST(step.statistics().checks == 1);
    change();
    require_error(
        rf::Errc::illegal_state, [&] { (void)step(x); }, words);
    BOOST_TEST(!rf::is_capturing());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graphed_checks)

BOOST_AUTO_TEST_CASE(a_captured_array_that_was_rebound_is_found) {
  rf::Array weight = filled(2);
  must_find([&](const rf::Array& x) { return x * weight; }, [&] { weight = filled(3); },
            {"'mul' at", "graphed_checks.cpp", "other arrays", "state"});
}

BOOST_AUTO_TEST_CASE(a_captured_number_that_changed_is_found) {
  float rate = 0.1F;
  must_find([&](const rf::Array& x) { return x * rate; }, [&] { rate = 0.2F; }, {"'mul' at", "other values"});
}

BOOST_AUTO_TEST_CASE(values_of_the_host_that_changed_are_found) {
  std::vector<float> values{1, 2, 3, 4};
  must_find([&](const rf::Array& x) { return x + rf::from_host(values, {4}); }, [&] { values[2] = 7; },
            {"other values"});
}

BOOST_AUTO_TEST_CASE(another_course_of_the_function_is_found) {
  bool more = false;
  must_find([&](const rf::Array& x) { return more ? x + 1 + 2 : x + 1; }, [&] { more = true; }, {"is new"});
  int shift = 1;
  must_find([&](const rf::Array& x) { return rf::roll(x, shift, 0); }, [&] { shift = 2; }, {"other values"});
  bool other = false;
  must_find([&](const rf::Array& x) { return other ? rf::exp(x) : rf::log(x); }, [&] { other = true; },
            {"'exp' at", "'log' at"});
}

BOOST_AUTO_TEST_CASE(what_may_change_is_no_finding) {
  const CheckScope check("2");
  rf::Array weight = filled(1);
  rf::Param<float> rate(1);
  auto step = rf::graphed([&](const rf::Array& x, const rf::Param<float>& more) {
                weight = weight + x * rate + more;
                return weight + rf::rand({4}) * 0;
              }).state(weight);
  for (int i = 0; i < 12; ++i) {
    rate = static_cast<float>(i);
    BOOST_TEST(step(filled(static_cast<float>(i)), rf::Param<float>(static_cast<float>(i))).size() == 4);
  }
  BOOST_TEST(step.statistics().checks == 5);
  BOOST_TEST(step.statistics().hits == 11);
}

BOOST_AUTO_TEST_CASE(checked_calls_give_what_others_give) {
  const auto fn = [](rf::Array x) {
    x += 1;
    return x * rf::rand({4});
  };
  rf::manual_seed(5);
  auto plain = rf::graphed(fn);
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < 6; ++i) expected.push_back(plain(filled(static_cast<float>(i))).to_vector<float>());
  const CheckScope check("1");
  rf::manual_seed(5);
  auto checked = rf::graphed(fn);
  for (int i = 0; i < 6; ++i) {
    BOOST_TEST((checked(filled(static_cast<float>(i))).to_vector<float>() == expected[static_cast<std::size_t>(i)]));
  }
  BOOST_TEST(checked.statistics().checks == 5);
}

BOOST_AUTO_TEST_SUITE_END()
