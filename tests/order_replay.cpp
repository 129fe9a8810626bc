#include "support.hpp"

#include <sstream>
#include <thread>

namespace rf = refrain;
using rf::DiagnosticKind;
using rf::Hazards;
using rf::test::HazardsScope;
using rf::test::live_modes;
using rf::test::of_kind;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(order_replay)

// Rule 3: a replay is one command

BOOST_AUTO_TEST_CASE(a_replay_reads_its_inputs_as_the_command_before_left_them) {
  const HazardsScope mode(Hazards::ignore);
  for (const bool live : live_modes) {
    const rf::Stream writer;
    const rf::Stream replayer;
    rf::Array input = rf::test::filled(1);
    auto [graph, output] = rf::capture([&] { return input * 2; }, {.live = live});
    const rf::GraphExec exec = graph.instantiate();
    for (int i = 1; i <= 5; ++i) {
      {
        const rf::StreamGuard on(writer);
        rf::test::keep_busy(writer, 5);
        input.assign(i);
      }
      exec.replay(replayer);
      {
        const rf::StreamGuard on(writer);
        input.assign(-1);  // comes after the replay has read it
      }
      BOOST_TEST(rf::test::holds(output, 2 * i));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_eager_command_reads_what_the_replay_before_it_wrote) {
  const HazardsScope mode(Hazards::ignore);
  for (const bool live : live_modes) {
    const rf::Stream replayer;
    const rf::Stream reader;
    rf::Array counter = rf::zeros({4});
    const rf::GraphExec exec = rf::capture(
                                   [&] {
                                     rf::test::keep_busy(rf::current_stream(), 5);
                                     counter += 1;
                                   },
                                   {.live = live})
                                   .instantiate();
    for (int i = 1; i <= 5; ++i) {
      exec.replay(replayer);
      const rf::StreamGuard on(reader);
      const rf::Array copy = counter + 0;
      exec.replay(replayer);  // after the copy
      BOOST_TEST(rf::test::holds(copy, 2 * i - 1));
    }
    BOOST_TEST(rf::test::holds(counter, 10));
  }
}

BOOST_AUTO_TEST_CASE(replays_of_two_graphs_that_share_memory_keep_their_order) {
  const HazardsScope mode(Hazards::ignore);
  const rf::Stream first;
  const rf::Stream second;
  rf::Array array = rf::test::filled(1);
  const rf::GraphExec doubles = rf::capture([&] {
                                  rf::test::keep_busy(rf::current_stream(), 2);
                                  array *= 2;
                                }).instantiate();
  const rf::GraphExec adds = rf::capture([&] { array += 1; }).instantiate();
  double expected = 1;
  for (int i = 0; i < 8; ++i) {
    doubles.replay(first);
    adds.replay(second);
    expected = expected * 2 + 1;
  }
  BOOST_TEST(rf::test::holds(array, expected));
}

BOOST_AUTO_TEST_CASE(executables_of_one_graph_never_overlap) {
  const HazardsScope mode(Hazards::ignore);
  const rf::Array input = rf::test::filled(1);
  rf::Array sum = rf::zeros({4});
  const rf::Graph graph = rf::capture([&] {
    const rf::Array temporary = input + 1;
    rf::test::keep_busy(rf::current_stream(), 1);
    sum += temporary;
  });
  const std::vector<rf::GraphExec> execs = {graph.instantiate(), graph.instantiate({.optimize = rf::Optimize::none}),
                                            graph.instantiate()};
  const std::vector<rf::Stream> streams = {rf::Stream(), rf::Stream()};
  for (std::size_t i = 0; i < 12; ++i) execs[i % execs.size()].replay(streams[i % streams.size()]);
  BOOST_TEST(rf::test::holds(sum, 24));
}

BOOST_AUTO_TEST_CASE(one_executable_on_two_streams_runs_one_after_another) {
  const HazardsScope mode(Hazards::ignore);
  rf::Array counter = rf::zeros({4});
  const rf::GraphExec exec = rf::capture([&] {
                               const rf::Array old = counter + 0;
                               rf::test::keep_busy(rf::current_stream(), 2);
                               counter.assign(old + 1);
                             }).instantiate();
  const rf::Stream first;
  const rf::Stream second;
  for (int i = 0; i < 5; ++i) {
    exec.replay(first);
    exec.replay(second);
  }
  BOOST_TEST(rf::test::holds(counter, 10));
}

BOOST_AUTO_TEST_CASE(threads_may_replay_one_executable) {
  const HazardsScope mode(Hazards::ignore);
  constexpr int threads = 4;
  constexpr int replays = 25;
  rf::Array counter = rf::zeros({4});
  const rf::GraphExec exec = rf::capture([&] { counter += 1; }).instantiate();
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      const rf::Stream mine;
      for (int replay = 0; replay < replays; ++replay) exec.replay(mine);
    });
  }
  for (std::thread& thread : all) thread.join();
  BOOST_TEST(rf::test::holds(counter, threads * replays));
}

BOOST_AUTO_TEST_CASE(a_replay_that_conflicts_with_eager_work_is_reported_or_refused) {
  const rf::Stream writer;
  const rf::Stream replayer;
  rf::Array array = rf::zeros({4});
  const rf::GraphExec exec = rf::capture([&] { array += 1; }).instantiate();
  rf::synchronize();
  const auto race = [&] {
    const rf::StreamGuard on(writer);
    array += 1;
    exec.replay(replayer);
  };
  {
    const HazardsScope mode(Hazards::add);
    race();
    BOOST_TEST(of_kind(rf::diagnostics(), DiagnosticKind::edge_added).size() == 1U);
    rf::synchronize();
  }
  {
    const HazardsScope mode(Hazards::error);
    require_error(rf::Errc::illegal_state, race, {"replay"});
    rf::synchronize();
    replayer.wait_stream(writer);
    exec.replay(replayer);
  }
  BOOST_TEST(rf::test::holds(array, 4));
}

BOOST_AUTO_TEST_CASE(a_stream_is_ordered_after_a_replay_on_it) {
  for (const bool live : live_modes) {
    const rf::Stream forked;
    const rf::Stream stream;
    const rf::GraphExec exec = rf::capture([&] { rf::test::keep_busy(forked, 10); }, {.live = live}).instantiate();
    exec.replay(stream);
    const rf::Event after = stream.record_event();
    stream.synchronize();
    BOOST_TEST(after.query());
  }
}

BOOST_AUTO_TEST_CASE(a_replay_is_pending_work_of_its_stream) {
  const rf::Stream stream;
  const rf::GraphExec exec = rf::capture([] { rf::bench::empty(rf::current_stream()); }).instantiate();
  BOOST_TEST(rf::test::seen_pending(stream, [&] {
    exec.replay(stream);
    return stream.query();
  }));
}

// Rule 4: host reads

BOOST_AUTO_TEST_CASE(host_reads_wait_for_the_last_writer_of_any_stream) {
  const HazardsScope mode(Hazards::error);  // a host read is no hazard
  const rf::Stream writer;
  for (int i = 0; i < 3; ++i) {
    rf::Array array;
    {
      const rf::StreamGuard on(writer);
      array = rf::test::filled(1, 1);
      rf::test::keep_busy(writer, 10);
      array += 41;
    }
    if (i == 0) BOOST_TEST(array.item<float>() == 42.0F);
    if (i == 1) BOOST_TEST(array.to_vector<float>() == std::vector<float>{42});
    if (i == 2) {
      std::ostringstream text;
      text << array;
      BOOST_TEST((text.str().find("42") != std::string::npos), text.str());
    }
  }
}

BOOST_AUTO_TEST_CASE(host_reads_wait_for_the_replay_that_wrote) {
  const HazardsScope mode(Hazards::error);
  for (const bool live : live_modes) {
    const rf::Stream stream;
    auto [graph, array] = rf::capture([] { return rf::test::slowly(3, 10); }, {.live = live});
    const rf::GraphExec exec = graph.instantiate();
    exec.replay(stream);
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

BOOST_AUTO_TEST_CASE(a_host_read_does_not_wait_for_other_work_of_the_streams) {
  const rf::Stream stream;
  const rf::Array array = rf::test::filled(2);
  BOOST_TEST(rf::test::seen_pending(stream, [&] {
    BOOST_TEST(rf::test::holds(array, 2));
    return stream.query();
  }));
}

// Devices

BOOST_AUTO_TEST_CASE(order_holds_on_every_device_at_once) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const HazardsScope mode(Hazards::ignore);
  std::vector<rf::Array> results;
  for (const rf::Device device : {devices->first, devices->second}) {
    const rf::Stream writer(device);
    const rf::Stream reader(device);
    rf::Array array;
    {
      const rf::StreamGuard on(writer);
      array = rf::test::slowly(static_cast<float>(device.index + 1));
    }
    const rf::StreamGuard on(reader);
    results.push_back(array * 10);
  }
  BOOST_TEST(rf::test::holds(results[0], 10));
  BOOST_TEST(rf::test::holds(results[1], 20));
}

BOOST_AUTO_TEST_CASE(a_replay_over_two_devices_is_one_command_on_both) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const HazardsScope mode(Hazards::ignore);
  for (const bool live : live_modes) {
    const rf::DeviceGuard on(devices->first);
    rf::Array near = rf::zeros({4}, {.device = devices->first});
    rf::Array far = rf::zeros({4}, {.device = devices->second});
    const rf::GraphExec exec = rf::capture(
                                   [&] {
                                     near += 1;
                                     rf::test::keep_busy(rf::current_stream(devices->second), 5);
                                     far += 1;
                                   },
                                   {.live = live})
                                   .instantiate();
    const rf::Stream replayer(devices->first);
    const rf::Stream other(devices->second);
    for (int i = 1; i <= 3; ++i) {
      exec.replay(replayer);
      const rf::StreamGuard on_other(other);
      const rf::Array copy = far + 0;
      BOOST_TEST(rf::test::holds(copy, i));
    }
    BOOST_TEST(rf::test::holds(near, 3));
  }
}

BOOST_AUTO_TEST_SUITE_END()
