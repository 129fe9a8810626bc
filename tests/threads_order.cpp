// Work that threads hand to each other, and random numbers that they share.

#include "support.hpp"
#include "support_concurrency.hpp"

#include <algorithm>
#include <future>

namespace refrain::test {

namespace {

/// What one thread hands to another: an array and the event behind its last writer.
struct Handed {
  Array array;
  Event event;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(threads_order)

BOOST_AUTO_TEST_CASE(a_thread_reads_what_another_wrote_before_the_event_it_was_handed) {
  constexpr int rounds = 100;
  const HazardsScope hazards(Hazards::error);  // the waits are all there
  std::vector<std::promise<Handed>> handed(rounds);
  const bool is_right = on_threads(2, [&](int thread) {
    const Stream stream;
    const StreamGuard on(stream);
    for (int i = 0; i < rounds; ++i) {
      auto& slot = handed[static_cast<std::size_t>(i)];
      if (thread == 0) {
        Array array = filled(static_cast<float>(i), 1000);
        array += 1;
        slot.set_value({array, stream.record_event()});
        continue;
      }
      const Handed got = slot.get_future().get();
      stream.wait_event(got.event);
      if (!holds(got.array * 2, 2 * (i + 1))) return false;
    }
    return true;
  });
  BOOST_TEST(is_right);
}

BOOST_AUTO_TEST_CASE(a_thread_replays_what_another_captured) {
  constexpr int rounds = 30;
  for (const bool live : live_modes) {
    struct Program {
      Array input;
      Array output;
      GraphExec exec;
    };
    std::vector<std::promise<Program>> handed(rounds);
    const bool is_right = on_threads(2, [&](int thread) {
      const Stream stream;
      const StreamGuard on(stream);
      for (int i = 0; i < rounds; ++i) {
        auto& slot = handed[static_cast<std::size_t>(i)];
        if (thread == 0) {
          Array input = filled(static_cast<float>(i));
          auto [graph, output] = capture([&] { return input * 3; }, {.live = live});
          slot.set_value({input, output, graph.instantiate()});
          continue;
        }
        Program program = slot.get_future().get();
        program.input += 1;
        program.exec.replay();
        if (!holds(program.output, 3 * (i + 1))) return false;
      }
      return true;
    });
    BOOST_TEST(is_right);
  }
}

BOOST_AUTO_TEST_CASE(work_of_threads_that_have_ended_is_done) {
  std::vector<Array> results;
  for (int i = 0; i < 20; ++i) {
    results.push_back(on_another_thread([i] {
      const Stream stream;
      const StreamGuard on(stream);
      const Array slow = slowly(static_cast<float>(i), 2);
      const auto [graph, output] = capture([&] { return slow + 1; });
      graph.instantiate().replay();
      return output;
    }));
  }
  for (int i = 0; i < 20; ++i) BOOST_TEST(holds(results[static_cast<std::size_t>(i)], i + 1));
}

BOOST_AUTO_TEST_CASE(draws_of_several_threads_are_those_of_one_in_some_order) {
  constexpr int threads = 4;
  constexpr int draws = 25;
  using Values = std::vector<float>;
  manual_seed(3);
  std::vector<Values> expected;
  for (int i = 0; i < threads * draws; ++i) expected.push_back(rand({100}).to_vector<float>());
  const GeneratorState end = generator_state(current_device());
  for (const bool replayed : {false, true}) {
    const auto [graph, output] = capture([] { return rand({100}); });
    const GraphExec exec = graph.instantiate();
    std::vector<std::vector<Values>> drawn(threads);
    manual_seed(3);
    const bool is_right = on_threads(threads, [&, &output = output](int thread) {
      const Stream stream;
      const StreamGuard on(stream);
      for (int i = 0; i < draws; ++i) {
        if (!replayed || thread != 0) {
          drawn[static_cast<std::size_t>(thread)].push_back(rand({100}).to_vector<float>());
        } else {  // its output is its own
          exec.replay();
          drawn[0].push_back(output.to_vector<float>());
        }
      }
      return true;
    });
    BOOST_TEST(is_right);
    std::vector<Values> all;
    for (const auto& of_thread : drawn) all.insert(all.end(), of_thread.begin(), of_thread.end());
    std::sort(all.begin(), all.end());
    std::vector<Values> sorted = expected;
    std::sort(sorted.begin(), sorted.end());
    BOOST_TEST((all == sorted));
    BOOST_TEST((generator_state(current_device()) == end));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
