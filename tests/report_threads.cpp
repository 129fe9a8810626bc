// What other threads do while one captures: poll events, synchronise the device, copy from host memory.

#include "support.hpp"
#include "support_scopes.hpp"

#include <atomic>

using boost::unit_test::label;
namespace rf = refrain;
using rf::test::holds;
using rf::test::record;
using rf::test::Scope;
using rf::test::scopes;

namespace {

/// Calls `fn` on another thread, again and again, until it is stopped.
class Loop {
 public:
  explicit Loop(std::function<void()> fn)
      : done_(std::async(std::launch::async, [this, call = std::move(fn)] {
          do {
            call();
            ++rounds_;
          } while (!stop_);
        })) {}
  ~Loop() { stop_ = true; }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Throws what `fn` threw; returns how often it was called.
  int stop() {
    stop_ = true;
    done_.get();
    return rounds_;
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0};
  std::future<void> done_;
};

/// Work on a stream of its own, whose end events and flags both tell.
class Watched {
 public:
  explicit Watched(std::size_t parts) : done_(parts) {
    for (std::atomic<bool>& flag : done_) {
      rf::test::keep_busy(stream_, 2);
      stream_.launch_host_func([&flag] { flag = true; });
      events_.push_back(stream_.record_event());
    }
  }
  ~Watched() { stream_.synchronize(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Asks everything once. True when every answer was the truth: done is done, and stays so.
  bool poll() {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const bool says_done = events_[i].query();
      if (says_done && !done_[i]) return false;
      if (was_done_[i] && !says_done) return false;
      was_done_[i] = says_done;
      if (stream_.query() && !done_[i]) return false;
    }
    return true;
  }

  bool is_done() const {
    stream_.synchronize();
    for (const rf::Event& event : events_) {
      if (!event.query()) return false;
    }
    return true;
  }

 private:
  rf::Stream stream_;
  std::vector<std::atomic<bool>> done_;
  std::vector<rf::Event> events_;
  std::vector<bool> was_done_ = std::vector<bool>(done_.size());
};

/// Captures, replays, works eagerly, synchronises the device and allocates, and keeps count of what goes wrong.
int work_in_rounds(std::size_t thread, int rounds) {
  const rf::Stream stream;
  rf::Array x = rf::zeros({1000});
  stream.wait_stream(rf::current_stream());
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const Scope scope = scopes.begin()[(static_cast<std::size_t>(round) + thread) % scopes.size()];
    const rf::Graph graph = record(scope, stream, [&] {
      const rf::Array one = rf::zeros({1000}) + 1;
      try {
        rf::synchronize();
        ++wrong;
      } catch (const rf::Error& error) {  // in this thread, and in this thread alone
        if (error.code() != rf::Errc::capture_unsupported) ++wrong;
      }
      x += one;
    });
    if (graph.node_count() != 3) ++wrong;
    graph.instantiate().replay(stream);
    {
      const rf::StreamGuard on(stream);
      const rf::Array temporary = rf::test::filled(3, 1 + 100 * (round % 10)) + 1;
      x += 1;
      if (!holds(temporary, 4)) ++wrong;
    }
    rf::synchronize();
    if (!holds(x, 2 * (round + 1))) ++wrong;
  }
  return wrong;
}

/// Copies host memory of two sizes to the device, back again, and compares.
class Loader {
 public:
  void load() {
    const rf::StreamGuard on(stream_);
    for (const std::int64_t size : {std::int64_t{100}, std::int64_t{300000}}) {
      const auto value = static_cast<float>(++loads_ % 1000);
      std::vector<float> values(static_cast<std::size_t>(size), value);
      const rf::Array copied = rf::from_host(values, {size});
      values.assign(values.size(), -1);
      if (!holds(copied, value)) ++wrong_;
    }
  }
  int wrong() const noexcept { return wrong_; }

 private:
  rf::Stream stream_;
  int loads_ = 0;
  int wrong_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(report_threads)

BOOST_AUTO_TEST_CASE(a_thread_polls_events_while_another_captures, *label("report-24")) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream stream;
      rf::Array x = rf::zeros({16});
      rf::synchronize();
      Watched watched(20);
      std::atomic<int> lies{0};
      Loop monitor([&] { lies += watched.poll() ? 0 : 1; });
      for (int i = 0; i < 200; ++i) {
        const rf::Graph graph = record(scope, stream, [&] {
          x += 1;
          x += 1;
        });
        BOOST_TEST(graph.node_count() == 2);
        graph.instantiate().replay(stream);
      }
      BOOST_TEST(holds(x, 400));
      BOOST_TEST(monitor.stop() > 0);
      BOOST_TEST(lies == 0);
      BOOST_TEST(watched.is_done());
    }
  }
}

BOOST_AUTO_TEST_CASE(threads_capture_replay_and_synchronise_the_device_at_once, *label("report-25")) {
  constexpr std::size_t threads = 4;
  constexpr int rounds = 200;
  std::vector<std::future<int>> all;
  for (std::size_t i = 0; i < threads; ++i) {
    all.push_back(std::async(std::launch::async, [i] { return work_in_rounds(i, rounds); }));
  }
  for (std::future<int>& wrong : all) BOOST_TEST(wrong.get() == 0);
}

BOOST_AUTO_TEST_CASE(a_thread_loads_host_memory_while_another_captures, *label("report-26")) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream stream;
      rf::Array x = rf::zeros({16});
      rf::synchronize();
      Loader loader;
      Loop loads([&] { loader.load(); });
      for (int i = 0; i < 100; ++i) {
        const rf::Graph graph = record(scope, stream, [&] {
          const rf::Array temporary = x + 1;
          x.assign(temporary);
        });
        BOOST_TEST((rf::test::labels(graph) == std::vector<std::string>{"add", "assign"}));
        graph.instantiate().replay(stream);
      }
      BOOST_TEST(holds(x, 100));
      BOOST_TEST(loads.stop() > 0);
      BOOST_TEST(loader.wrong() == 0);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
