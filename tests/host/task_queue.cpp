#include "host/task_queue.hpp"

#include "host/scheduler.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

using refrain::host::HostStream;
using refrain::host::TaskQueue;

namespace {

/// A queue with a stream to hand to its tasks.
struct Fixture {
  TaskQueue queue;
  HostStream stream{0};
  std::vector<int> seen;

  void push(int number) {
    queue.push([this, number](HostStream&) {
      seen.push_back(number);
      return true;
    });
  }
  bool run() { return queue.run_front(stream); }
  bool run(int count) {
    while (count-- > 0) {
      if (!run()) return false;
    }
    return true;
  }
  bool saw_all_up_to(int count) const {
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    return seen == expected;
  }
};

/// A task of so many bytes that finds them as it left them.
template <std::size_t bytes>
struct Filled {
  Filled(std::vector<int>& seen, int number) : seen(&seen), number(number) {
    filling.fill(static_cast<unsigned char>(number));
  }
  bool operator()(HostStream&) const {
    const auto expected = static_cast<unsigned char>(number);
    const bool whole =
        std::all_of(filling.begin(), filling.end(), [=](unsigned char byte) { return byte == expected; });
    seen->push_back(whole ? number : -1);
    return true;
  }

  std::vector<int>* seen;
  int number;
  std::array<unsigned char, bytes - sizeof(std::vector<int>*) - sizeof(int)> filling;
};

constexpr std::size_t largest = 32 * 1024 - 16;  // fills a chunk, with its header

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_task_queue, Fixture)

BOOST_AUTO_TEST_CASE(order_is_kept_over_many_chunks) {
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) push(i);
  BOOST_TEST(run(count));
  BOOST_TEST(saw_all_up_to(count));
}

BOOST_AUTO_TEST_CASE(order_is_kept_when_the_queue_fills_and_empties_again_and_again) {
  int pushed = 0;
  for (int burst = 1; burst < 3000; burst = burst * 3 / 2 + 1) {
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < burst; ++i) push(pushed++);
      BOOST_TEST(run(burst));
    }
  }
  BOOST_TEST(saw_all_up_to(pushed));
}

BOOST_AUTO_TEST_CASE(a_backlog_is_kept_while_chunks_come_and_go) {
  constexpr int backlog = 2500;
  constexpr int count = 50'000;
  for (int i = 0; i < count; ++i) {
    push(i);
    if (i >= backlog) run();
  }
  BOOST_TEST(run(backlog));
  BOOST_TEST(saw_all_up_to(count));
}

BOOST_AUTO_TEST_CASE(tasks_of_all_sizes_stay_whole) {
  int pushed = 0;
  for (int round = 0; round < 20; ++round) {
    queue.push(Filled<16>(seen, pushed++));
    queue.push(Filled<40>(seen, pushed++));
    queue.push(Filled<1000>(seen, pushed++));
    queue.push(Filled<20'000>(seen, pushed++));
    queue.push(Filled<largest>(seen, pushed++));
    queue.push(Filled<largest>(seen, pushed++));
  }
  BOOST_TEST(run(pushed));
  BOOST_TEST(saw_all_up_to(pushed));
}

BOOST_AUTO_TEST_CASE(tasks_are_aligned_to_16_bytes) {
  struct Aligned {
    bool operator()(HostStream&) const {
      *ok = *ok && reinterpret_cast<std::uintptr_t>(this) % alignof(Aligned) == 0;
      return true;
    }
    bool* ok;
    alignas(16) std::array<char, 16> bytes{};
  };
  bool ok = true;
  for (int i = 0; i < 100; ++i) {
    push(i);
    queue.push([&ok, odd = std::array<char, 3>{}](HostStream&) { return ok && odd[0] == 0; });
    queue.push(Aligned{&ok});
  }
  BOOST_TEST(run(300));
  BOOST_TEST(ok);
}

BOOST_AUTO_TEST_CASE(a_task_that_cannot_go_on_stays_at_the_front) {
  int left = 3;
  queue.push([&](HostStream&) { return --left == 0; });
  push(0);
  BOOST_TEST(!run());
  BOOST_TEST(!run());
  BOOST_TEST(seen.empty());
  BOOST_TEST(run());
  BOOST_TEST(run());
  BOOST_TEST(saw_all_up_to(1));
}

BOOST_AUTO_TEST_CASE(a_task_gets_the_stream_it_runs_for) {
  const HostStream* given = nullptr;
  queue.push([&](HostStream& self) {
    given = &self;
    return true;
  });
  BOOST_TEST(run());
  BOOST_TEST(given == &stream);
}

BOOST_AUTO_TEST_CASE(what_a_task_holds_is_let_go_when_it_is_done) {
  const auto held = std::make_shared<int>();
  bool done = false;
  queue.push([held, &done](HostStream&) { return done; });
  BOOST_TEST(held.use_count() == 2);
  BOOST_TEST(!run());
  BOOST_TEST(held.use_count() == 2);
  done = true;
  BOOST_TEST(run());
  BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(destructors_run_once_for_each_task) {
  constexpr int count = 5000;
  const auto held = std::make_shared<int>();
  for (int i = 0; i < count; ++i) {
    queue.push([held](HostStream&) { return true; });
    BOOST_REQUIRE(held.use_count() == i + 2);
  }
  for (int i = 0; i < count; ++i) {
    run();
    BOOST_REQUIRE(held.use_count() == count - i);
  }
}

BOOST_AUTO_TEST_CASE(a_queue_destroys_the_tasks_left_in_it_once) {
  constexpr int count = 5000;
  for (const int done : {0, 1, 1000, count}) {
    const auto held = std::make_shared<int>();
    {
      TaskQueue left;
      for (int i = 0; i < count; ++i) left.push([held](HostStream&) { return true; });
      for (int i = 0; i < done; ++i) left.run_front(stream);
      BOOST_TEST(held.use_count() == count - done + 1);
    }
    BOOST_TEST(held.use_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(one_thread_pushes_while_another_runs) {
  constexpr int count = 200'000;
  std::atomic<int> published{0};
  std::thread runs([&] {
    for (int done = 0; done < count;) {
      const int ready = published.load(std::memory_order_acquire);
      if (ready == done) std::this_thread::yield();
      for (; done < ready; ++done) run();
    }
  });
  for (int i = 0; i < count; ++i) {
    push(i);
    published.store(i + 1, std::memory_order_release);
  }
  runs.join();
  BOOST_TEST(saw_all_up_to(count));
}

BOOST_AUTO_TEST_SUITE_END()
