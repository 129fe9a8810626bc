#include "support_concurrency.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <latch>
#include <mutex>
#include <vector>

namespace refrain::test {

namespace {

constexpr auto patience = std::chrono::seconds(20);

}  // namespace

struct Gate::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
  bool gave_up = false;

  void wait() {
    std::unique_lock lock(mutex);
    gave_up = !changed.wait_for(lock, patience, [this] { return is_open; });
  }
};

Gate::Gate(const Stream& stream) : state_(std::make_shared<State>()) {
  stream.launch_host_func([state = state_] { state->wait(); });
}

bool Gate::open() {
  const std::lock_guard lock(state_->mutex);
  state_->is_open = true;
  state_->changed.notify_all();
  return !state_->gave_up;
}

bool eventually(const std::function<bool()>& condition, SourceLocation where) {
  const auto ask = [&] {
    const auto end = std::chrono::steady_clock::now() + patience / 2;
    do {
      synchronize();
      if (condition()) return true;
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    return false;
  };
  return without_deadlock(ask, where);
}

bool use_everything(bool waits) {
  const Stream stream;
  const Stream other;
  const StreamGuard on(stream);
  const auto calls = std::make_shared<std::atomic<int>>(0);
  Array x = filled(1) + 1;
  stream.launch_host_func([calls] { ++*calls; });
  other.wait_stream(stream);
  Event event;
  event.record(other);
  const auto [graph, product] = capture([&] {
    x += 1;
    current_stream().launch_host_func([calls] { ++*calls; });
    return x * 3;
  });
  graph.instantiate().replay();
  { const Array dropped = filled(0, 1000); }
  const bool is_counted = memory_stats(current_device()).live > 0 && diagnostics().size() <= 1000;
  if (!waits) return is_counted;
  event.synchronize();
  stream.synchronize();
  return is_counted && event.query() && holds(product, 9) && *calls == 2;
}

void require_in_time(bool is_ready, SourceLocation where) {
  if (is_ready) return;
  std::cerr << where.str() << ": error: not done after 20 s; somebody waits under a lock that others need" << std::endl;
  std::_Exit(EXIT_FAILURE);
}

std::ostream& operator<<(std::ostream& out, CaptureKind kind) {
  return out << (kind.by_stream ? "by stream" : "by thread") << (kind.live ? ", live" : "");
}

bool capture_and_replay(CaptureKind kind, int first) {
  const Stream origin;
  const Stream forked;
  const StreamGuard on(origin);
  Array x = filled(static_cast<float>(first));
  const auto [graph, y] = capture_as(kind, origin, [&] {
    x *= 2;
    x += 1;
    forked.wait_stream(origin);
    Array product;
    {
      const StreamGuard there(forked);
      product = x * 3;
    }
    origin.wait_stream(forked);
    return product;
  });
  if (graph.node_count() != 3) return false;
  const GraphExec exec = graph.instantiate();
  double expected = first;
  for (int i = 0; i < 5; ++i) {
    exec.replay();
    expected = 2 * expected + 1;
    if (!holds(y, 3 * expected)) return false;
  }
  return holds(x, expected);
}

bool on_threads(int count, const std::function<bool(int)>& fn) {
  std::latch start(count);
  std::vector<std::future<bool>> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      start.arrive_and_wait();
      return fn(i);
    }));
  }
  bool is_right = true;
  for (auto& each : all) is_right = each.get() && is_right;
  return is_right;
}

}  // namespace refrain::test
