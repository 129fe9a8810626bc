// Seeds and states of generators inside captures.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/generator.hpp>

using boost::unit_test::label;

namespace refrain::test {

namespace {

GeneratorState position(const Generator& generator) { return generator.get_state().position(); }

using Pair = std::pair<Array, Array>;

/// Draws twice from one state: what recomputing a step does.
Pair draw_twice(const Generator& generator) {
  const Generator::State state = generator.get_state();
  Pair drawn;
  drawn.first = randn({1000}, generator);
  generator.set_state(state);
  drawn.second = randn({1000}, generator);
  return drawn;
}

/// Replays of a program in this mode give what eager calls give, and leave the generator where they do.
void require_as_eager(Mode mode, const Generator& generator, const std::function<Pair()>& program,
                      std::uint64_t seed = 5) {
  generator.manual_seed(seed);
  std::vector<Pair> eager;
  std::vector<GeneratorState> positions;
  for (int i = 0; i < 3; ++i) {
    eager.push_back(program());
    positions.push_back(position(generator));
  }
  generator.manual_seed(seed);
  auto captured = capture(program, capture_options(mode));
  BOOST_TEST((position(generator) == GeneratorState{seed, 0}));
  const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
  for (std::size_t i = 0; i < eager.size(); ++i) {
    exec.replay();
    BOOST_TEST(same_bits(captured.second.first, eager[i].first));
    BOOST_TEST(same_bits(captured.second.second, eager[i].second));
    BOOST_TEST((position(generator) == positions[i]));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_states, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_state_is_saved_and_restored_in_a_capture, *label("report-54") * label("conformance-43")) {
  for (const Mode mode : graph_modes) {
    for (const Generator& generator : {default_generator(current_device()), Generator(0)}) {
      BOOST_TEST_CONTEXT(mode) {
        generator.manual_seed(5);
        auto [graph, drawn] = capture([&] { return draw_twice(generator); }, capture_options(mode));
        const GraphExec exec = graph.instantiate(instantiate_options(mode));
        std::vector<Array> replays;
        for (int i = 0; i < 3; ++i) {
          exec.replay();
          BOOST_TEST(same_bits(drawn.first, drawn.second));
          for (const Array& earlier : replays) BOOST_TEST(!same_bits(drawn.first, earlier));
          replays.push_back(snapshot(drawn.first));
        }
        generator.manual_seed(5);
        for (const Array& replay : replays) BOOST_TEST(same_bits(randn({1000}, generator), replay));
        require_as_eager(mode, generator, [&] { return draw_twice(generator); });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(another_seed_in_a_capture_is_refused, *label("report-54")) {
  const Generator generator(5);
  const Array expected = randn({1000}, Generator(5));
  for (const Mode mode : graph_modes) {
    for (const bool has_drawn : {false, true}) {
      BOOST_TEST_CONTEXT(mode) {
        auto [graph, drawn] = capture(
            [&] {
              Array first;
              if (has_drawn) first = randn({1000}, generator);
              require_error(Errc::capture_unsupported, [&] { generator.manual_seed(6); }, {"manual_seed", "5", "6"});
              return has_drawn ? first : randn({1000}, generator);
            },
            capture_options(mode));
        BOOST_TEST(graph.node_count() == 1);
        generator.manual_seed(5);
        graph.instantiate(instantiate_options(mode)).replay();
        BOOST_TEST(same_bits(drawn, expected));
        generator.manual_seed(5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_present_seed_in_a_capture_restarts_the_draws_in_every_replay) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Generator generator(5);
      const auto program = [&] {
        Pair drawn;
        drawn.first = randn({10}, generator);
        generator.manual_seed(5);
        drawn.second = randn({20}, generator);
        return drawn;
      };
      require_as_eager(mode, generator, program);
      auto captured = capture(program, capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      manual_seed(1);
      generator.manual_seed(7);
      exec.replay();
      BOOST_TEST(same_bits(captured.second.first, randn({10}, Generator(7))));
      BOOST_TEST(same_bits(captured.second.second, randn({20}, Generator(5))));
      BOOST_TEST((position(generator) == GeneratorState{5, 4}));
      BOOST_TEST((generator_state(current_device()) == GeneratorState{1, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_recorded_seed_of_all_devices_leaves_other_generators_alone) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Generator generator(5);
      manual_seed(3);
      require_as_eager(mode, generator, [&] {
        Pair drawn;
        drawn.first = randn({10}, generator);
        manual_seed(3);
        drawn.second = randn({20}, generator) + rand({20});
        return drawn;
      });
      BOOST_TEST((generator_state(current_device()) == GeneratorState{3, 4}));
    }
  }
}

BOOST_AUTO_TEST_CASE(states_before_and_after_a_recorded_seed_are_kept_apart) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Generator generator(5);
      const auto program = [&] {
        Pair drawn;
        randn({10}, generator);
        const Generator::State before = generator.get_state();
        generator.manual_seed(5);
        randn({10}, generator);
        const Generator::State after = generator.get_state();
        generator.set_state(before);
        drawn.first = randn({30}, generator);
        generator.set_state(after);
        drawn.second = randn({40}, generator);
        generator.set_state(before);
        return drawn;
      };
      require_as_eager(mode, generator, program);
      auto captured = capture(program, capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      const Generator other(8);
      generator.manual_seed(8);
      randn({10}, other);
      exec.replay();
      BOOST_TEST(same_bits(captured.second.first, randn({30}, other)));
      BOOST_TEST((position(generator) == GeneratorState{8, 4}));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_state_that_takes_draws_back_repeats_them_in_every_replay) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Generator generator(5);
      require_as_eager(mode, generator, [&] {
        const Generator::State state = generator.get_state();
        Pair drawn = {randn({10}, generator), randn({300}, generator)};
        generator.set_state(state);
        return drawn;
      });
      BOOST_TEST((position(generator) == GeneratorState{5, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(states_in_graphs_in_graphs_are_those_of_their_place) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Generator generator(5);
      auto inner = capture([&] { return draw_twice(generator); });
      const GraphExec exec = inner.first.instantiate();
      bool is_replayed = false;
      const auto program = [&] {
        randn({10}, generator);
        Pair drawn;
        if (is_replayed) {
          exec.replay();
          drawn = inner.second;
        } else {
          drawn = draw_twice(generator);
        }
        drawn.first = drawn.first + randn({1000}, generator);
        drawn.second = drawn.second * 1;
        return drawn;
      };
      generator.manual_seed(5);
      const std::vector<Pair> eager = {program(), program()};
      const GeneratorState end = position(generator);
      is_replayed = true;
      const auto outer = capture(program, capture_options(mode));
      const GraphExec outer_exec = outer.first.instantiate(instantiate_options(mode));
      generator.manual_seed(5);
      for (const Pair& expected : eager) {
        outer_exec.replay();
        BOOST_TEST(same_bits(outer.second.first, expected.first));
        BOOST_TEST(same_bits(outer.second.second, expected.second));
      }
      BOOST_TEST((position(generator) == end));
    }
  }
}

BOOST_AUTO_TEST_CASE(seeds_recorded_at_any_depth_of_graphs_hold_for_what_comes_after_them) {
  const Generator own(5);
  const std::initializer_list<std::pair<Generator, std::function<void()>>> sources = {
      {own, [&] { own.manual_seed(5); }}, {default_generator(current_device()), [] { manual_seed(5); }}};
  for (const auto& source : sources) {
    const Generator& generator = source.first;
    for (const int seeded : {0, 1, 2, 3}) {  // the depth at which the seed is; 3: at two
      for (const bool inner_draws : {true, false}) {
        // Three programs, each of which calls the next one.
        const auto draw = [&](int depth, const std::function<Array()>& call) {
          Array sum = depth == 2 && !inner_draws ? ones({10}) : randn({10}, generator);
          if (seeded == depth || (seeded == 3 && depth > 0)) source.second();
          if (call) sum += call();
          return depth == 2 && !inner_draws ? sum : sum + rand({10}, generator);
        };
        const auto inner = [&] { return draw(2, nullptr); };
        const auto middle = [&] { return draw(1, inner); };
        generator.manual_seed(7);
        const Array expected = draw(0, middle);
        const GeneratorState end = position(generator);
        source.second();
        const auto replay_of = [](const auto& program, Mode mode) {
          auto captured = capture(program, capture_options(mode));
          return [exec = captured.first.instantiate(instantiate_options(mode)), result = captured.second] {
            exec.replay();
            return result;
          };
        };
        for (const Mode mode : graph_modes) {
          BOOST_TEST_CONTEXT(mode << ", seeded at depth " << seeded << ", draws inside: " << inner_draws) {
            source.second();
            const auto replay_inner = replay_of(inner, Mode::graph);
            const auto replay_middle = replay_of([&] { return draw(1, replay_inner); }, Mode::graph);
            const auto replay_outer = replay_of([&] { return draw(0, replay_middle); }, mode);
            generator.manual_seed(7);
            BOOST_TEST(same_bits(replay_outer(), expected));
            BOOST_TEST((position(generator) == end));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(states_from_elsewhere_are_refused_and_leave_the_capture_intact) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Generator generator(5);
      const Generator other(6);
      const Generator::State outside = generator.get_state();
      std::optional<Generator::State> earlier;
      capture([&] { earlier = generator.get_state(); });
      std::optional<Generator::State> inside;
      auto [graph, drawn] = capture(
          [&] {
            randn({10}, generator);
            inside = generator.get_state();
            const auto refused = [](const Generator& on, const Generator::State& state,
                                    std::initializer_list<std::string_view> words) {
              require_error(
                  Errc::capture_unsupported, [&] { on.set_state(state); }, words);
            };
            refused(generator, outside, {"set_state", "outside", "before the capture"});
            refused(generator, *earlier, {"set_state", "another capture"});
            refused(other, *inside, {"set_state", "taken from"});
            require_error(Errc::illegal_state, [&] { (void)inside->position(); }, {"position", "replay"});
            return randn({10}, generator);
          },
          capture_options(mode));
      require_error(Errc::illegal_state, [&] { generator.set_state(*inside); }, {"set_state", "outside"});
      BOOST_TEST((position(generator) == GeneratorState{5, 0}));
      graph.instantiate(instantiate_options(mode)).replay();
      generator.manual_seed(5);
      randn({10}, generator);
      BOOST_TEST(same_bits(drawn, randn({10}, generator)));
      BOOST_TEST((position(other) == GeneratorState{6, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(discarded_captures_leave_generators_as_they_were) {
  for (const bool live : live_modes) {
    const Generator generator(5);
    rand({10}, generator);
    {
      const Capture discarded({.live = live});
      rand({10}, generator);
      generator.manual_seed(5);
      generator.set_state(generator.get_state());
      rand({10}, generator);
    }
    BOOST_TEST((position(generator) == GeneratorState{5, 4}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
