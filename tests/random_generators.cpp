// Generators as objects: sequences of their own, eager and in graphs.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/distributions.hpp>

#include <random>

using boost::unit_test::label;

namespace refrain::test {

namespace {

GeneratorState position(const Generator& generator) { return generator.get_state().position(); }
GeneratorState default_position() { return generator_state(current_device()); }

/// Draws of two generators and the default one, in no order of theirs.
struct Mixture {
  Generator first{1};
  Generator second{2};

  Array operator()() const {
    Array sum = rand({300}, second);
    sum += randn({300}, first);
    sum += rand({300});
    sum += randn({300}, second);
    sum += uniform(-1, 1, {300}, first);
    rand({5}, first);  // nobody uses it
    return sum;
  }
  void restart() const {
    first.manual_seed(1);
    second.manual_seed(2);
    manual_seed(3);
  }
  std::vector<GeneratorState> positions() const { return {position(first), position(second), default_position()}; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(random_generators, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_generator_draws_what_the_default_one_would) {
  manual_seed(5);
  const Array expected = rand({100}) + randn({100}) + randint(0, 9, {100});
  const GeneratorState end = default_position();
  const Generator generator(5);
  BOOST_TEST(same_bits(rand({100}, generator) + randn({100}, generator) + randint(0, 9, {100}, generator), expected));
  BOOST_TEST((position(generator) == end));
  BOOST_TEST((generator.device() == current_device()));
  BOOST_TEST(generator.seed() == 5u);
}

BOOST_AUTO_TEST_CASE(sequences_do_not_touch_one_another) {
  manual_seed(5);
  const Generator one(5);
  const Generator other(5);
  rand({10}, one);
  BOOST_TEST((position(one) == GeneratorState{5, 4}));
  BOOST_TEST((position(other) == GeneratorState{5, 0}));
  BOOST_TEST((default_position() == GeneratorState{5, 0}));
  manual_seed(6);
  BOOST_TEST((position(one) == GeneratorState{5, 4}));
  one.manual_seed(7);
  BOOST_TEST((position(one) == GeneratorState{7, 0}));
  BOOST_TEST((default_position() == GeneratorState{6, 0}));
}

BOOST_AUTO_TEST_CASE(copies_name_one_sequence) {
  const Generator generator(5);
  const Generator copy = generator;  // NOLINT(performance-unnecessary-copy-initialization)
  rand({10}, copy);
  BOOST_TEST((position(generator) == GeneratorState{5, 4}));
}

BOOST_AUTO_TEST_CASE(the_default_generator_is_what_draws_without_one_take) {
  manual_seed(5);
  const Generator generator = default_generator(current_device());
  rand({10});
  rand({10}, generator);
  BOOST_TEST((position(generator) == GeneratorState{5, 8}));
  BOOST_TEST((default_position() == GeneratorState{5, 8}));
  generator.manual_seed(6);
  BOOST_TEST((default_position() == GeneratorState{6, 0}));
}

BOOST_AUTO_TEST_CASE(a_state_is_written_down_and_set_again) {
  const Generator generator(5);
  rand({10}, generator);
  const Generator::State state = generator.get_state();
  const Array first = randn({100}, generator);
  const Array second = randn({100}, generator);
  generator.set_state(state);
  BOOST_TEST(same_bits(randn({100}, generator), first));
  const GeneratorState written = state.position();
  const Generator other(0);
  other.set_state(GeneratorState{written.seed, written.offset});
  BOOST_TEST(same_bits(randn({100}, other), first));
  BOOST_TEST(same_bits(randn({100}, other), second));
}

BOOST_AUTO_TEST_CASE(all_generators_are_saved_and_set, *label("conformance-77")) {
  manual_seed(5);
  const Device device = current_device();
  std::vector<Device> devices = {device};
  if (const auto two = two_devices()) devices = {two->first, two->second};
  for (const Device each : devices) rand({10}, {.device = each});
  std::vector<Generator::State> states;
  for (const Device each : devices) states.push_back(default_generator(each).get_state());
  std::vector<std::vector<float>> drawn;
  for (const Device each : devices) drawn.push_back(rand({10}, {.device = each}).to_vector<float>());
  manual_seed(6);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    default_generator(devices[i]).set_state(states[i]);
    BOOST_TEST(rand({10}, {.device = devices[i]}).to_vector<float>() == drawn[i], boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_offset_is_set, *label("conformance-78")) {
  const Generator generator(5);
  for (int i = 0; i < 3; ++i) rand({10}, generator);
  const Array expected = rand({10}, generator);
  generator.set_state(GeneratorState{5, 12});
  BOOST_TEST(same_bits(rand({10}, generator), expected));
  require_error(Errc::invalid_value, [&] { generator.set_state(GeneratorState{5, 6}); }, {"set_state", "6", "4"});
  BOOST_TEST((position(generator) == GeneratorState{5, 16}));
}

BOOST_AUTO_TEST_CASE(several_generators_in_one_graph_advance_as_in_eager_calls, *label("conformance-26")) {
  const Mixture program;
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      program.restart();
      std::vector<Array> eager;
      std::vector<std::vector<GeneratorState>> positions;
      for (int i = 0; i < 4; ++i) {
        eager.push_back(program());
        positions.push_back(program.positions());
      }
      auto [graph, drawn] = capture(program, capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      program.restart();
      for (std::size_t i = 0; i < eager.size(); ++i) {
        if (i == 2) {
          BOOST_TEST(same_bits(program(), eager[i]));
        } else {
          exec.replay();
          BOOST_TEST(same_bits(drawn, eager[i]));
        }
        BOOST_TEST((program.positions() == positions[i]));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(seeds_and_states_set_between_replays_are_obeyed) {
  const Generator generator(5);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      auto [graph, drawn] = capture([&] { return randn({1000}, generator); }, capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      generator.manual_seed(6);
      exec.replay();
      const Array first = snapshot(drawn);
      const Generator::State state = generator.get_state();
      exec.replay();
      const Array second = snapshot(drawn);
      BOOST_TEST(!same_bits(first, second));
      generator.set_state(state);
      exec.replay();
      BOOST_TEST(same_bits(drawn, second));
      generator.manual_seed(6);
      BOOST_TEST(same_bits(randn({1000}, generator), first));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_the_generators_that_it_draws_from) {
  const Generator same(5);
  const std::vector<Array> expected = {rand({100}, same), rand({100}, same)};
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      std::optional<Generator> generator(5);
      auto captured = capture([&] { return rand({100}, *generator); }, capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      generator.reset();
      captured.first = Graph();
      const Generator elsewhere(9);  // where the other one was, if nothing held that
      for (const Array& each : expected) {
        exec.replay();
        BOOST_TEST(same_bits(captured.second, each));
      }
      BOOST_TEST((position(elsewhere) == GeneratorState{9, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(generators_of_graphs_in_graphs_go_on_as_in_eager_calls) {
  const Mixture inner;
  const auto outer = [&](const std::function<Array()>& run_inner) {
    Array sum = rand({300}, inner.first);
    sum += run_inner();
    sum += rand({300}, inner.second);
    sum += run_inner();
    return sum;
  };
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      inner.restart();
      const std::vector<Array> eager = {outer(inner), outer(inner)};
      const auto positions = inner.positions();
      auto [inner_graph, inner_result] = capture(inner);
      const GraphExec inner_exec = inner_graph.instantiate();
      const auto replayed = [&, result = inner_result] {
        inner_exec.replay();
        return result * 1;
      };
      auto middle = capture(replayed);  // a graph in a graph in a graph
      const GraphExec middle_exec = middle.first.instantiate();
      auto [graph, drawn] = capture(
          [&] {
            bool is_first = true;
            return outer([&] {
              if (std::exchange(is_first, false)) return replayed();
              middle_exec.replay();
              return middle.second * 1;
            });
          },
          capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      inner.restart();
      for (const Array& expected : eager) {
        exec.replay();
        BOOST_TEST(same_bits(drawn, expected));
      }
      BOOST_TEST((inner.positions() == positions));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_executable_updated_to_another_graph_draws_from_its_generators) {
  const Generator first(1);
  const Generator second(2);
  const auto program = [](const Generator& from) { return [&] { return randn({100}, from); }; };
  const auto before = capture(program(first));
  const auto after = capture(program(second));
  const GraphExec exec = before.first.instantiate();
  exec.replay();
  exec.update(after.first);
  exec.replay();
  BOOST_TEST(same_bits(before.second, randn({100}, Generator(1))));
  BOOST_TEST(same_bits(after.second, randn({100}, Generator(2))));
  BOOST_TEST((position(first) == GeneratorState{1, 4}));
  BOOST_TEST((position(second) == GeneratorState{2, 4}));
}

BOOST_AUTO_TEST_CASE(graphs_and_generators_in_any_order_equal_eager_calls) {
  const Mixture program;
  const auto some = [&] { return rand({100}, program.second); };
  const auto capture_in = [](const auto& fn, Mode mode) {
    auto captured = capture(fn, capture_options(mode));
    return std::pair{captured.first.instantiate(instantiate_options(mode)), captured.second};
  };
  std::mt19937 order(1);
  for (int round = 0; round < 3; ++round) {
    const auto graph = capture_in(program, Mode::graph);
    const auto live = capture_in(program, Mode::live);
    const auto small = capture_in(some, Mode::graph_none);
    std::vector<int> steps(15);
    for (int& step : steps) step = static_cast<int>(order() % 5);
    program.restart();
    std::vector<Array> eager;
    for (const int step : steps) eager.push_back(step < 3 ? program() : some());
    program.restart();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto replay = [](const auto& of) {
        of.first.replay();
        return snapshot(of.second);
      };
      const Array got = steps[i] == 0   ? replay(graph)
                        : steps[i] == 1 ? replay(live)
                        : steps[i] == 2 ? program()
                        : steps[i] == 3 ? replay(small)
                                        : some();
      BOOST_TEST(same_bits(got, eager[i]), "step " << i << " of kind " << steps[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(graphs_that_draw_leave_no_memory_behind, *label("conformance-27")) {
  const auto live = [] {
    synchronize();
    return memory_stats(current_device()).live;
  };
  for (const auto& [generators, graphs] : {std::pair{1, 1}, {3, 2}, {10, 20}}) {
    const std::int64_t before = live();
    {
      std::vector<Generator> all;
      for (int i = 0; i < generators; ++i) all.emplace_back(static_cast<std::uint64_t>(i));
      const auto program = [&] {
        Array sum = zeros({100});
        for (const Generator& generator : all) sum += rand({100}, generator);
        return sum;
      };
      std::vector<std::pair<GraphExec, Array>> made;
      for (int i = 0; i < graphs; ++i) {
        auto captured = capture(program);
        made.emplace_back(captured.first.instantiate(), std::move(captured.second));
        made.back().first.replay();
      }
      for (int i = 0; i < graphs; ++i) BOOST_TEST(!same_bits(made[static_cast<std::size_t>(i)].second, zeros({100})));
      const std::int64_t each = (live() - before) / graphs;
      BOOST_TEST(each <= 400 * (generators + 2) + 4096);  // the arrays of the program, and little else
    }
    BOOST_TEST(live() == before);
  }
}

BOOST_AUTO_TEST_CASE(a_generator_draws_on_its_own_device) {
  const auto devices = two_devices();
  if (!devices) return;
  const Generator generator(5, devices->second);
  const Array drawn = rand({100}, generator);
  BOOST_TEST((drawn.device() == devices->second));
  BOOST_TEST(drawn.to_vector<float>() == rand({100}, Generator(5)).to_vector<float>(),
             boost::test_tools::per_element());
  require_error(Errc::wrong_device, [&] { rand({100}, generator, {.device = devices->first}); },
                {devices->first.str(), devices->second.str()});
  BOOST_TEST((position(generator) == GeneratorState{5, 4}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
