#include "host/crew.hpp"

#include "host/support_queues.hpp"
#include "kernels/split.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using refrain::host::Crew;
using refrain::host::Scheduler;
using refrain::kernels::Split;
using refrain::test::NoWorkers;
using refrain::test::Queue;

namespace {

/// part(number) for each part.
template <class Part>
void run(std::int64_t parts, Part part) {
  Crew::get().run(
      parts, [](void* context, refrain::kernels::i64 number) { (*static_cast<Part*>(context))(number); }, &part);
}

/// How often each part ran.
class Counts {
 public:
  explicit Counts(std::int64_t parts) : of_(static_cast<std::size_t>(parts)) {}
  void add(std::int64_t part) { ++of_[static_cast<std::size_t>(part)]; }
  bool are_all(int count) const {
    for (const std::atomic<int>& each : of_) {
      if (each != count) return false;
    }
    return true;
  }

 private:
  std::vector<std::atomic<int>> of_;
};

/// A few microseconds of work.
void work() {
  volatile int x = 0;
  for (int i = 0; i < 1000; ++i) x = x + i;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_crew)

BOOST_AUTO_TEST_CASE(each_part_runs_once) {
  for (const std::int64_t parts : {1, 2, 3, 7, 64, 65, 1000, 10'000}) {
    Counts counts(parts);
    run(parts, [&](std::int64_t part) { counts.add(part); });
    BOOST_TEST(counts.are_all(1), parts << " parts");
  }
}

BOOST_AUTO_TEST_CASE(idle_workers_take_part) {
  if (Crew::get().size() == 1) return;
  const auto caller = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<bool> has_come{false};
  run(1000, [&](std::int64_t) {
    if (std::this_thread::get_id() != caller) has_come = true;
    while (!has_come && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  BOOST_TEST(has_come.load());
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_takes_part) {
  if (Crew::get().size() == 1) return;
  const auto waiter = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<bool> has_come{false};
  Queue queue;
  // Now and then the workers are quicker, or this thread sleeps, or runs the task itself.
  while (!has_come && std::chrono::steady_clock::now() < end) {
    queue.run([&] {
      if (std::this_thread::get_id() == waiter) return;
      run(19, [&](std::int64_t) {  // too short for sleeping threads to be woken for
        if (std::this_thread::get_id() == waiter) has_come = true;
        work();
      });
    });
    queue.synchronize();
  }
  BOOST_TEST(has_come.load());
}

BOOST_AUTO_TEST_CASE(nobody_is_waited_for_who_has_not_come) {
  const NoWorkers none;
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> was_alone{true};
  run(100, [&](std::int64_t) {
    if (std::this_thread::get_id() != caller) was_alone = false;
  });
  BOOST_TEST(was_alone.load());
}

BOOST_AUTO_TEST_CASE(what_a_part_throws_is_thrown_when_all_have_ended) {
  int fewest = 1000;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> inside{0};
    std::atomic<int> begun{0};
    std::string caught;
    try {
      run(1000, [&](std::int64_t) {
        ++inside;
        work();
        const bool fails = ++begun == 5;
        --inside;
        if (fails) throw std::runtime_error("the fifth");
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    BOOST_TEST(inside == 0);
    BOOST_TEST(caught == "the fifth");
    fewest = std::min(fewest, begun.load());
  }
  // No more parts are begun, as far as the threads have heard of it: with many of them all may have been before.
  BOOST_TEST(fewest < 1000);
}

BOOST_AUTO_TEST_CASE(many_threads_share_their_work_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&wrong, i] {
      for (int round = 0; round < 300; ++round) {
        const std::int64_t parts = 2 + (round + i) % 40;
        Counts counts(parts);
        run(parts, [&](std::int64_t part) {
          work();
          counts.add(part);
        });
        wrong += !counts.are_all(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(tasks_of_many_streams_share_their_work) {
  constexpr int rounds = 200;
  std::vector<Queue> queues(12);
  std::atomic<int> wrong{0};
  for (int round = 0; round < rounds; ++round) {
    for (Queue& queue : queues) {
      queue.run([&wrong] {
        Counts counts(30);
        run(30, [&](std::int64_t part) {
          work();
          counts.add(part);
        });
        wrong += !counts.are_all(1);
      });
    }
  }
  for (const Queue& queue : queues) queue.synchronize();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_helper_goes_when_its_own_stream_has_work) {
  Queue long_one;
  std::atomic<bool> may_end{false};
  long_one.run([&] {
    run(1'000'000, [&](std::int64_t) {
      if (!may_end) work();
    });
  });
  for (int i = 0; i < 20; ++i) {
    Queue other;
    std::atomic<bool> done{false};
    other.run([&] { done = true; });
    other.leave_to_workers();  // this thread must not do it for them
    BOOST_TEST(done.load());
  }
  may_end = true;
  long_one.synchronize();
}

// Split

BOOST_AUTO_TEST_CASE(ranges_make_up_the_whole_and_begin_at_steps) {
  for (const long long count : {1, 7, 64, 65, 1000, 4097}) {
    for (const long long step : {1, 16, 64}) {
      for (const long long parts : {1, 2, 3, 50}) {
        Counts counts(count);
        std::atomic<bool> is_at_steps{true};
        Split(parts, refrain::host::run_parts)(count, step, [&](long long begin, long long end) {
          if (begin % step != 0 || begin >= end) is_at_steps = false;
          for (long long i = begin; i < end; ++i) counts.add(i);
        });
        BOOST_TEST(counts.are_all(1), count << " by " << step << " in " << parts);
        BOOST_TEST(is_at_steps.load());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
