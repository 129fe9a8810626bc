// graphed(fn): the same results as calling fn, whatever its arguments are made of.

#include "support.hpp"
#include "support_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

struct Layer {
  rf::Array weight;
  rf::Array bias;
};

enum class Kind { sum, product };

}  // namespace

template <>
struct refrain::Fields<Layer> {
  static auto of(auto& layer) { return std::tie(layer.weight, layer.bias); }
};

BOOST_AUTO_TEST_SUITE(graphed)

BOOST_AUTO_TEST_CASE(a_call_is_recorded_once_and_replayed_with_other_buffers) {
  int calls = 0;
  auto step = rf::graphed([&](const rf::Array& x) {
    ++calls;
    return x * 2 + 1;
  });
  for (int i = 0; i < 10; ++i) {
    const rf::Array y = step(filled(static_cast<float>(i)));
    BOOST_TEST(holds(y, 2 * i + 1));
  }
  BOOST_TEST(calls == 1);
  BOOST_TEST(step.statistics().hits == 9);
  BOOST_TEST(step.statistics().recordings == 1);
  BOOST_TEST(step.statistics().signatures == 1);
}

BOOST_AUTO_TEST_CASE(shapes_dtypes_strides_and_plain_values_are_signatures_of_their_own) {
  int calls = 0;
  auto step = rf::graphed([&](const rf::Array& x, float factor, Kind kind, bool more, const std::string& text) {
    ++calls;
    rf::Array y = kind == Kind::sum ? x + factor : x * factor;
    if (more) y += static_cast<double>(text.size());
    return y;
  });
  const rf::Array x = filled(3);
  const auto check = [&](const rf::Array& y, double value, int expected) {
    BOOST_TEST(holds(y, value));
    BOOST_TEST(calls == expected);
  };
  check(step(x, 2.0F, Kind::sum, false, "a"), 5, 1);
  check(step(x, 2.0F, Kind::sum, false, "a"), 5, 1);
  check(step(x, 4.0F, Kind::sum, false, "a"), 7, 2);
  check(step(x, 2.0F, Kind::product, false, "a"), 6, 3);
  check(step(x, 2.0F, Kind::product, true, "a"), 7, 4);
  check(step(x, 2.0F, Kind::product, true, "ab"), 8, 5);
  check(step(filled(3, 5), 2.0F, Kind::sum, false, "a"), 5, 6);
  check(step(filled(3).cast(rf::DType::int64), 2.0F, Kind::sum, false, "a"), 5, 7);
  check(step(filled(3, 8).slice({.step = 2}), 2.0F, Kind::sum, false, "a"), 5, 8);
  check(step(filled(3, 4).reshape({2, 2}), 2.0F, Kind::sum, false, "a"), 5, 9);
  check(step(x, 2.0F, Kind::sum, false, "a"), 5, 9);
}

BOOST_AUTO_TEST_CASE(structures_of_arrays_go_in_and_come_out) {
  using Out = std::tuple<rf::Array, std::vector<rf::Array>, std::optional<Layer>, int>;
  int calls = 0;
  auto step = rf::graphed([&](const Layer& layer, const std::vector<rf::Array>& many, std::optional<rf::Array> maybe,
                              const std::array<rf::Array, 2>& pair, const std::map<std::string, rf::Array>& named) {
    ++calls;
    rf::Array sum = layer.weight + layer.bias + pair[0] * pair[1];
    std::vector<rf::Array> each;
    for (const rf::Array& x : many) each.push_back(x + 1);
    if (maybe) sum += *maybe;
    for (const auto& [name, x] : named) sum += x * static_cast<double>(name.size());
    return Out{sum, each, Layer{layer.bias, each.front()}, 7};
  });
  for (int i = 0; i < 3; ++i) {
    const auto f = static_cast<float>(i);
    const auto [sum, each, layer, number] =
        step(Layer{filled(f), filled(2)}, std::vector{filled(f), filled(f + 1)}, std::optional(filled(10)),
             std::array{filled(3), filled(4)}, std::map<std::string, rf::Array>{{"ab", filled(5)}});
    BOOST_TEST(holds(sum, f + 2 + 12 + 10 + 10));
    BOOST_TEST(each.size() == 2U);
    BOOST_TEST(holds(each[0], f + 1));
    BOOST_TEST(holds(each[1], f + 2));
    BOOST_TEST(holds(layer->weight, 2));  // an argument, passed on
    BOOST_TEST(holds(layer->bias, f + 1));
    BOOST_TEST(number == 7);
  }
  BOOST_TEST(calls == 1);
  (void)step(Layer{filled(1), filled(2)}, std::vector{filled(1)}, std::nullopt, std::array{filled(3), filled(4)},
             std::map<std::string, rf::Array>{});
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(effects_on_arguments_and_captured_arrays_are_those_of_the_call) {
  rf::Array counter = filled(0);
  auto step = rf::graphed([&](rf::Array x) {
    x += 1;
    counter += x;
  });
  rf::Array a = filled(0);
  rf::Array b = filled(10);
  step(a);
  step(b);
  step(a);
  BOOST_TEST(holds(a, 2));
  BOOST_TEST(holds(b, 11));
  BOOST_TEST(holds(counter, 1 + 11 + 2));
  BOOST_TEST(step.statistics().hits == 2);
}

BOOST_AUTO_TEST_CASE(a_reference_is_made_another_array_as_the_function_does) {
  auto step = rf::graphed([](rf::Array& x) { x = x * 2; });
  rf::Array x = filled(1);
  const rf::Array before = x;
  for (int i = 0; i < 6; ++i) step(x);
  BOOST_TEST(holds(x, 64));
  BOOST_TEST(holds(before, 1));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(an_argument_that_comes_back_is_the_callers) {
  auto step = rf::graphed([](const rf::Array& x) { return std::pair(x, x.slice(1, 3)); });
  for (int i = 0; i < 3; ++i) {
    const rf::Array x = filled(static_cast<float>(i));
    auto [same, part] = step(x);
    BOOST_TEST(same.buffer() == x.buffer());
    part += 5;
    BOOST_TEST((x.to_vector<float>() == std::vector<float>{i + 0.0F, i + 5.0F, i + 5.0F, i + 0.0F}));
  }
}

BOOST_AUTO_TEST_CASE(random_numbers_go_on_as_in_eager_calls) {
  const auto fn = [](const rf::Array& x) { return x + rf::randn({100}) * rf::rand({100}); };
  rf::manual_seed(3);
  std::vector<std::vector<float>> eager;
  for (int i = 0; i < 6; ++i) eager.push_back(fn(filled(1, 100)).to_vector<float>());
  rf::manual_seed(3);
  auto step = rf::graphed(fn);
  for (int i = 0; i < 6; ++i) {
    BOOST_TEST((step(filled(1, 100)).to_vector<float>() == eager[static_cast<std::size_t>(i)]));
  }
}

BOOST_AUTO_TEST_CASE(a_seed_set_in_the_function_holds_in_each_call) {
  const auto fn = [] {
    rf::manual_seed(9);
    return rf::rand({10});
  };
  const std::vector<float> eager = fn().to_vector<float>();
  rf::manual_seed(4);
  auto step = rf::graphed(fn);
  for (int i = 0; i < 3; ++i) BOOST_TEST((step().to_vector<float>() == eager));
  BOOST_TEST(step.statistics().hits == 2);
}

BOOST_AUTO_TEST_CASE(a_parameter_is_followed_and_no_part_of_the_signature) {
  auto step = rf::graphed([](const rf::Array& x, const rf::Param<float>& rate) { return x * rate; });
  rf::Param<float> rate(2);
  const rf::Array x = filled(1);
  for (int i = 0; i < 5; ++i) {
    rate = static_cast<float>(i);
    BOOST_TEST(holds(step(x, rate), i));
  }
  BOOST_TEST(holds(step(x, rf::Param<float>(40)), 40));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(a_captured_parameter_is_followed_too) {
  rf::Param<float> rate(2);
  auto step = rf::graphed([&](const rf::Array& x) { return x * rate; });
  const rf::Array x = filled(1);
  for (int i = 0; i < 5; ++i) {
    rate = static_cast<float>(i);
    BOOST_TEST(holds(step(x), i));
  }
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(nothing_at_all_is_a_function_too) {
  int calls = 0;
  auto step = rf::graphed([&] { return ++calls; });
  BOOST_TEST(step() == 1);
  BOOST_TEST(step() == 1);  // what the host computes is recorded with the rest
  auto pass = rf::graphed([](rf::Array x) { return x; });
  for (int i = 0; i < 3; ++i) BOOST_TEST(holds(pass(filled(4)), 4));
  auto none = rf::graphed([](const rf::Array& x) { return x.defined() ? x + 1 : rf::Array(); });
  BOOST_TEST(!none(rf::Array()).defined());
  BOOST_TEST(holds(none(filled(1)), 2));
  BOOST_TEST(!none(rf::Array()).defined());
}

BOOST_AUTO_TEST_CASE(arrays_without_elements_are_passed) {
  auto step = rf::graphed([](const rf::Array& x, const rf::Array& y) { return std::pair(x + 1, rf::sum(x) + y); });
  for (int i = 0; i < 3; ++i) {
    const auto [none, sum] = step(rf::zeros({0, 3}), filled(2));
    BOOST_TEST(none.size() == 0);
    BOOST_TEST(holds(sum, 2));
  }
}

BOOST_AUTO_TEST_CASE(several_streams_and_events_are_one_command) {
  const rf::Stream a;
  const rf::Stream b;
  rf::Event done;
  const auto fn = [&](const rf::Array& x) {
    rf::Array left;
    rf::Array right;
    {
      const rf::StreamGuard on(a);
      left = x * 3;
      done.record(a);
    }
    {
      const rf::StreamGuard on(b);
      b.wait_event(done);
      right = left + x;
    }
    rf::current_stream().wait_stream(b);
    return left + right;
  };
  auto step = rf::graphed(fn);
  for (int i = 0; i < 5; ++i) {
    const rf::Array x = filled(static_cast<float>(i));
    BOOST_TEST(holds(step(x), 7 * i));
  }
  BOOST_TEST(step.statistics().hits == 4);
  done.synchronize();  // it stands where the newest call has put it
  BOOST_TEST(done.query());
}

BOOST_AUTO_TEST_CASE(what_the_function_throws_comes_out_and_nothing_has_run) {
  rf::Array x = filled(1);
  bool is_bad = true;
  auto step = rf::graphed([&](rf::Array y) {
    y += 1;
    if (is_bad) throw std::runtime_error("no");
    return y * 2;
  });
  BOOST_CHECK_THROW(step(x), std::runtime_error);
  BOOST_TEST(holds(x, 1));
  BOOST_TEST(!rf::is_capturing());
  is_bad = false;
  BOOST_TEST(holds(step(x), 4));
  BOOST_TEST(holds(step(x), 6));
}

BOOST_AUTO_TEST_CASE(arrays_without_values_are_refused_as_in_an_eager_call) {
  auto [graph, y] = rf::capture([] { return filled(1) + 1; });
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  const rf::Array pending = y;
  require_error(rf::Errc::illegal_state, [&] { (void)step(pending); }, {"replay"});
  graph.instantiate().replay();
  BOOST_TEST(holds(step(pending), 3));
}

BOOST_AUTO_TEST_CASE(results_without_commands_are_results) {
  auto made = rf::graphed([] { return rf::empty({4}); });
  auto none = rf::graphed([](const rf::Array& x) { return x * 2; });
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(made().size() == 4);
    BOOST_TEST(none(rf::zeros({0, 3})).size() == 0);
  }
}

BOOST_AUTO_TEST_CASE(seeds_and_events_alone_take_effect_in_each_call) {
  auto seed = rf::graphed([] { rf::manual_seed(7); });
  rf::manual_seed(7);
  const std::vector<float> expected = rf::rand({4}).to_vector<float>();
  for (int i = 0; i < 3; ++i) {
    seed();
    BOOST_TEST((rf::rand({4}).to_vector<float>() == expected));
  }
  rf::Event event;
  auto record = rf::graphed([&] { event.record(); });
  const rf::Stream side;
  for (int i = 0; i < 3; ++i) {
    record();
    side.wait_event(event);
    event.synchronize();
    BOOST_TEST(event.query());
  }
}

BOOST_AUTO_TEST_CASE(waits_for_work_outside_are_those_of_each_call) {
  const rf::Stream side;
  rf::Event ready;
  std::vector<int> order;
  auto step = rf::graphed([&](bool by_stream) {
    if (by_stream) {
      rf::current_stream().wait_stream(side);
    } else {
      rf::current_stream().wait_event(ready);
    }
    rf::current_stream().launch_host_func([&] { order.push_back(2); });
  });
  for (int i = 0; i < 6; ++i) {
    rf::test::keep_busy(side, 5);
    side.launch_host_func([&] { order.push_back(1); });
    side.record_event(ready);
    step(i % 2 == 0);
    rf::current_stream().synchronize();
  }
  BOOST_TEST((order == std::vector<int>{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}));
  BOOST_TEST(step.statistics().hits == 4);
}

BOOST_AUTO_TEST_SUITE_END()
