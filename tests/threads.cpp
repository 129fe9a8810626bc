// Threads that capture, replay, allocate, drop and wait at the same time.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <atomic>
#include <optional>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// A thread that does `work(i)` for i = 0, 1, ... until it is asked to stop; at least once.
class Background {
 public:
  explicit Background(std::function<bool(int)> work)
      : result_(std::async(std::launch::async, [this, work = std::move(work)] {
          bool is_right = true;
          int i = 0;
          do is_right = work(i++) && is_right;
          while (!stop_);
          return is_right;
        })) {}
  ~Background() { stop_ = true; }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Stops it; whether all its work was right.
  bool stop() {
    stop_ = true;
    return result_.get();
  }

 private:
  std::atomic<bool> stop_{false};
  std::future<bool> result_;
};

/// What other threads do while captures are open.
bool allocate_and_free(int i) {
  const Array first = filled(1, 1 + i % 1000);
  const Array second = filled(2, 1 + (7 * i) % 5000);
  return first.size() == 1 + i % 1000 && holds(second, 2);
}

bool launch(int i) {
  const Stream stream;
  const StreamGuard on(stream);
  Array x = filled(static_cast<float>(i % 100), 256);
  for (int round = 0; round < 10; ++round) x += 1;
  return holds(x, i % 100 + 10);
}

bool ask(int) {
  const Stream stream;
  bench::empty(stream);
  const Event event = stream.record_event();
  while (!event.query() || !stream.query()) std::this_thread::yield();
  return !is_capturing() && memory_stats(current_device()).live >= 0;
}

bool wait_for_the_device(int) {
  const Stream stream;
  bench::empty(stream);
  synchronize();
  return stream.query();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(threads_capture_and_replay_at_once) {
  for (const CaptureKind kind : capture_kinds) {
    const bool is_right = on_threads(4, [&](int thread) {
      for (int round = 0; round < 30; ++round) {
        if (!capture_and_replay(kind, 10 * thread + round)) return false;
      }
      return true;
    });
    BOOST_TEST(is_right, kind);
  }
}

BOOST_AUTO_TEST_CASE(kinds_of_captures_do_not_meet_in_different_threads) {
  const bool is_right = on_threads(std::ssize(capture_kinds), [](int thread) {
    for (int round = 0; round < 30; ++round) {
      if (!capture_and_replay(capture_kinds[thread], round)) return false;
    }
    return true;
  });
  BOOST_TEST(is_right);
}

BOOST_AUTO_TEST_CASE(other_threads_do_all_else_while_captures_are_open, *label("conformance-48")) {
  const HazardsScope hazards(Hazards::ignore);
  for (const CaptureKind kind : capture_kinds) {
    BOOST_TEST_CONTEXT(kind) {
      Array counter = filled(0);
      const GraphExec counts = capture([&] { counter += 1; }).instantiate();
      std::atomic<int> replays{0};
      Background allocates(allocate_and_free);
      Background launches(launch);
      Background asks(ask);
      Background waits(wait_for_the_device);
      Background replaying([&](int) {
        const Stream stream;
        counts.replay(stream);
        ++replays;
        stream.synchronize();
        return true;
      });
      bool is_right = true;
      for (int round = 0; round < 30; ++round) is_right = capture_and_replay(kind, round) && is_right;
      BOOST_TEST(is_right);
      for (Background* other : {&allocates, &launches, &asks, &waits, &replaying}) BOOST_TEST(other->stop());
      BOOST_TEST(holds(counter, replays));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_capture_by_stream_passes_from_thread_to_thread) {
  for (const bool live : live_modes) {
    const Stream origin;
    const Stream forked;
    Array x = filled(1);
    synchronize();
    std::optional<Capture> open;
    Graph graph;
    GraphExec exec;
    on_another_thread([&] { open.emplace(origin, CaptureOptions{.live = live}); });
    on_another_thread([&] {
      const StreamGuard on(origin);
      x *= 2;
    });
    on_another_thread([&] {
      forked.wait_stream(origin);
      const StreamGuard on(forked);
      x += 1;
    });
    on_another_thread([&] { origin.wait_stream(forked); });
    on_another_thread([&] { graph = open->end(origin); });
    on_another_thread([&] { open.reset(); });
    on_another_thread([&] { exec = graph.instantiate(); });
    for (int i = 0; i < 3; ++i) on_another_thread([&] { exec.replay(); });
    BOOST_TEST((edges(graph) == Edges{{0, 1}}));
    BOOST_TEST(holds(x, 15));  // 3, 7, 15
  }
}

BOOST_AUTO_TEST_CASE(threads_issue_to_one_capture_by_stream_at_once) {
  constexpr int threads = 4;
  constexpr int rounds = 50;
  for (const bool live : live_modes) {
    const Stream origin;
    Array counter = filled(0);
    synchronize();
    Capture open(origin, {.live = live});
    const bool is_right = on_threads(threads, [&](int) {
      const StreamGuard on(origin);
      for (int i = 0; i < rounds; ++i) counter += 1;
      return is_capturing();
    });
    BOOST_TEST(is_right);
    const Graph graph = open.end();
    BOOST_TEST(graph.node_count() == threads * rounds);
    graph.instantiate().replay();
    BOOST_TEST(holds(counter, threads * rounds));
  }
}

BOOST_AUTO_TEST_CASE(threads_instantiate_and_replay_one_graph_at_once) {
  constexpr int threads = 4;
  constexpr int rounds = 25;
  const HazardsScope hazards(Hazards::ignore);
  for (const Mode mode : graph_modes) {
    Array counter = filled(0);
    const auto [graph, output] = capture(
        [&] {
          counter += 1;
          return (counter - counter) + 7;
        },
        capture_options(mode));
    const bool is_right = on_threads(threads, [&, &graph = graph, &output = output](int) {
      const Stream stream;
      for (int i = 0; i < rounds; ++i) {
        const GraphExec exec = graph.instantiate(instantiate_options(mode));
        exec.replay(stream);
        if (!holds(output, 7)) return false;
      }
      return true;
    });
    BOOST_TEST(is_right);
    BOOST_TEST(holds(counter, threads * rounds));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
