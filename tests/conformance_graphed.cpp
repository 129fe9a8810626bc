// What PyTorch's tests of make_graphed_callables and of its trees of CUDA graphs check, of graphed(fn).

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(conformance_graphed)

BOOST_AUTO_TEST_CASE(callables_give_what_eager_calls_give, *label("conformance-45")) {
  rf::manual_seed(1);
  const rf::Array weight = rf::randn({16, 16});
  const rf::Array bias = rf::randn({16});
  const auto layer = [&](const rf::Array& x) { return rf::linear(x, weight, bias, rf::Activation::relu); };
  const auto no_parameters = [](const rf::Array& x) { return rf::softmax(rf::tanh(x), -1); };
  auto first = rf::graphed(layer);
  auto second = rf::graphed(no_parameters);
  for (int i = 0; i < 5; ++i) {
    const rf::Array x = rf::randn({8, 16});
    BOOST_TEST((second(first(x)).to_vector<float>() == no_parameters(layer(x)).to_vector<float>()));
  }
  BOOST_TEST(first.statistics().hits == 4);
}

BOOST_AUTO_TEST_CASE(several_callables_share_a_pool, *label("conformance-46")) {
  const rf::ArenaPool pool;
  const auto fn = [](const rf::Array& x) { return rf::softmax(rf::matmul(x, x) + 1, -1); };
  auto a = rf::graphed(fn, {.arena_pool = pool});
  auto b = rf::graphed(fn, {.arena_pool = pool});
  rf::manual_seed(2);
  for (int i = 0; i < 5; ++i) {
    const rf::Array x = rf::randn({32, 32});
    const rf::Array expected = fn(fn(x));
    BOOST_TEST((b(a(x)).to_vector<float>() == expected.to_vector<float>()));
  }
}

BOOST_AUTO_TEST_CASE(a_result_is_not_overwritten_by_a_later_call, *label("conformance-141")) {
  auto step = rf::graphed([](const rf::Array& x) { return x * x; });
  const rf::Array first = step(filled(2));
  for (int i = 3; i < 20; ++i) (void)step(filled(static_cast<float>(i)));
  BOOST_TEST(holds(first, 4));
}

BOOST_AUTO_TEST_CASE(the_first_call_is_ordered_with_its_stream, *label("conformance-142")) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  auto step = rf::graphed([](rf::Array x) {
    x += 1;
    return x * 2;
  });
  rf::test::keep_busy(stream, 10);
  rf::Array x = filled(1);
  x += 1;
  const rf::Array y = step(x);
  x += 100;
  BOOST_TEST(holds(y, 6));
  BOOST_TEST(holds(x, 103));
}

BOOST_AUTO_TEST_CASE(a_replay_goes_into_a_recording, *label("conformance-143")) {
  auto step = rf::graphed([](const rf::Array& x) { return x * x; });
  auto next = rf::graphed([](const rf::Array& x) { return x + 1; });
  for (int i = 0; i < 3; ++i) (void)step(filled(2));
  const rf::Array y = next(step(filled(3)));  // a replay, then a recording of what reads it
  BOOST_TEST(holds(y, 10));
  BOOST_TEST(holds(next(step(filled(4))), 17));
}

BOOST_AUTO_TEST_CASE(results_of_several_graphs_live_side_by_side, *label("conformance-144")) {
  auto small = rf::graphed([](const rf::Array& x) { return x + 1; });
  auto large = rf::graphed([](const rf::Array& x) { return x * 2; });
  std::vector<std::pair<rf::Array, double>> all;
  for (int i = 0; i < 6; ++i) {
    all.emplace_back(small(filled(static_cast<float>(i), 5)), i + 1);
    all.emplace_back(large(filled(static_cast<float>(i), 50)), 2 * i);
    all.emplace_back(large(all[all.size() - 2].first), 2 * (i + 1));
  }
  for (const auto& [array, value] : all) BOOST_TEST(holds(array, value));
}

BOOST_AUTO_TEST_CASE(an_array_may_go_between_two_calls, *label("conformance-145")) {
  auto first = rf::graphed([](const rf::Array& x) { return std::pair(x + 1, x + 2); });
  auto second = rf::graphed([](const rf::Array& x) { return x * 10; });
  for (int i = 0; i < 8; ++i) {
    std::optional<rf::Array> kept;
    {
      const auto [a, b] = first(filled(static_cast<float>(i)));
      kept = b;
    }  // the other one goes
    const rf::Array y = second(*kept);
    kept.reset();
    BOOST_TEST(holds(y, 10 * (i + 2)));
  }
}

BOOST_AUTO_TEST_CASE(an_argument_that_has_moved_is_followed, *label("conformance-146") * label("conformance-147")) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  rf::Array weight = filled(1);
  auto with_state = rf::graphed([&](const rf::Array& x) { return x * weight; }).state(weight);
  for (int i = 0; i < 8; ++i) {
    const rf::Array x = filled(static_cast<float>(i));
    weight = filled(static_cast<float>(i));
    BOOST_TEST(holds(step(x), i + 1));
    BOOST_TEST(holds(with_state(x), i * i));
  }
  BOOST_TEST(step.statistics().recordings == 1);
  BOOST_TEST(with_state.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(all_calls_may_be_on_one_stream, *label("conformance-148")) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  auto a = rf::graphed([](const rf::Array& x) { return x + 1; });
  auto b = rf::graphed([](const rf::Array& x) { return x * 2; });
  rf::Array x = filled(1);
  double expected = 1;
  for (int i = 0; i < 6; ++i) {
    x = b(a(x));
    expected = (expected + 1) * 2;
  }
  BOOST_TEST(holds(x, expected));
}

BOOST_AUTO_TEST_CASE(a_new_shape_leads_to_a_new_graph, *label("conformance-149")) {
  auto step = rf::graphed([](const rf::Array& x) { return rf::sum(x); });
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t n = 1; n <= 4; ++n) BOOST_TEST(holds(step(filled(2, n)), 2.0 * static_cast<double>(n)));
  }
  BOOST_TEST(step.statistics().recordings == 4);
  BOOST_TEST(step.statistics().hits == 8);
}

BOOST_AUTO_TEST_CASE(each_device_has_graphs_of_its_own, *label("conformance-150")) {
  const auto two = rf::test::two_devices();
  if (!two) return;
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  for (int i = 0; i < 3; ++i) {
    for (const rf::Device device : {two->first, two->second}) {
      const rf::DeviceGuard on(device);
      const rf::Array y = step(filled(static_cast<float>(i)));
      BOOST_TEST(y.device() == device);
      BOOST_TEST(holds(y, i + 1));
    }
  }
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_CASE(results_may_share_memory_or_have_none, *label("conformance-151")) {
  auto step = rf::graphed([](const rf::Array& x) {
    const rf::Array y = x * 2;
    return std::vector{y, y.slice(1, 3), y.flip(0), rf::zeros({0, 4}), y};
  });
  for (int i = 0; i < 4; ++i) {
    std::vector<rf::Array> all = step(filled(static_cast<float>(i)));
    BOOST_REQUIRE(all.size() == 5U);
    BOOST_TEST(all[3].size() == 0);
    all[1] += 100;
    BOOST_TEST((all[0].to_vector<float>() == std::vector<float>{2.0F * i, 2.0F * i + 100, 2.0F * i + 100, 2.0F * i}));
    BOOST_TEST(all[0].buffer() == all[4].buffer());
  }
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(a_body_that_reads_values_runs_eagerly, *label("conformance-152")) {
  auto step = rf::graphed([](const rf::Array& x) {
    const rf::Array y = x * 2;
    return y.to_vector<float>().front() > 5 ? y + 1 : y - 1;
  });
  for (int i = 0; i < 6; ++i) BOOST_TEST(holds(step(filled(static_cast<float>(i))), 2 * i > 5 ? 2 * i + 1 : 2 * i - 1));
  BOOST_TEST(step.statistics().eager == 6);
}

BOOST_AUTO_TEST_CASE(memory_is_there_for_as_long_as_somebody_has_it, *label("conformance-153")) {
  std::optional<rf::Array> weight = filled(3);
  auto step = rf::graphed([w = *weight](const rf::Array& x) { return x * w; });
  weight.reset();
  rf::Array y;
  {
    const rf::Array x = filled(2);
    y = step(x);
    y = step(x);
  }
  BOOST_TEST(holds(y, 6));
  step.clear();
  BOOST_TEST(holds(y, 6));
  BOOST_TEST(holds(step(filled(4)), 12));
  require_error(rf::Errc::invalid_value, [&] { (void)step(rf::Array()); });
}

BOOST_AUTO_TEST_SUITE_END()
