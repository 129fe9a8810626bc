#include "host/scheduler.hpp"

#include "host/support_queues.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using refrain::test::NoWorkers;
using refrain::test::Queue;

namespace {

std::vector<int> up_to(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_scheduler)

// One stream

BOOST_AUTO_TEST_CASE(tasks_run_in_order) {
  Queue queue;
  std::vector<int> seen;
  for (int i = 0; i < 20'000; ++i) queue.run([&seen, i] { seen.push_back(i); });
  queue.synchronize();
  BOOST_TEST((seen == up_to(20'000)));
}

BOOST_AUTO_TEST_CASE(positions_go_on_from_where_the_stream_began) {
  Queue queue(41);
  queue.run([] {});
  queue.synchronize();
  BOOST_TEST(queue.stream().reached(42));
}

BOOST_AUTO_TEST_CASE(workers_run_what_nobody_waits_for) {
  Queue queue;
  int run = 0;
  for (int round = 1; round <= 200; ++round) {
    queue.run([&] { ++run; });
    queue.leave_to_workers();
    BOOST_TEST(run == round);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_for_the_middle_leaves_the_rest_to_the_workers) {
  for (int round = 0; round < 100; ++round) {
    Queue queue;
    std::atomic<int> run{0};
    for (int i = 0; i < 100; ++i) queue.run([&] { ++run; });
    queue.stream().wait(50);
    BOOST_TEST(run.load() >= 50);
    queue.leave_to_workers();
    BOOST_TEST(run.load() == 100);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_with_an_end_gives_up) {
  Queue queue;
  std::latch gate(1);
  queue.run([&] { gate.wait(); });
  BOOST_TEST(!queue.stream().wait_until(1, std::chrono::steady_clock::now()));
  gate.count_down();
  BOOST_TEST(queue.stream().wait_until(1, std::chrono::steady_clock::time_point::max()));
}

// Streams that wait for each other

BOOST_AUTO_TEST_CASE(a_long_chain_runs_from_its_beginning) {
  constexpr int length = 1000;
  std::vector<Queue> chain(length);
  std::vector<int> seen;
  for (int i = length - 1; i > 0; --i) {  // the last first, so that each finds nothing to go on with
    Queue& queue = chain[static_cast<std::size_t>(i)];
    queue.wait_for(chain[static_cast<std::size_t>(i - 1)], i == 1 ? 1 : 2);
    queue.run([&seen, i] { seen.push_back(i); });
  }
  chain.front().run([&seen] { seen.push_back(0); });
  chain.back().synchronize();
  BOOST_TEST((seen == up_to(length)));
}

BOOST_AUTO_TEST_CASE(a_chain_runs_without_a_waiting_thread) {
  constexpr int length = 1000;
  std::vector<Queue> chain(length);
  std::vector<int> seen;
  std::latch gate(1);
  chain.front().run([&] { gate.wait(); });
  for (int i = 0; i < length; ++i) {
    Queue& queue = chain[static_cast<std::size_t>(i)];
    if (i > 0) queue.wait_for(chain[static_cast<std::size_t>(i - 1)]);
    queue.run([&seen, i] { seen.push_back(i); });
  }
  gate.count_down();
  chain.back().leave_to_workers();
  BOOST_TEST((seen == up_to(length)));
}

BOOST_AUTO_TEST_CASE(diamonds_finish_with_both_sides_done) {
  Queue top;
  Queue left;
  Queue right;
  int a = 0;
  int b = 0;
  bool ok = true;
  for (int i = 1; i <= 2000; ++i) {
    left.wait_for(top);
    right.wait_for(top);
    left.run([&a] { ++a; });
    right.run([&b] { ++b; });
    top.wait_for(left);
    top.wait_for(right);
    top.run([&, i] { ok = ok && a == i && b == i; });
  }
  top.synchronize();
  BOOST_TEST(ok);
}

BOOST_AUTO_TEST_CASE(many_streams_wait_for_one) {
  Queue source;
  std::latch gate(1);
  bool is_set = false;
  source.run([&] {
    gate.wait();
    is_set = true;
  });
  std::vector<Queue> waiters(200);
  std::atomic<int> seen{0};
  for (Queue& waiter : waiters) {
    waiter.wait_for(source);
    waiter.run([&] { seen += is_set; });
  }
  gate.count_down();
  for (const Queue& waiter : waiters) waiter.synchronize();
  BOOST_TEST(seen == 200);
}

BOOST_AUTO_TEST_CASE(random_waits_issued_by_several_threads_finish) {
  constexpr std::size_t streams = 12;
  std::array<std::vector<Queue>, 3> all;
  std::atomic<int> run{0};
  std::vector<std::thread> threads;
  for (auto& queues : all) {
    queues.resize(streams);
    threads.emplace_back([&run, &queues, seed = threads.size()] {
      std::mt19937 random(static_cast<unsigned>(seed));
      for (int i = 0; i < 5000; ++i) {
        Queue& queue = queues[random() % streams];
        queue.wait_for(queues[random() % streams]);
        queue.run([&run] { ++run; });
        if (i % 500 == 0) queues[random() % streams].synchronize();
      }
      for (const Queue& queue : queues) queue.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(run == 15'000);
}

// Threads that wait

BOOST_AUTO_TEST_CASE(a_waiting_thread_runs_the_stream_it_waits_for) {
  const NoWorkers none;
  Queue queue;
  std::thread::id ran_in;
  queue.run([&] { ran_in = std::this_thread::get_id(); });
  queue.synchronize();
  BOOST_TEST((ran_in == std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(a_waiting_thread_runs_what_its_stream_waits_for) {
  const NoWorkers none;
  std::vector<Queue> chain(100);
  int run = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i > 0) chain[i].wait_for(chain[i - 1]);
    chain[i].run([&run] { ++run; });
  }
  chain.back().synchronize();
  BOOST_TEST(run == 100);
}

BOOST_AUTO_TEST_CASE(a_waiting_thread_runs_no_more_than_it_waits_for) {
  const NoWorkers none;
  Queue queue;
  int run = 0;
  for (int i = 0; i < 10; ++i) queue.run([&run] { ++run; });
  queue.stream().wait(4);
  BOOST_TEST(run == 4);
  queue.synchronize();
  BOOST_TEST(run == 10);
}

BOOST_AUTO_TEST_CASE(many_threads_wait_for_one_stream) {
  Queue queue;
  std::latch gate(1);
  bool is_set = false;
  queue.run([&] { gate.wait(); });
  queue.run([&] { is_set = true; });
  std::atomic<int> seen{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      queue.synchronize();
      seen += is_set;
    });
  }
  gate.count_down();
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(seen == 16);
}

// Fairness

BOOST_AUTO_TEST_CASE(a_stream_that_is_fed_all_the_time_does_not_starve_another) {
  Queue fed;
  for (int round = 0; round < 50; ++round) {
    Queue other;
    std::atomic<bool> done{false};
    other.run([&] { done = true; });
    while (!done) fed.run([] {});
    other.synchronize();
    BOOST_TEST(done.load());
  }
  fed.synchronize();
}

BOOST_AUTO_TEST_SUITE_END()
