// Arrays that a graphed function uses besides its arguments.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

struct Model {
  rf::Array weight;
  std::vector<rf::Array> momenta;
};

}  // namespace

template <>
struct refrain::Fields<Model> {
  static auto of(auto& model) { return std::tie(model.weight, model.momenta); }
};

BOOST_AUTO_TEST_SUITE(graphed_state)

BOOST_AUTO_TEST_CASE(registered_arrays_are_made_others_as_the_function_does) {
  rf::Array weight = filled(1);
  rf::Array momentum = filled(0);
  const rf::Array first = weight;
  const auto fn = [&](const rf::Array& gradient) {
    momentum = momentum * 0.5 + gradient;
    weight = weight - momentum;
    return rf::sum(weight);
  };
  rf::Array w = filled(1);
  rf::Array m = filled(0);
  const auto reference = [&](const rf::Array& gradient) {
    m = m * 0.5 + gradient;
    w = w - m;
    return rf::sum(w);
  };
  auto step = rf::graphed(fn).state(weight, momentum);
  for (int i = 0; i < 12; ++i) {
    const rf::Array gradient = filled(static_cast<float>(i % 4));
    const rf::Array got = step(gradient);
    const rf::Array expected = reference(gradient);
    BOOST_TEST(got.item<float>() == expected.item<float>());
    BOOST_TEST((weight.to_vector<float>() == w.to_vector<float>()));
    BOOST_TEST((momentum.to_vector<float>() == m.to_vector<float>()));
  }
  BOOST_TEST(holds(first, 1));
  BOOST_TEST(step.statistics().recordings == 1);
  BOOST_TEST(step.statistics().instantiations <= 4);
}

BOOST_AUTO_TEST_CASE(state_that_settles_needs_no_more_executables) {
  rf::Array weight = filled(1);
  auto step = rf::graphed([&](const rf::Array& x) { weight = weight * 0.5 + x; }).state(weight);
  const rf::Array x = filled(3);
  for (int i = 0; i < 4; ++i) step(x);
  const auto settled = step.statistics();
  for (int i = 0; i < 50; ++i) step(x);
  const auto after = step.statistics();
  BOOST_TEST(after.instantiations == settled.instantiations);
  BOOST_TEST(after.rebinds == settled.rebinds);
  BOOST_TEST(after.instantiations <= 3);
}

BOOST_AUTO_TEST_CASE(another_buffer_in_registered_state_is_noticed) {
  rf::Array weight = filled(2);
  auto step = rf::graphed([&](const rf::Array& x) { return x * weight; }).state(weight);
  const rf::Array x = filled(1);
  BOOST_TEST(holds(step(x), 2));
  weight = filled(5);
  BOOST_TEST(holds(step(x), 5));
  weight = filled(7, 1);  // another shape is another signature
  BOOST_TEST(holds(step(x), 7));
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_CASE(structs_and_containers_of_arrays_may_be_registered) {
  Model model{filled(1), {filled(0), filled(0)}};
  auto step = rf::graphed([&](const rf::Array& x) {
                for (rf::Array& each : model.momenta) each = each + x;
                model.weight += model.momenta.back();
              }).state(model);
  for (int i = 0; i < 4; ++i) step(filled(1));
  BOOST_TEST(holds(model.weight, 1 + 1 + 2 + 3 + 4));
  BOOST_TEST(holds(model.momenta[0], 4));
  BOOST_TEST(step.statistics().recordings == 1);
  model.momenta.push_back(filled(0));
  step(filled(1));
  BOOST_TEST(holds(model.momenta[2], 1));
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_CASE(state_that_is_swapped_goes_on_swapping) {
  rf::Array a = filled(1);
  rf::Array b = filled(2);
  auto step = rf::graphed([&] {
                std::swap(a, b);
                a += 10;
              }).state(a, b);
  for (int i = 0; i < 4; ++i) step();
  BOOST_TEST(holds(a, 21));
  BOOST_TEST(holds(b, 22));
}

BOOST_AUTO_TEST_CASE(two_names_of_one_array_are_told_from_two_arrays) {
  rf::Array a = filled(1);
  rf::Array b = a;
  auto step = rf::graphed([&] {
                a += 1;
                b += 10;
              }).state(a, b);
  for (int i = 0; i < 3; ++i) step();
  BOOST_TEST(holds(a, 34));
  b = filled(0);
  for (int i = 0; i < 3; ++i) step();
  BOOST_TEST(holds(a, 37));
  BOOST_TEST(holds(b, 30));
}

BOOST_AUTO_TEST_CASE(a_body_that_throws_leaves_the_state) {
  rf::Array weight = filled(1);
  bool is_bad = true;
  auto step = rf::graphed([&] {
                weight = weight + 1;
                if (is_bad) throw std::runtime_error("no");
              }).state(weight);
  BOOST_CHECK_THROW(step(), std::runtime_error);
  BOOST_TEST(holds(weight, 1));
  is_bad = false;
  step();
  BOOST_TEST(holds(weight, 2));
}

BOOST_AUTO_TEST_CASE(an_array_that_escapes_makes_the_signature_eager_with_one_warning) {
  std::vector<std::string> told;
  rf::set_log_sink([&](const rf::Diagnostic& each) { told.push_back(each.text); });
  rf::Array kept;
  const auto fn = [&](const rf::Array& x) {
    kept = x * 2;
    return x + kept;
  };
  auto step = rf::graphed(fn);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(holds(step(filled(static_cast<float>(i))), 3 * i));
    BOOST_TEST(holds(kept, 2 * i));
  }
  rf::set_log_sink({});
  BOOST_TEST(step.statistics().eager == 3);
  BOOST_TEST(step.statistics().hits == 0);
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST(told.front().find("'mul' at") != std::string::npos);
  BOOST_TEST(told.front().find("graphed_state.cpp") != std::string::npos);
  BOOST_TEST(step.explain().find("run eagerly") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(strict_refuses_what_escapes_and_nothing_has_run) {
  rf::Array kept;
  rf::Array counter = filled(0);
  auto step = rf::graphed(
      [&](const rf::Array& x) {
        counter += 1;
        kept = x * 2;
      },
      {.strict = true});
  const rf::Array x = filled(1);
  require_error(rf::Errc::illegal_state, [&] { step(x); }, {"strict", "'mul' at", "state"});
  BOOST_TEST(holds(counter, 0));
  BOOST_TEST(!rf::is_capturing());
}

BOOST_AUTO_TEST_CASE(an_argument_that_is_kept_elsewhere_runs_eagerly_too) {
  rf::Array kept;
  auto step = rf::graphed([&](const rf::Array& x) {
    kept = x;
    return x + 1;
  });
  for (int i = 0; i < 3; ++i) {
    const rf::Array x = filled(static_cast<float>(i));
    BOOST_TEST(holds(step(x), i + 1));
    BOOST_TEST(holds(kept, i));
  }
  BOOST_TEST(step.statistics().eager == 3);
}

BOOST_AUTO_TEST_CASE(registered_arrays_and_arguments_may_be_the_same) {
  rf::Array weight = filled(1);
  auto step = rf::graphed([&](const rf::Array& x) { weight += x; }).state(weight);
  for (int i = 0; i < 3; ++i) step(weight);
  BOOST_TEST(holds(weight, 8));
  for (int i = 0; i < 3; ++i) step(filled(1));
  BOOST_TEST(holds(weight, 11));
}

BOOST_AUTO_TEST_CASE(a_container_that_is_replaced_is_assigned_to_where_it_is_now) {
  std::vector<rf::Array> weights{filled(1), filled(2)};
  auto step = rf::graphed([&](const rf::Array& x) {
                weights = std::vector<rf::Array>{weights[0] + x, weights[1] + x};
              }).state(weights);
  for (int i = 1; i < 5; ++i) {
    step(filled(1));
    BOOST_TEST(holds(weights[0], 1 + i));
    BOOST_TEST(holds(weights[1], 2 + i));
  }
  BOOST_TEST(step.statistics().hits == 3);
}

BOOST_AUTO_TEST_CASE(arrays_that_move_between_containers_make_it_eager) {
  std::vector<rf::Array> a{filled(1), filled(2)};
  std::vector<rf::Array> b{filled(3)};
  auto step = rf::graphed([&] {
                b.push_back(a.back() * 2);
                a.pop_back();
              }).state(a, b);
  step();
  BOOST_REQUIRE(a.size() == 1U);
  BOOST_REQUIRE(b.size() == 2U);
  BOOST_TEST(holds(b[1], 4));
  BOOST_TEST(step.statistics().eager == 1);
  std::vector<rf::Array> c{filled(1), filled(2)};
  std::vector<rf::Array> d{filled(3)};
  auto move = rf::graphed([](std::vector<rf::Array>& from, std::vector<rf::Array>& to) {
    to.push_back(from.back());
    from.pop_back();
  });
  move(c, d);
  BOOST_TEST(c.size() == 1U);
  BOOST_REQUIRE(d.size() == 2U);
  BOOST_TEST(holds(d[1], 2));
}

BOOST_AUTO_TEST_CASE(numbers_that_the_function_changes_make_it_eager) {
  bool is_odd = false;
  auto toggle = rf::graphed([&](const rf::Array& x) {
                  is_odd = !is_odd;
                  return is_odd ? x * 1 : x * 2;
                }).state(is_odd);
  for (int i = 0; i < 6; ++i) BOOST_TEST(holds(toggle(filled(1)), i % 2 == 0 ? 1 : 2));
  int count = 0;
  rf::Array weight = filled(1);
  auto step = rf::graphed([](rf::Array& w, int& n) {
    ++n;
    w = w * n;
  });
  for (int i = 0; i < 4; ++i) step(weight, count);
  BOOST_TEST(count == 4);
  BOOST_TEST(holds(weight, 24));
}

BOOST_AUTO_TEST_CASE(an_array_that_is_registered_twice_is_one) {
  rf::Array weight = filled(1);
  rf::Array saved;
  auto step = rf::graphed([&](const rf::Array& x) {
                weight = x * 2;
                saved = weight;
              }).state(weight, weight);
  for (int i = 0; i < 3; ++i) {
    step(filled(static_cast<float>(i)));
    BOOST_TEST(holds(weight, 2 * i));
    BOOST_TEST(holds(saved, 2 * i));
  }
}

BOOST_AUTO_TEST_CASE(a_registered_parameter_may_be_another_one) {
  rf::Param<float> rate(1);
  auto step = rf::graphed([&](const rf::Array& x) { return x * rate; }).state(rate);
  const rf::Array x = filled(1);
  BOOST_TEST(holds(step(x), 1));
  rate = 2.0F;
  BOOST_TEST(holds(step(x), 2));
  rate = rf::Param<float>(3);
  BOOST_TEST(holds(step(x), 3));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(a_parameter_that_the_function_changes_counts_from_the_next_call) {
  rf::Param<float> rate(1);
  const auto fn = [&](const rf::Array& x) {
    rf::Array y = x * rate;
    rate = 0.5F;
    return y;
  };
  auto step = rf::graphed(fn);
  const rf::Array x = filled(1);
  BOOST_TEST(holds(step(x), 1));
  BOOST_TEST(holds(step(x), 0.5));
  rate = 4.0F;
  BOOST_TEST(holds(step(x), 4));
}

BOOST_AUTO_TEST_SUITE_END()
