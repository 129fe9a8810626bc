// Graphed functions called from several threads, inside one another, and inside captures.

#include "support.hpp"
#include "support_concurrency.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

/// Runs `fn(number of the thread)` on so many threads at once; the first exception is handed back.
template <class Fn>
void on_threads(int count, Fn fn) {
  std::vector<std::future<void>> all;
  for (int i = 0; i < count; ++i) all.push_back(std::async(std::launch::async, [=] { fn(i); }));
  for (auto& each : all) each.get();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graphed_threads)

BOOST_AUTO_TEST_CASE(one_function_is_called_by_many_threads) {
  std::atomic<int> calls = 0;
  auto step = rf::graphed([&](const rf::Array& x, int factor) {
    ++calls;
    return x * factor + 1;
  });
  std::atomic<int> wrong = 0;
  on_threads(4, [&](int thread) {
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    for (int i = 0; i < 50; ++i) {
      const int factor = i % 2 == 0 ? 2 : 3 + thread;
      const rf::Array y = step(filled(static_cast<float>(i)), factor);
      if (!holds(y, i * factor + 1)) ++wrong;
    }
  });
  BOOST_TEST(wrong == 0);
  BOOST_TEST(calls == 5);
  BOOST_TEST(step.statistics().hits + step.statistics().recordings == 200);
}

BOOST_AUTO_TEST_CASE(a_function_may_call_another_and_itself) {
  auto inner = rf::graphed([](const rf::Array& x) { return x * 2; });
  auto outer = rf::graphed([&](const rf::Array& x) { return inner(x) + inner(x + 1); });
  for (int i = 0; i < 4; ++i) BOOST_TEST(holds(outer(filled(static_cast<float>(i))), 4 * i + 2));
  BOOST_TEST(outer.statistics().hits == 3);
  BOOST_TEST(inner.statistics().recordings == 0);  // a part of the other

  std::function<rf::Array(rf::Array, int)> again;
  auto self = rf::graphed([&](const rf::Array& x, int depth) { return depth == 0 ? x : again(x + 1, depth - 1); });
  again = [&](rf::Array x, int depth) { return self(x, depth); };
  for (int i = 0; i < 3; ++i) BOOST_TEST(holds(self(filled(static_cast<float>(i)), 3), i + 3));
  BOOST_TEST(self.statistics().hits == 2);
}

BOOST_AUTO_TEST_CASE(a_function_that_runs_eagerly_calls_others_as_ever) {
  auto inner = rf::graphed([](const rf::Array& x) { return x * 2; });
  auto outer = rf::graphed([&](const rf::Array& x) {
    const float value = x.to_vector<float>().front();
    return inner(x) + inner(x + value);
  });
  for (int i = 0; i < 4; ++i) BOOST_TEST(holds(outer(filled(static_cast<float>(i))), 6 * i));
  BOOST_TEST(inner.statistics().hits >= 6);
}

BOOST_AUTO_TEST_CASE(inside_a_capture_it_is_a_part_of_that) {
  int calls = 0;
  auto step = rf::graphed([&](const rf::Array& x) {
    ++calls;
    return x * 2 + 1;
  });
  const rf::Array x = filled(3);
  (void)step(x);
  for (const bool live : rf::test::live_modes) {
    auto [graph, y] = rf::capture([&] { return step(x) + 1; }, {.live = live});
    BOOST_TEST(graph.node_count() == 3);
    graph.instantiate().replay();
    BOOST_TEST(holds(y, 8));
  }
  const rf::Stream stream;
  auto [graph, y] = rf::capture(stream, [&] { return step(x) + 1; });
  BOOST_TEST(graph.node_count() == 3);
  graph.instantiate().replay();
  BOOST_TEST(holds(y, 8));
  BOOST_TEST(calls == 4);
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(other_threads_may_do_anything_meanwhile) {
  std::atomic<bool> is_over = false;
  std::thread noise([&] {
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    while (!is_over) {
      rf::Array x = filled(1, 100);
      x += 1;
      rf::synchronize();
      (void)stream.query();
    }
  });
  for (int round = 0; round < 10; ++round) {
    auto step = rf::graphed([](const rf::Array& x) { return rf::sum(x * 2) + x; });
    for (int i = 0; i < 5; ++i) BOOST_TEST(holds(step(filled(static_cast<float>(i))), 9 * i));
  }
  is_over = true;
  noise.join();
}

BOOST_AUTO_TEST_CASE(a_thread_waits_for_the_recording_of_another) {
  std::atomic<int> calls = 0;
  rf::Array weight = filled(1);
  auto step = rf::graphed([&](const rf::Array& x) {
                ++calls;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return x + weight;
              }).state(weight);
  std::atomic<int> wrong = 0;
  on_threads(3, [&](int thread) {
    if (!holds(step(filled(static_cast<float>(thread))), thread + 1)) ++wrong;
  });
  BOOST_TEST(wrong == 0);
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(arrays_of_the_capture_that_it_is_in_are_arguments_too) {
  auto step = rf::graphed([](const rf::Array& x) { return x * 2; });
  const rf::Array x = filled(3);
  const rf::Stream stream;
  auto [graph, y] = rf::capture(stream, [&] { return step(x + 1); });
  graph.instantiate().replay();
  BOOST_TEST(holds(y, 8));
  auto [other, z] = rf::capture([&] { return step(x + 2); });
  other.instantiate().replay();
  BOOST_TEST(holds(z, 10));
}

BOOST_AUTO_TEST_CASE(reports_may_be_asked_for_from_anywhere) {
  rf::Graphed<std::function<rf::Array(rf::Array)>>* self = nullptr;
  std::int64_t seen = -1;
  auto step = rf::graphed(std::function<rf::Array(rf::Array)>([&](rf::Array x) {
    seen = self->statistics().hits + static_cast<std::int64_t>(self->explain().size());
    require_error(rf::Errc::illegal_state, [&] { self->clear(); }, {"after the call"});
    return x + 1;
  }));
  self = &step;
  BOOST_TEST(holds(step(filled(1)), 2));
  BOOST_TEST(seen > 0);

  std::atomic<bool> is_asked = false;
  auto waiting = rf::graphed([&](const rf::Array& x) { return x + x.to_vector<float>().front(); });
  rf::current_stream().launch_host_func([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    is_asked = waiting.statistics().recordings == 0;
  });
  BOOST_TEST(holds(waiting(filled(2)), 4));
  rf::synchronize();
  BOOST_TEST(is_asked);
}

BOOST_AUTO_TEST_CASE(a_host_function_may_not_call_one) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  const rf::Array x = filled(1);
  std::string text;
  rf::current_stream().launch_host_func([&] {
    try {
      (void)step(x);
    } catch (const rf::Error& error) {
      text = error.what();
    }
  });
  rf::current_stream().synchronize();
  BOOST_TEST(text.find("not_permitted") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
