// What moves a generator and what does not: seeds inside captures, sizes, dropped draws, refused calls.

#include "support.hpp"
#include "support_reference.hpp"

#include <algorithm>
#include <limits>

using boost::unit_test::label;

namespace refrain::test {

namespace {

GeneratorState state() { return generator_state(current_device()); }

/// The first elements of `longer` are those of `shorter`.
bool begins_with(const Array& longer, const Array& shorter) {
  const std::vector<double> all = numbers(longer);
  const std::vector<double> first = numbers(shorter);
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(seeding, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_seed_restarts_the_generator_at_offset_0) {
  manual_seed(9);
  rand({10});
  BOOST_TEST((state() == GeneratorState{9, 4}));
  manual_seed(std::numeric_limits<std::uint64_t>::max());
  BOOST_TEST((state() == GeneratorState{std::numeric_limits<std::uint64_t>::max(), 0}));
}

BOOST_AUTO_TEST_CASE(a_capture_does_not_advance_the_generator) {
  for (const bool live : live_modes) {
    manual_seed(9);
    rand({10});
    const auto captured = capture([] { return rand({10}) + rand({1}); }, {.live = live});
    const GraphExec exec = captured.first.instantiate();
    BOOST_TEST((state() == GeneratorState{9, 4}));
  }
}

BOOST_AUTO_TEST_CASE(a_discarded_capture_leaves_the_generator_as_it_was) {
  for (const bool live : live_modes) {
    manual_seed(9);
    {
      const Capture discarded({.live = live});
      rand({10});
      manual_seed(9);
      rand({10});
    }
    BOOST_TEST((state() == GeneratorState{9, 0}));
  }
}

BOOST_AUTO_TEST_CASE(a_seed_recorded_in_a_capture_restarts_the_draws_in_every_replay) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const Array expected = randn({100});
      const auto [graph, result] = capture(
          [] {
            manual_seed(3);
            return randn({100});
          },
          capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      for (int i = 0; i < 3; ++i) {
        rand({10});
        exec.replay();
        BOOST_TEST(same_bits(result, expected));
        BOOST_TEST((state() == GeneratorState{3, 4}));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_recorded_seed_holds_in_replays_after_another_seed) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const Array expected = randn({100});
      const auto [graph, result] = capture(
          [] {
            manual_seed(3);
            return randn({100});
          },
          capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      manual_seed(4);
      exec.replay();
      BOOST_TEST(same_bits(result, expected));
      BOOST_TEST((state() == GeneratorState{3, 4}));
    }
  }
}

BOOST_AUTO_TEST_CASE(draws_before_a_recorded_seed_go_on_with_the_generators_sequence) {
  const auto program = [] {
    std::pair<Array, Array> drawn;
    drawn.first = randn({10});
    manual_seed(3);
    drawn.second = randn({20});
    return drawn;
  };
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const auto eager_first = program();
      const auto eager_second = program();
      manual_seed(3);
      const auto captured = capture(program, capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      for (const auto& expected : {eager_first, eager_second}) {
        exec.replay();
        BOOST_TEST(same_bits(captured.second.first, expected.first));
        BOOST_TEST(same_bits(captured.second.second, expected.second));
      }
      manual_seed(5);
      const Array reseeded = randn({10});
      manual_seed(5);
      exec.replay();
      BOOST_TEST(same_bits(captured.second.first, reseeded));
      BOOST_TEST(same_bits(captured.second.second, eager_first.second));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_recorded_seed_without_a_draw_still_restarts_the_generator) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const auto captured = capture(
          [] {
            manual_seed(3);
            return ones({2});
          },
          capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      rand({10});
      exec.replay();
      BOOST_TEST((state() == GeneratorState{3, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(another_seed_in_a_capture_is_refused_and_leaves_it_intact, *label("conformance-44")) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const Array expected = randn({100});
      manual_seed(3);
      const auto [graph, result] = capture(
          [] {
            require_error(Errc::capture_unsupported, [] { manual_seed(4); }, {"manual_seed", "3", "4", "before"});
            return randn({100});
          },
          capture_options(mode));
      BOOST_TEST((state() == GeneratorState{3, 0}));
      BOOST_TEST(graph.node_count() == 1);
      graph.instantiate(instantiate_options(mode)).replay();
      BOOST_TEST(same_bits(result, expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(dropped_draws_count_in_a_replay_as_they_do_in_a_call) {
  const auto program = [] {
    randn({1000});
    const Array kept = randn({10});
    rand({1000});
    return kept;
  };
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const std::vector<Array> eager = {program(), program()};
      const GeneratorState end = state();
      const auto captured = capture(program, capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      manual_seed(3);
      for (const Array& expected : eager) {
        exec.replay();
        BOOST_TEST(same_bits(captured.second, expected));
      }
      BOOST_TEST((state() == end));
    }
  }
}

BOOST_AUTO_TEST_CASE(draws_on_two_streams_take_their_numbers_in_issue_order) {
  const Stream a;
  const Stream b;
  const auto program = [&] {
    std::pair<Array, Array> drawn;
    {
      const StreamGuard on(a);
      drawn.first = rand({100});
    }
    {
      const StreamGuard on(b);
      drawn.second = rand({100});
    }
    return drawn;
  };
  manual_seed(3);
  const Array first = rand({100});
  const Array second = rand({100});
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const auto drawn = run_as(mode, program);
      BOOST_TEST(same_bits(drawn.first, first));
      BOOST_TEST(same_bits(drawn.second, second));
    }
  }
}

BOOST_AUTO_TEST_CASE(odd_sizes_draw_the_beginning_of_a_longer_draw, *label("report-74")) {
  const std::initializer_list<std::function<Array(Shape)>> ops = {
      [](Shape shape) { return randn(shape); },
      [](Shape shape) { return randn(shape, {.dtype = DType::float64}); },
      [](Shape shape) { return rand(shape); },
      [](Shape shape) { return rand(shape, {.dtype = DType::float64}); },
      [](Shape shape) { return randint(0, 1000, shape); },
      [](Shape shape) { return randint(0, std::int64_t{1} << 50, shape); },
  };
  const std::initializer_list<Shape> shapes = {{0}, {1}, {2}, {3}, {5}, {7}, {255}, {257}, {1023}, {3, 3}, {}};
  for (const auto& op : ops) {
    manual_seed(3);
    const Array longer = op({2048});
    for (const Shape& shape : shapes) {
      for (const Mode mode : all_modes) {
        BOOST_TEST_CONTEXT(shape << ' ' << mode) {
          manual_seed(3);
          const Array drawn = run_as(mode, [&] { return op(shape); });
          BOOST_TEST(drawn.shape() == shape);
          BOOST_TEST(begins_with(longer, drawn));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_draw_of_no_elements_advances_nothing) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(3);
      const Array drawn = run_as(mode, [] {
        randn({0});
        randint(0, 3, {5, 0, 2});
        return rand({4, 0});
      });
      BOOST_TEST(numbers(drawn).empty());
      BOOST_TEST((state() == GeneratorState{3, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(uniform_numbers_lie_in_0_to_1_and_integers_in_their_range) {
  manual_seed(3);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const std::vector<double> drawn = numbers(rand({100000}, {.dtype = dtype}));
    BOOST_TEST(std::all_of(drawn.begin(), drawn.end(), [](double number) { return number >= 0 && number < 1; }));
  }
  const std::vector<std::int64_t> drawn = randint(-3, 4, {10000}).to_vector<std::int64_t>();
  BOOST_TEST(*std::min_element(drawn.begin(), drawn.end()) == -3);
  BOOST_TEST(*std::max_element(drawn.begin(), drawn.end()) == 3);
  BOOST_TEST(numbers(randint(8, 9, {3})) == (std::vector<double>{8, 8, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(draws_that_make_no_sense_are_refused_and_advance_nothing) {
  manual_seed(3);
  require_error(Errc::invalid_value, [] { randn({3}, {.dtype = DType::int64}); }, {"randn", "int64", "float32"});
  require_error(Errc::invalid_value, [] { rand({3}, {.dtype = DType::bool_}); }, {"rand", "bool", "float32"});
  require_error(Errc::invalid_value, [] { randint(5, 5, {3}); }, {"randint", "[5, 5)"});
  require_error(Errc::invalid_value, [] { randint(5, -5, {3}); }, {"randint", "[5, -5)"});
  require_error(Errc::invalid_value, [] { randint(0, 3, {3}, {.dtype = DType::float32}); }, {"randint", "float32"});
  require_error(Errc::invalid_value, [] { randint(0, std::int64_t{1} << 40, {3}, {.dtype = DType::int32}); },
                {"randint", "1099511627776", "int64"});
  BOOST_TEST((state() == GeneratorState{3, 0}));
}

// Two devices

BOOST_AUTO_TEST_CASE(one_graph_draws_on_two_devices_as_eager_calls_do) {
  const auto devices = two_devices();
  if (!devices) return;
  const auto draw = [&] {
    return std::pair{randn({1000}, {.device = devices->first}), randn({1000}, {.device = devices->second})};
  };
  manual_seed(5);
  std::vector<std::pair<std::vector<float>, std::vector<float>>> eager;
  for (int i = 0; i < 3; ++i) {
    const auto [a, b] = draw();
    eager.emplace_back(a.to_vector<float>(), b.to_vector<float>());
  }
  manual_seed(5);
  auto [graph, drawn] = capture(draw);
  const GraphExec exec = graph.instantiate();
  for (const auto& [a, b] : eager) {
    exec.replay();
    BOOST_TEST((drawn.first.to_vector<float>() == a));
    BOOST_TEST((drawn.second.to_vector<float>() == b));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
