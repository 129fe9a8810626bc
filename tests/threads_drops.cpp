// What one thread drops while others capture, instantiate and replay.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <atomic>
#include <memory>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(threads_drops)

BOOST_AUTO_TEST_CASE(ten_thousand_objects_go_on_another_thread_during_captures) {
  constexpr int count = 10'000;
  for (const CaptureKind kind : capture_kinds) {
    BOOST_TEST_CONTEXT(kind) {
      synchronize();
      const std::int64_t live = memory_stats(current_device()).live;
      std::vector<Array> arrays;
      std::vector<Event> events;
      std::vector<GraphExec> graphs;
      for (int i = 0; i < count; ++i) arrays.push_back(filled(static_cast<float>(i), 1 + i % 100));
      for (int i = 0; i < count / 10; ++i) events.push_back(current_stream().record_event());
      for (int i = 0; i < count / 100; ++i) {
        graphs.push_back(capture([&] { return arrays[static_cast<std::size_t>(i)] + 1; }).first.instantiate());
        graphs.back().replay();
      }
      std::atomic<bool> done{false};
      auto dropped = std::async(std::launch::async, [&] {
        while (!arrays.empty()) {
          if (arrays.size() % 10 == 0 && !events.empty()) events.pop_back();
          if (arrays.size() % 100 == 0 && !graphs.empty()) graphs.pop_back();
          arrays.pop_back();
        }
        events.clear();
        graphs.clear();
        done = true;
      });
      bool is_right = true;
      for (int round = 0; round < 10 || !done; ++round) is_right = capture_and_replay(kind, round % 100) && is_right;
      BOOST_TEST(is_right);
      dropped.get();
      BOOST_TEST(eventually([&] { return memory_stats(current_device()).live == live; }));
    }
  }
}

BOOST_AUTO_TEST_CASE(captures_are_discarded_in_some_threads_and_end_in_others) {
  struct Own {};
  for (const bool live : live_modes) {
    const bool is_right = on_threads(4, [&](int thread) {
      for (int round = 0; round < 30; ++round) {
        if (thread % 2 == 0) {
          if (!capture_and_replay({round % 2 == 0, live}, round)) return false;
          continue;
        }
        const Stream stream;
        const StreamGuard on(stream);
        Array x = filled(1);
        try {
          capture(
              [&] {
                x += 1;
                throw Own{};
              },
              {.live = live});
          return false;
        } catch (const Own&) {
        }
        x += 3;
        if (!holds(x, 4)) return false;
      }
      return true;
    });
    BOOST_TEST(is_right);
  }
}

BOOST_AUTO_TEST_CASE(the_origin_goes_while_its_capture_ends) {
  constexpr int rounds = 200;
  for (const bool live : live_modes) {
    Array counter = filled(0);
    synchronize();
    int ended = 0;
    for (int i = 0; i < rounds; ++i) {
      auto origin = std::make_unique<Stream>();
      Capture open(*origin, {.live = live});
      {
        const StreamGuard on(*origin);
        counter += 1;
      }
      const bool is_fine = on_threads(2, [&](int thread) {
        if (thread == 1) {
          origin.reset();
          return true;
        }
        try {
          open.end().instantiate().replay();
          ++ended;
          return true;
        } catch (const Error& error) {
          return error.code() == Errc::illegal_state;  // the other thread was first
        }
      });
      if (!is_fine) BOOST_ERROR("another error than illegal_state");
    }
    BOOST_TEST(holds(counter, ended));
  }
}

BOOST_AUTO_TEST_CASE(outputs_go_while_their_graph_is_instantiated_and_replayed) {
  constexpr int rounds = 100;
  for (const Mode mode : graph_modes) {
    synchronize();
    const std::int64_t live = memory_stats(current_device()).live;
    for (int i = 0; i < rounds; ++i) {
      Array counter = filled(0);
      auto [graph, outputs] = capture(
          [&] {
            std::vector<Array> made;
            for (int k = 0; k < 3; ++k) made.push_back(counter + k);
            counter += made[0] * 0 + made[1] * 0 + made[2] * 0 + 1;
            return made;
          },
          capture_options(mode));
      const bool is_right = on_threads(3, [&, &graph = graph, &outputs = outputs](int thread) {
        if (thread == 0) {
          outputs.clear();
        } else {
          graph.instantiate(instantiate_options(mode)).replay();
        }
        return true;
      });
      BOOST_TEST(is_right);
      if (!holds(counter, 2)) BOOST_ERROR("counted wrong");
    }
    BOOST_TEST(eventually([&] { return memory_stats(current_device()).live == live; }));
  }
}

BOOST_AUTO_TEST_CASE(an_executable_goes_in_one_thread_while_others_replay_it) {
  constexpr int rounds = 100;
  const HazardsScope hazards(Hazards::ignore);
  for (const Mode mode : graph_modes) {
    Array counter = filled(0);
    for (int i = 0; i < rounds; ++i) {
      std::vector<GraphExec> handles(3);
      handles[0] = capture([&] { counter += 1; }, capture_options(mode)).instantiate(instantiate_options(mode));
      handles[1] = handles[2] = handles[0];
      on_threads(3, [&](int thread) {
        GraphExec& exec = handles[static_cast<std::size_t>(thread)];
        if (thread != 0) exec.replay(Stream());
        exec = {};
        return true;
      });
    }
    BOOST_TEST(holds(counter, 2 * rounds));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
