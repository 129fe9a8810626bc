// Functions that take long, and what other threads do meanwhile.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

#include <chrono>
#include <future>

namespace rf = refrain;
using rf::test::Mode;
using rf::test::without_deadlock;

namespace {

constexpr int size = 4;

__global__ void add(float* x, float value) { x[threadIdx.x] += value; }
__global__ void multiply(float* x, float factor) { x[threadIdx.x] *= factor; }

/// Calls a function on a stream that adds 1 and multiplies by 10, as one command; in between another thread issues
/// something. Whether that was over before the function was, which gives it so much time.
bool is_over_meanwhile(const rf::Stream& stream, rf::Array& x, const std::function<void()>& issue,
                       std::chrono::milliseconds patience) {
  return without_deadlock([&] {
    std::promise<void> begun;
    std::future<void> issued = std::async(std::launch::async, [&, begins = begun.get_future()]() mutable {
      begins.get();
      issue();
    });
    bool is_over = false;
    stream.enqueue("slow", rf::readwrite(x), [&](cudaStream_t native, float* to) {
      add<<<1, size, 0, native>>>(to, 1);
      begun.set_value();
      is_over = issued.wait_for(patience) == std::future_status::ready;
      multiply<<<1, size, 0, native>>>(to, 10);
    });
    issued.get();
    return is_over;
  });
}

bool waits_for_the_function(const rf::Stream& stream, rf::Array& x, const std::function<void()>& issue) {
  return !is_over_meanwhile(stream, x, issue, std::chrono::milliseconds(200));
}

bool goes_on(const rf::Stream& stream, rf::Array& x, const std::function<void()>& issue) {
  return is_over_meanwhile(stream, x, issue, std::chrono::seconds(15));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue_threads, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(other_threads_use_everything_while_a_function_runs) {
  BOOST_TEST(rf::test::use_everything());
  for (const Mode mode : rf::test::all_modes) {
    rf::Array x = rf::zeros({size});
    const bool is_right = without_deadlock([&] {
      bool is_fine = false;
      rf::test::run_as(mode, [&] {
        rf::current_stream().enqueue("slow", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
          add<<<1, size, 0, stream>>>(to, 1);
          is_fine = rf::test::on_another_thread([] { return rf::test::use_everything(); });
          add<<<1, size, 0, stream>>>(to, 2);
        });
        return rf::Array();
      });
      return is_fine && rf::test::holds(x, 3);
    });
    BOOST_TEST(is_right, mode);
  }
}

BOOST_AUTO_TEST_CASE(work_that_touches_the_same_waits_for_a_function_that_is_under_way) {
  const rf::Stream slow;
  const rf::Stream other;
  rf::Array x = rf::zeros({size});
  const rf::GraphExec exec = rf::capture([&] { x += 5; }).instantiate();
  const std::pair<const char*, std::function<void()>> works[] = {
      {"an op",
       [&] {
         const rf::StreamGuard on(other);
         x += 5;
       }},
      {"a function",
       [&] {
         other.enqueue("mine", rf::readwrite(x),
                       [](cudaStream_t stream, float* to) { add<<<1, size, 0, stream>>>(to, 5); });
       }},
      {"a launch", [&] { other.launch({.grid = 1, .block = size}, add, x, 5.0F); }},
      {"a replay", [&] { exec.replay(other); }},
  };
  for (const auto& [name, issue] : works) {
    x.assign(0);
    BOOST_TEST(waits_for_the_function(slow, x, issue), name);
    BOOST_TEST(rf::test::holds(x, 15), name);
  }
}

BOOST_AUTO_TEST_CASE(a_host_read_waits_for_a_function_that_is_under_way) {
  const rf::Stream slow;
  rf::Array x = rf::zeros({size});
  float seen = 0;
  BOOST_TEST(waits_for_the_function(slow, x, [&] { seen = x.to_vector<float>()[0]; }));
  BOOST_TEST(seen == 10);
}

BOOST_AUTO_TEST_CASE(work_on_the_same_stream_waits_for_a_function_that_is_under_way) {
  const rf::Stream slow;
  rf::Array x = rf::zeros({size});
  rf::Array y = rf::zeros({size});
  const auto issue = [&] {
    const rf::StreamGuard on(slow);
    y += 5;
  };
  BOOST_TEST(waits_for_the_function(slow, x, issue));
  BOOST_TEST(rf::test::holds(x, 10));
  BOOST_TEST(rf::test::holds(y, 5));
}

BOOST_AUTO_TEST_CASE(work_that_touches_something_else_goes_on) {
  const rf::Stream slow;
  const rf::Stream other;
  rf::Array x = rf::zeros({size});
  rf::Array y = rf::zeros({size});
  const rf::GraphExec exec = rf::capture([&] { y += 5; }).instantiate();
  const std::function<void()> works[] = {
      [&] {
        const rf::StreamGuard on(other);
        y += 5;
        BOOST_TEST(y.to_vector<float>()[0] == 5);
      },
      [&] {
        other.enqueue("mine", rf::readwrite(y),
                      [](cudaStream_t stream, float* to) { add<<<1, size, 0, stream>>>(to, 5); });
        other.synchronize();
      },
      [&] {
        exec.replay(other);
        other.synchronize();
      },
      [&] {
        other.enqueue("silent", [](cudaStream_t) {});
        y += 5;
      },
  };
  for (const auto& issue : works) {
    x.assign(0);
    y.assign(0);
    rf::synchronize();
    BOOST_TEST(goes_on(slow, x, issue));
    BOOST_TEST(rf::test::holds(x, 10));
    BOOST_TEST(rf::test::holds(y, 5));
  }
}

BOOST_AUTO_TEST_CASE(readers_of_the_same_array_do_not_wait_for_each_other) {
  const rf::Stream slow;
  const rf::Stream other;
  const rf::Array x = rf::full({size}, 3);
  rf::synchronize();
  const bool is_right = without_deadlock([&] {
    float seen = 0;
    slow.enqueue("slow", rf::read(x), [&](cudaStream_t, const float*) {
      seen = rf::test::on_another_thread([&] {
        const rf::StreamGuard on(other);
        return (x + 1).to_vector<float>()[0];
      });
    });
    return seen == 4;
  });
  BOOST_TEST(is_right);
}

BOOST_AUTO_TEST_CASE(a_capture_ends_after_a_function_that_another_thread_calls_for_it) {
  for (const bool live : rf::test::live_modes) {
    const rf::Stream origin;
    rf::Array x = rf::zeros({size});
    origin.wait_stream(rf::current_stream());
    rf::Capture capture(origin, {.live = live});
    const bool ends_meanwhile = without_deadlock([&] {
      std::promise<void> begun;
      std::promise<void> over;
      std::future<void> called = std::async(std::launch::async, [&] {
        origin.enqueue("slow", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
          add<<<1, size, 0, stream>>>(to, 1);
          begun.set_value();
          over.get_future().wait_for(std::chrono::milliseconds(live ? 200 : 20'000));
          add<<<1, size, 0, stream>>>(to, 2);
        });
      });
      begun.get_future().get();
      if (live) {
        const rf::Graph graph = capture.end();  // waits
        called.get();
        graph.instantiate().replay();
        return false;
      }
      // Held back, the function has a stream of its own, and its command comes too late.
      const rf::Graph graph = capture.end();
      over.set_value();
      rf::test::require_error(rf::Errc::illegal_state, [&] { called.get(); }, {"[slow]", "enqueue_threads.cu:"});
      return graph.node_count() == 0;
    });
    BOOST_TEST(ends_meanwhile == !live);
    BOOST_TEST(rf::test::holds(x, live ? 3 : 0));
  }
}

BOOST_AUTO_TEST_CASE(a_live_capture_takes_other_threads_commands_after_the_function) {
  const rf::Stream origin;
  const rf::Stream side;
  rf::Array x = rf::zeros({size});
  rf::Array y = rf::zeros({size});
  const rf::GraphExec exec = rf::capture([&] { y += 5; }).instantiate();
  const std::pair<const char*, std::function<void()>> works[] = {
      {"an op",
       [&] {
         const rf::StreamGuard on(side);
         y += 5;
       }},
      {"a function",
       [&] {
         side.enqueue("mine", rf::readwrite(y),
                      [](cudaStream_t stream, float* to) { add<<<1, size, 0, stream>>>(to, 5); });
       }},
      {"a replay", [&] { exec.replay(side); }},
  };
  for (const auto& [name, issue] : works) {
    x.assign(0);
    y.assign(0);
    rf::synchronize();
    rf::Capture capture(origin, {.live = true, .join_all = true});
    side.wait_stream(origin);
    BOOST_TEST(waits_for_the_function(origin, x, issue), name);
    {
      const rf::StreamGuard on(origin);
      y *= 2;  // nothing orders it after the other thread's
    }
    const rf::Graph graph = capture.end();
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 2}, {1, 2}}), name);
    const std::set<std::pair<int, int>> expected{{0, 1}, {1, 3}, {2, 3}};
    BOOST_TEST((read_graph(graph.native()).edges == expected), name);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(x, 10), name);
    BOOST_TEST(rf::test::holds(y, 10), name);
  }
}

BOOST_AUTO_TEST_CASE(threads_call_functions_into_captures_of_their_own_at_once) {
  for (const Mode mode : rf::test::all_modes) {
    const bool is_right = without_deadlock([&] {
      return rf::test::on_threads(8, [&](int i) {
        const rf::Stream stream;
        const rf::StreamGuard on(stream);
        for (int round = 0; round < 5; ++round) {
          rf::Array x = rf::full({size}, i);
          const rf::Array y = rf::test::run_as(mode, [&] {
            x += round;
            rf::current_stream().enqueue("mine", rf::readwrite(x), [](cudaStream_t native, float* to) {
              add<<<1, size, 0, native>>>(to, 1);
              multiply<<<1, size, 0, native>>>(to, 2);
            });
            return x + 1;
          });
          if (!rf::test::holds(y, 2 * (i + round + 1) + 1)) return false;
        }
        return true;
      });
    });
    BOOST_TEST(is_right, mode);
  }
}

BOOST_AUTO_TEST_CASE(threads_call_functions_that_touch_the_same_one_after_another) {
  rf::Array x = rf::zeros({size});
  constexpr int threads = 8;
  constexpr int rounds = 50;
  const bool is_right = without_deadlock([&] {
    return rf::test::on_threads(threads, [&](int) {
      const rf::Stream stream;
      for (int round = 0; round < rounds; ++round) {
        stream.enqueue("mine", rf::readwrite(x), [](cudaStream_t native, float* to) {
          multiply<<<1, size, 0, native>>>(to, 2);  // is taken back by the second half
          add<<<1, size, 0, native>>>(to, 2);
          multiply<<<1, size, 0, native>>>(to, 0.5F);
        });
      }
      return true;
    });
  });
  BOOST_TEST(is_right);
  BOOST_TEST(rf::test::holds(x, threads * rounds));
}

BOOST_AUTO_TEST_SUITE_END()
