// A replay draws what an eager call would, and no number is drawn twice.

#include "support.hpp"
#include "support_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

using boost::unit_test::label;

namespace refrain::test {

namespace {

std::uint64_t offset() { return generator_state(current_device()).offset; }

/// Elements that both have.
template <class T>
std::size_t shared_elements(const Array& a, const Array& b) {
  std::vector<T> left = a.to_vector<T>();
  std::vector<T> right = b.to_vector<T>();
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::vector<T> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both.size();
}

struct Exec {
  template <class Fn>
  explicit Exec(Fn program, Mode mode) {
    auto captured = capture(program, capture_options(mode));
    exec = captured.first.instantiate(instantiate_options(mode));
    result = captured.second;
  }
  Array replay() const {
    exec.replay();
    return snapshot(result);
  }

  GraphExec exec;
  Array result;
};

Array draw_some() { return rand({1000}); }
Array draw_mixture() {
  Array sum = randn({33, 7});
  sum += randint(0, 10, {7});
  sum += rand({7});
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_numbers, *label("conformance-16")) {
  manual_seed(2);
  const Array first = randn({100});
  const Array second = randn({100});
  BOOST_TEST(!same_bits(first, second));
  manual_seed(2);
  BOOST_TEST(same_bits(randn({100}), first));
  BOOST_TEST(same_bits(randn({100}), second));
  manual_seed(3);
  BOOST_TEST(!same_bits(randn({100}), first));
}

BOOST_AUTO_TEST_CASE(a_seed_holds_for_every_device, *label("conformance-17")) {
  const auto devices = two_devices();
  if (!devices) return;
  manual_seed(7);
  const std::vector<float> first = rand({100}, {.device = devices->first}).to_vector<float>();
  const std::vector<float> second = rand({100}, {.device = devices->second}).to_vector<float>();
  BOOST_TEST(first == second, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_device_draws_from_a_generator_of_its_own) {
  const auto devices = two_devices();
  if (!devices) return;
  manual_seed(7);
  rand({100}, {.device = devices->first});
  BOOST_TEST(generator_state(devices->first).offset == 4u);
  BOOST_TEST(generator_state(devices->second).offset == 0u);
}

BOOST_AUTO_TEST_CASE(two_draws_never_overlap, *label("conformance-18")) {
  // So many that each thread draws several times; doubles of 53 bits do not meet by chance.
  manual_seed(0);
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{1001}, std::int64_t{600001}}) {
    const ArrayOptions doubles{.dtype = DType::float64};
    BOOST_TEST(shared_elements<double>(rand({size}, doubles), rand({size}, doubles)) == 0u);
    BOOST_TEST(shared_elements<double>(randn({size}, doubles), randn({size}, doubles)) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(no_number_of_a_draw_comes_twice) {
  manual_seed(0);
  std::vector<double> drawn = rand({600001}, {.dtype = DType::float64}).to_vector<double>();
  std::sort(drawn.begin(), drawn.end());
  BOOST_TEST((std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end()));
}

BOOST_AUTO_TEST_CASE(draws_of_64_bit_integers_never_overlap, *label("conformance-19")) {
  manual_seed(0);
  constexpr std::int64_t high = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t size : {std::int64_t{17}, std::int64_t{600001}}) {
    BOOST_TEST(shared_elements<std::int64_t>(randint(0, high, {size}), randint(0, high, {size})) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(replays_and_eager_draws_interleave_as_eager_calls_do, *label("conformance-35")) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      for (const std::uint64_t seed : {5u, 6u}) {
        const Exec graph(draw_mixture, mode);
        manual_seed(seed);
        std::vector<Array> eager = {draw_mixture(), draw_some(), draw_mixture(), draw_mixture(), draw_some()};
        manual_seed(seed);
        BOOST_TEST(same_bits(graph.replay(), eager[0]));
        BOOST_TEST(same_bits(draw_some(), eager[1]));
        BOOST_TEST(same_bits(graph.replay(), eager[2]));
        BOOST_TEST(same_bits(draw_mixture(), eager[3]));
        BOOST_TEST(same_bits(draw_some(), eager[4]));
        manual_seed(seed);
        BOOST_TEST(same_bits(graph.replay(), eager[0]));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(graphs_and_eager_draws_in_any_order_equal_eager_calls) {
  std::mt19937 order(1);
  for (int round = 0; round < 5; ++round) {
    const Exec some(draw_some, Mode::graph);
    const Exec mixture(draw_mixture, Mode::graph_none);
    const Exec live(draw_mixture, Mode::live);
    std::vector<int> steps(20);
    for (int& step : steps) step = static_cast<int>(order() % 5);
    manual_seed(11);
    std::vector<Array> eager;
    for (const int step : steps) eager.push_back(step == 0 || step == 1 ? draw_some() : draw_mixture());
    const GeneratorState end = generator_state(current_device());
    manual_seed(11);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Array got;
      switch (steps[i]) {
        case 0: got = some.replay(); break;
        case 1: got = draw_some(); break;
        case 2: got = mixture.replay(); break;
        case 3: got = live.replay(); break;
        default: got = draw_mixture();
      }
      BOOST_TEST(same_bits(got, eager[i]), "step " << i << " of kind " << steps[i]);
    }
    BOOST_TEST((generator_state(current_device()) == end));
  }
}

BOOST_AUTO_TEST_CASE(values_of_every_random_op_appear_on_replay_and_match_eager, *label("conformance-36")) {
  const std::initializer_list<std::function<Array()>> ops = {
      [] { return rand({33}); },
      [] { return rand({33}, {.dtype = DType::float64}); },
      [] { return randn({33}); },
      [] { return randn({33}, {.dtype = DType::float64}); },
      [] { return randint(-5, 5, {33}); },
      [] { return randint(-5, 5, {33}, {.dtype = DType::int32}); },
      [] { return randint(0, std::int64_t{1} << 40, {33}); },
  };
  for (const auto& op : ops) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      manual_seed(seed);
      const Array expected = op();
      auto [graph, result] = capture(op);
      const GraphExec exec = graph.instantiate();
      const Array& unplayed = result;
      require_error(Errc::illegal_state, [&] { numbers(unplayed); }, {"replay"});
      manual_seed(seed);
      exec.replay();
      BOOST_TEST(same_bits(result, expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(seeds_set_between_replays_are_obeyed, *label("report-53")) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(0);
      const Exec graph([] { return randn({1000}); }, mode);
      BOOST_TEST(offset() == 0u);  // capturing draws nothing
      const std::vector<Array> replays = {graph.replay(), graph.replay(), graph.replay()};
      BOOST_TEST(!same_bits(replays[0], replays[1]));
      BOOST_TEST(!same_bits(replays[1], replays[2]));
      BOOST_TEST(!same_bits(replays[0], replays[2]));
      manual_seed(0);
      BOOST_TEST(same_bits(graph.replay(), replays[0]));
      manual_seed(1);
      const Array other = graph.replay();
      BOOST_TEST(!same_bits(other, replays[0]));
      manual_seed(0);
      for (const Array& replay : replays) BOOST_TEST(same_bits(randn({1000}), replay));
      manual_seed(1);
      BOOST_TEST(same_bits(randn({1000}), other));

      double mean = 0;
      double square = 0;
      for (const double number : numbers(other)) mean += number / 1000, square += number * number / 1000;
      BOOST_TEST(std::abs(mean) < 0.15);
      BOOST_TEST(std::abs(square - 1) < 0.2);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
