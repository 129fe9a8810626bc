// What goes before the work that uses it: host memory, temporaries, arrays used on other streams, streams of a capture.

#include "support.hpp"

#include <optional>

using boost::unit_test::label;
namespace rf = refrain;
using rf::Hazards;
using rf::test::filled;
using rf::test::HazardsScope;
using rf::test::holds;
using rf::test::live_modes;

namespace {

constexpr std::int64_t size = 4096;
constexpr int replays = 20;

/// Takes the memory that is free, and writes to it.
std::vector<rf::Array> flood(int arrays = 50, float first = 100) {
  std::vector<rf::Array> all;
  for (int i = 0; i < arrays; ++i) all.push_back(filled(first + static_cast<float>(i), size));
  return all;
}

bool holds_flood(const std::vector<rf::Array>& all, double first) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!holds(all[i], first + static_cast<double>(i))) return false;
  }
  return true;
}

/// A reader on another stream, whose array is dropped before it runs and whose memory others want: `read` has 3.
std::vector<rf::Array> drop_what_another_stream_reads(const rf::Stream& reader, rf::Array& read) {
  rf::Array x = filled(3, size);
  reader.wait_stream(rf::current_stream());
  {
    const rf::StreamGuard on(reader);
    rf::test::keep_busy(reader, 2);
    read = x + 0;
  }
  x = rf::Array();
  std::vector<rf::Array> results;
  for (const rf::Array& sentinel : flood(10)) results.push_back(sentinel + 0);
  return results;
}

/// A writer at the end of a chain of three streams, whose array is dropped before it runs.
std::vector<rf::Array> drop_what_the_third_stream_writes(const rf::Stream& second, const rf::Stream& third) {
  rf::Array x = filled(3, size);
  second.wait_stream(rf::current_stream());
  third.wait_stream(second);
  {
    const rf::StreamGuard on(third);
    rf::test::keep_busy(third, 2);
    x += 1;
    x *= -1;
  }
  x = rf::Array();
  std::vector<rf::Array> results;
  for (rf::Array& known : flood()) {
    results.push_back(known + 0);
    known = rf::Array();
  }
  return results;
}

/// (a + b) * c, where everything but the result goes.
std::pair<rf::Graph, rf::Array> graph_of_temporaries(bool live) {
  const rf::Array a = filled(2, size);
  const rf::Array b = filled(3, size);
  return rf::capture([&] { return (a + b) * filled(4, size); }, {.live = live});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lifetimes)

BOOST_AUTO_TEST_CASE(host_values_of_a_capture_may_go_before_its_replays, *label("report-3")) {
  for (const bool live : live_modes) {
    const rf::Array one = filled(1, size);
    auto values = std::make_optional<std::vector<float>>(static_cast<std::size_t>(size), 5.0F);
    const auto [graph, sum] = rf::capture([&] { return rf::from_host(*values, {size}) + one; }, {.live = live});
    values->assign(values->size(), -1);
    values.reset();
    const std::vector<float> others(static_cast<std::size_t>(size), -2);
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < 3; ++i) {
      exec.replay();
      BOOST_TEST(holds(sum, 6));
    }
    BOOST_TEST(others.back() == -2);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_its_temporaries_and_inputs, *label("report-28")) {
  for (const bool live : live_modes) {
    const auto [graph, result] = graph_of_temporaries(live);
    rf::trim(rf::current_device());
    const std::vector<rf::Array> before = flood();
    const rf::GraphExec exec = graph.instantiate();
    const std::vector<rf::Array> after = flood();
    for (int i = 0; i < 3; ++i) {
      exec.replay();
      BOOST_TEST(holds(result, 20));
    }
    BOOST_TEST(holds_flood(before, 100));
    BOOST_TEST(holds_flood(after, 100));
  }
}

// Arrays dropped right after use on another stream

BOOST_AUTO_TEST_CASE(an_array_dropped_after_use_on_another_stream_is_read_as_it_was, *label("report-33")) {
  const HazardsScope mode(Hazards::error);
  for (int round = 0; round < 20; ++round) {
    const rf::Stream first;
    const rf::Stream second;
    const rf::StreamGuard on(first);
    rf::Array read;
    const std::vector<rf::Array> results = drop_what_another_stream_reads(second, read);
    BOOST_TEST(holds(read, 3));
    BOOST_TEST(holds_flood(results, 100));
  }
}

BOOST_AUTO_TEST_CASE(a_captured_array_dropped_after_use_on_another_stream_is_read_as_it_was, *label("report-33")) {
  const HazardsScope mode(Hazards::error);
  for (const bool live : live_modes) {
    const rf::Stream second;
    rf::Array read;
    const auto [graph, results] =
        rf::capture([&] { return drop_what_another_stream_reads(second, read); }, {.live = live});
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < replays; ++i) {
      exec.replay();
      BOOST_TEST(holds(read, 3));
      BOOST_TEST(holds_flood(results, 100));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_array_dropped_after_a_chain_of_three_streams_is_not_reused_early, *label("report-34")) {
  const HazardsScope mode(Hazards::error);
  for (int round = 0; round < 20; ++round) {
    const rf::Stream first;
    const rf::Stream second;
    const rf::Stream third;
    const rf::StreamGuard on(first);
    const std::vector<rf::Array> results = drop_what_the_third_stream_writes(second, third);
    third.synchronize();
    BOOST_TEST(holds_flood(results, 100));
  }
}

BOOST_AUTO_TEST_CASE(a_captured_array_dropped_after_a_chain_of_three_streams_is_not_reused_early, *label("report-34")) {
  const HazardsScope mode(Hazards::error);
  for (const bool live : live_modes) {
    const rf::Stream second;
    const rf::Stream third;
    const auto [graph, results] =
        rf::capture([&] { return drop_what_the_third_stream_writes(second, third); }, {.live = live});
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 0; i < replays; ++i) {
      exec.replay();
      BOOST_TEST(holds_flood(results, 100));
    }
  }
}

// Streams of the capture

BOOST_AUTO_TEST_CASE(a_graph_is_instantiated_after_its_streams_have_gone, *label("report-58")) {
  for (const bool live : live_modes) {
    rf::Array count = rf::zeros({size});
    rf::synchronize();
    auto origin = std::make_optional<rf::Stream>();
    auto forked = std::make_optional<rf::Stream>();
    const std::vector<std::uint64_t> ids = {origin->id(), forked->id()};
    const rf::Graph graph = rf::capture(*origin,
                                        [&] {
                                          count += 1;
                                          forked->wait_stream(*origin);
                                          const rf::StreamGuard on(*forked);
                                          count *= 2;
                                          origin->wait_stream(*forked);
                                        },
                                        {.live = live});
    origin.reset();
    forked.reset();
    const rf::GraphExec exec = graph.instantiate();
    const rf::Stream other;
    for (int i = 0; i < 3; ++i) exec.replay(other);
    BOOST_TEST(holds(count, 14));  // 2, 6, 14
    const std::vector<rf::GraphNode> nodes = graph.nodes();
    BOOST_REQUIRE(nodes.size() == 2U);
    BOOST_TEST(nodes[0].stream == ids[0]);
    BOOST_TEST(nodes[1].stream == ids[1]);
    BOOST_TEST(!graph.to_dot().empty());
    BOOST_TEST(!exec.explain().empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()
