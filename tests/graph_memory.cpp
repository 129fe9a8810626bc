// The memory of graphs: what is theirs, when it is used again, and that it is given back.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <memory>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::int64_t size = 4096;
constexpr std::int64_t mebi = std::int64_t{1} << 20;

MemoryStats stats() { return memory_stats(current_device()); }

/// Takes the memory that is free, and writes to it.
std::vector<Array> flood() {
  std::vector<Array> all;
  for (int i = 0; i < 20; ++i) all.push_back(filled(static_cast<float>(-1 - i), size));
  return all;
}

bool is_whole(const std::vector<Array>& flood) {
  for (std::size_t i = 0; i < flood.size(); ++i) {
    if (!holds(flood[i], -1 - static_cast<double>(i))) return false;
  }
  return true;
}

/// Readers of an array on as many streams, of which `joined` have been joined when the array goes and the origin takes
/// memory of its size; the rest is joined after that.
std::vector<Array> drop_what_streams_read(const std::vector<Stream>& readers, std::size_t joined) {
  const Stream origin = current_stream();
  Array x = filled(3, size);
  const Event made = origin.record_event();
  std::vector<Array> results;
  for (const Stream& reader : readers) {
    reader.wait_event(made);
    const StreamGuard on(reader);
    keep_busy(reader, 2);
    results.push_back(x + 0);
  }
  for (std::size_t i = 0; i < joined; ++i) origin.wait_stream(readers[i]);
  x = Array();
  for (const Array& other : flood()) results.push_back(other + 0);
  for (std::size_t i = joined; i < readers.size(); ++i) origin.wait_stream(readers[i]);
  return results;
}

void require_reuse_after_joins(std::size_t readers, std::size_t joined) {
  const HazardsScope hazards(Hazards::error);
  const std::vector<Stream> streams(readers);
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode << ", " << joined << " of " << readers << " joined") {
      std::vector<Array> results = run_as(mode, [&] { return drop_what_streams_read(streams, joined); });
      for (std::size_t i = 0; i < readers; ++i) BOOST_TEST(holds(results[i], 3));
      results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(readers));
      BOOST_TEST(is_whole(results));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graph_memory, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(memory_made_on_a_forked_stream_is_the_graphs, *label("conformance-53")) {
  for (const Mode mode : graph_modes) {
    const Array x = filled(2, mebi / 4);
    synchronize();
    const std::int64_t live = stats().live;
    {
      auto side = std::make_unique<Stream>();
      const auto [graph, output] = capture(
          [&] {
            side->wait_stream(current_stream());
            const StreamGuard on(*side);
            const Array temporary = x + 1;
            return temporary * 2;
          },
          capture_options(mode));
      side.reset();
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      BOOST_TEST(stats().live >= live + mebi);
      const std::int64_t allocations = stats().allocations;
      for (int i = 0; i < 3; ++i) exec.replay();
      synchronize();
      BOOST_TEST(stats().allocations == allocations);
      BOOST_TEST(holds(output, 6));
    }
    BOOST_TEST(eventually([&] { return stats().live == live; }));
  }
}

BOOST_AUTO_TEST_CASE(a_block_read_on_another_stream_is_reused_after_the_join, *label("conformance-56")) {
  require_reuse_after_joins(1, 0);
  require_reuse_after_joins(1, 1);
}

BOOST_AUTO_TEST_CASE(a_block_read_on_three_streams_is_not_reused_when_some_are_joined, *label("conformance-57")) {
  for (std::size_t joined = 0; joined <= 3; ++joined) require_reuse_after_joins(3, joined);
}

BOOST_AUTO_TEST_CASE(memory_stays_flat_over_200_cycles_whatever_goes_first, *label("report-45")) {
  for (const Mode mode : {Mode::graph, Mode::live}) {
    std::int64_t live = 0;
    std::int64_t reserved = 0;
    for (int cycle = 0; cycle < 200; ++cycle) {
      auto [graph, output] = capture([] { return ones({mebi / 4}); }, capture_options(mode));
      GraphExec exec = graph.instantiate(instantiate_options(mode));
      for (int i = 0; i < 3; ++i) exec.replay();
      if (cycle % 50 == 0) BOOST_TEST(holds(output, 1));
      if (cycle % 2 == 0) {
        graph = {};
        exec = {};
        output = {};
      } else {
        output = {};
        exec = {};
        graph = {};
      }
      synchronize();
      if (cycle == 1) live = stats().live, reserved = stats().reserved;
    }
    BOOST_TEST(stats().live == live);
    BOOST_TEST(stats().reserved == reserved);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
