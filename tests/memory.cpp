// What is counted and limited, and when memory is used again.

#include "support.hpp"
#include "support_reference.hpp"

#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

MemoryStats stats() { return memory_stats(current_device()); }

/// An array of this many bytes.
Array block(std::int64_t bytes) { return empty({bytes / 4}); }

/// A limit until the end of the scope: this many bytes more than are live now.
class LimitScope {
 public:
  explicit LimitScope(std::int64_t more) { set_memory_limit(current_device(), stats().live + more); }
  ~LimitScope() { set_memory_limit(current_device(), 0); }
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;
};

/// `live` again as it was, in spite of blocks that work in flight holds.
void require_live(std::int64_t bytes) {
  synchronize();
  BOOST_TEST(stats().live == bytes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(live_counts_the_bytes_of_arrays) {
  const std::int64_t before = stats().live;
  {
    const Array a = block(4000);
    const Array alias = a;
    BOOST_TEST(stats().live == before + 4000);
    const Array b = block(4);
    BOOST_TEST(stats().live == before + 4004);
    const Array nothing = empty({0});
    BOOST_TEST(stats().live == before + 4004);
  }
  require_live(before);
}

BOOST_AUTO_TEST_CASE(peak_is_the_most_that_was_live_since_its_reset) {
  reset_peak_memory(current_device());
  const std::int64_t before = stats().live;
  BOOST_TEST(stats().peak == before);
  { const Array a = block(2 * mebi); }
  const Array b = block(mebi);
  BOOST_TEST(stats().peak == before + 2 * mebi);
  reset_peak_memory(current_device());
  BOOST_TEST(stats().peak == before + mebi);
}

BOOST_AUTO_TEST_CASE(allocations_are_counted) {
  const std::int64_t before = stats().allocations;
  for (int i = 0; i < 10; ++i) block(4);
  BOOST_TEST(stats().allocations == before + 10);
  empty({0});
  BOOST_TEST(stats().allocations == before + 10);
}

BOOST_AUTO_TEST_CASE(trim_gives_unused_memory_back) {
  synchronize();
  trim(current_device());
  const std::int64_t before = stats().reserved;
  { const Array a = block(64 * mebi); }
  synchronize();
  BOOST_TEST(stats().reserved >= stats().live);
  trim(current_device());
  BOOST_TEST(stats().reserved <= before);
}

BOOST_AUTO_TEST_CASE(trim_keeps_what_it_is_told_to_keep) {
  { const Array a = block(64 * mebi); }
  synchronize();
  const std::int64_t before = stats().reserved;
  BOOST_TEST_REQUIRE(before >= 64 * mebi);
  trim(current_device(), before);
  BOOST_TEST(stats().reserved == before);
}

BOOST_AUTO_TEST_CASE(trim_leaves_memory_in_use_alone) {
  Array a = zeros({mebi});
  for (int i = 0; i < 10; ++i) {
    a += 1;
    trim(current_device());
  }
  BOOST_TEST(holds(a, 10));
}

BOOST_AUTO_TEST_CASE(devices_are_counted_apart) {
  const auto devices = two_devices();
  if (!devices) return;
  const std::int64_t first = memory_stats(devices->first).live;
  const std::int64_t second = memory_stats(devices->second).live;
  const Array a = empty({1000}, {.device = devices->second});
  BOOST_TEST(memory_stats(devices->first).live == first);
  BOOST_TEST(memory_stats(devices->second).live == second + 4000);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused) {
  require_error(Errc::invalid_value, [] { set_memory_limit(current_device(), -1); }, {"set_memory_limit", "-1"});
  require_error(Errc::invalid_value, [] { trim(current_device(), -5); }, {"trim", "-5"});
  require_error(Errc::no_device, [] { trim(Device{DeviceKind::host, 63}); }, {"host:63"});
}

BOOST_AUTO_TEST_CASE(a_host_device_takes_no_memory_pool) {
  require_error(Errc::not_supported,
                [] {
                  set_memory_pool(Device{DeviceKind::host, 0}, nullptr);
                },
                {"set_memory_pool", "host:0"});
}

BOOST_AUTO_TEST_CASE(an_allocation_over_the_limit_is_refused_and_all_goes_on) {
  const std::int64_t live = stats().live;
  Array kept = filled(3);
  {
    const LimitScope limit(mebi);
    BOOST_TEST(stats().limit == live + 16 + mebi);
    require_error(Errc::out_of_memory, [] { block(mebi + 4); },
                  {std::to_string(mebi + 4), std::to_string(stats().live), "set_memory_limit", "memory.cpp:"});
    const Array fits = block(mebi);
    require_error(Errc::out_of_memory, [&] { kept + 1; }, {"limit"});
    require_error(Errc::out_of_memory, [] { array({1, 2}); }, {"limit"});
    require_error(Errc::out_of_memory, [] { rand({4}); }, {"limit"});
    kept += 1;  // needs no memory
    BOOST_TEST(numbers(kept) == (std::vector<double>{4, 4, 4, 4}), per_element());
  }
  BOOST_TEST(stats().limit == 0);
  const Array large = block(2 * mebi);
  BOOST_TEST(holds(kept + 1, 5));
}

BOOST_AUTO_TEST_CASE(a_refused_draw_does_not_advance_the_generator) {
  manual_seed(1);
  const LimitScope limit(4);
  require_error(Errc::out_of_memory, [] { rand({1000}); });
  BOOST_TEST(generator_state(current_device()).offset == 0u);
}

BOOST_AUTO_TEST_CASE(a_limit_below_what_is_live_refuses_everything_until_arrays_go) {
  Array large = block(2 * mebi);
  const LimitScope limit(-mebi);
  require_error(Errc::out_of_memory, [] { block(4); });
  large = Array();
  BOOST_CHECK_NO_THROW(block(4));
}

BOOST_AUTO_TEST_CASE(running_out_of_memory_in_a_capture_is_reported_as_that, *label("conformance-33")) {
  const Array input = filled(1);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const std::int64_t live = stats().live;
      const auto program = [&] {
        const Array large = full({mebi}, 1);
        return input + large.slice(0, 4);
      };
      {
        const LimitScope limit(mebi);
        require_error(Errc::out_of_memory, [&] { run_as(mode, program); }, {"limit"});
        BOOST_TEST(!is_capturing());
      }
      require_live(live);
      BOOST_TEST(holds(run_as(mode, program), 2));
      BOOST_TEST(holds(input + 1, 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(instantiating_again_after_running_out_of_memory_works) {
  auto captured = capture([] { return zeros({mebi}) + ones({mebi}) * 2; });
  {
    const LimitScope limit(3 * mebi);
    require_error(Errc::out_of_memory, [&] { captured.first.instantiate(); }, {"limit", "drop"});
  }
  captured.first.instantiate().replay();
  BOOST_TEST(holds(captured.second, 2));
}

BOOST_AUTO_TEST_CASE(a_block_used_on_another_stream_is_not_reused_early, *label("conformance-8")) {
  const Stream user;
  std::vector<Array> results;
  for (int round = 0; round < 60; ++round) {
    const auto value = static_cast<float>(round);
    {
      const Array shared = filled(value, 4096);
      const StreamGuard on(user);
      user.wait_stream(default_stream());
      if (round % 6 == 0) keep_busy(user, 10);
      results.push_back(shared + 0);
    }
    // The block is free here, its reader on `user` is not done; this stream would overwrite it at once.
    const Array sentinel = filled(-1, 4096);
  }
  for (int round = 0; round < 60; ++round) BOOST_TEST(holds(results[static_cast<std::size_t>(round)], round));
}

BOOST_AUTO_TEST_CASE(blocks_of_many_streams_keep_their_values_until_all_are_done) {
  std::vector<Stream> streams(4);
  std::mt19937 random(1);
  std::vector<std::pair<Array, int>> results;
  for (int round = 0; round < 400; ++round) {
    const Stream& writer = streams[random() % 4];
    Array made;
    {
      const StreamGuard on(writer);
      made = filled(static_cast<float>(round), 1 + static_cast<std::int64_t>(random() % 3000));
    }
    for (int reader = 0; reader < 2; ++reader) {
      const StreamGuard on(streams[random() % 4]);
      current_stream().wait_stream(writer);
      results.emplace_back(made * 2, 2 * round);
    }
    if (random() % 4 == 0) results.erase(results.begin() + static_cast<std::ptrdiff_t>(random() % results.size()));
  }
  for (const auto& [array, value] : results) BOOST_TEST(holds(array, value));
}

BOOST_AUTO_TEST_CASE(arrays_dropped_while_in_use_are_kept_until_the_work_is_done) {
  const Stream stream;
  Array result;
  {
    const StreamGuard on(stream);
    keep_busy(stream, 20);
    const Array a = filled(5, 100000);
    const Array b = a + 1;
    result = b * 2;
  }
  // Another stream takes memory of that size and fills it now; `a` and `b` are written after that.
  const std::vector<Array> others = {filled(-1, 100000), filled(-1, 100000), filled(-1, 100000)};
  synchronize();
  BOOST_TEST(holds(result, 12));
  for (const Array& other : others) BOOST_TEST(holds(other, -1));
}

BOOST_AUTO_TEST_CASE(memory_of_a_graph_dropped_in_flight_is_kept_until_the_replay_is_done) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Stream stream;
      const Array input = filled(5, 100000);
      Array output;
      {
        auto captured = capture(
            [&] {
              const Array temporary = input + 1;
              return temporary * 2;
            },
            capture_options(mode));
        const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
        keep_busy(stream, 20);
        exec.replay(stream);
        output = captured.second;
      }
      const std::vector<Array> others = {filled(-1, 100000), filled(-1, 100000), filled(-1, 100000)};
      synchronize();
      BOOST_TEST(holds(output, 12));
      for (const Array& other : others) BOOST_TEST(holds(other, -1));
    }
  }
}

BOOST_AUTO_TEST_CASE(graphs_dropped_while_in_flight_finish) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Stream stream;
      const std::int64_t live = stats().live;
      {
        Array input = filled(1, 100000);
        Array output;
        {
          auto captured = capture(
              [&] {
                Array a = input;
                for (int i = 0; i < 50; ++i) a = a + 1;
                return a;
              },
              capture_options(mode));
          captured.first.instantiate(instantiate_options(mode)).replay(stream);
          output = captured.second;
        }
        const Array others = filled(-1, 100000);
        BOOST_TEST(holds(output, 51));
        input += 1;  // met the graph that is gone
        BOOST_TEST(holds(input + output, 53));
      }
      require_live(live);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_the_inputs_whose_handles_are_gone) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      Array input = filled(5, 1000);
      auto captured = capture([&] { return input + 1; }, capture_options(mode));
      input = Array();
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      const std::vector<Array> others = {filled(-1, 1000), filled(-1, 1000), filled(-1, 1000)};
      exec.replay();
      BOOST_TEST(holds(captured.second, 6));
    }
  }
}

BOOST_AUTO_TEST_CASE(outputs_of_graphs_outlive_them_and_count_until_they_go, *label("conformance-40")) {
  const std::int64_t live = stats().live;
  Array output;
  {
    auto captured = capture([] { return zeros({1000}) + 3; });
    const GraphExec exec = captured.first.instantiate();
    exec.replay();
    output = captured.second;
    BOOST_TEST(stats().live >= live + 4000);
  }
  require_live(live + 4000);
  BOOST_TEST(holds(output, 3));
  output = Array();
  require_live(live);
}

BOOST_AUTO_TEST_CASE(the_pool_stays_flat_over_100_cycles_of_capture_replay_and_drop, *label("conformance-34")) {
  const Array input = filled(1, 50000);
  std::int64_t live = 0;
  std::int64_t reserved = 0;
  for (int cycle = 0; cycle < 100; ++cycle) {
    {
      auto captured = capture([&] {
        const Array a = input + 1;
        const Array b = a * a;
        return b - a;
      });
      GraphExec exec = captured.first.instantiate();
      for (int i = 0; i < 3; ++i) exec.replay();
      synchronize();
      if (cycle % 2 == 0) captured.second = Array();  // the output goes before the graph, or after it
      exec = GraphExec();
    }
    synchronize();
    if (cycle == 4) live = stats().live, reserved = stats().reserved;
  }
  BOOST_TEST(stats().live == live);
  BOOST_TEST(stats().reserved == reserved);
}

BOOST_AUTO_TEST_CASE(the_pool_stays_flat_over_many_eager_steps) {
  Array a = filled(0, 50000);
  const auto steps = [&] {
    for (int i = 0; i < 200; ++i) a = a + 1;
    synchronize();
  };
  steps();
  const std::int64_t reserved = stats().reserved;
  for (int i = 0; i < 5; ++i) steps();
  BOOST_TEST(stats().reserved == reserved);
  BOOST_TEST(holds(a, 1200));
}

BOOST_AUTO_TEST_CASE(memory_may_be_taken_and_dropped_on_any_thread) {
  const std::int64_t live = stats().live;
  std::vector<std::future<bool>> threads;
  const Device device = current_device();
  for (int t = 0; t < 4; ++t) {
    threads.push_back(std::async(std::launch::async, [device, t] {
      const Stream stream(device);
      const StreamGuard on(stream);
      for (int i = 0; i < 100; ++i) {
        const auto value = static_cast<float>(100 * t + i);
        if (!holds(filled(value, 1 + 37 * i) + 1, value + 1)) return false;
      }
      return true;
    }));
  }
  for (auto& thread : threads) BOOST_TEST(thread.get());
  require_live(live);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
