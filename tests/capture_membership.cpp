#include "support.hpp"

#include <optional>
#include <set>

namespace rf = refrain;
using boost::unit_test::label;
using rf::DiagnosticKind;
using rf::test::Edges;
using rf::test::live_modes;
using rf::test::of_kind;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(capture_membership, *boost::unit_test::label("sanitize"))

// Stream-scoped: joining by events

BOOST_AUTO_TEST_CASE(a_stream_joins_by_waiting_for_an_event_of_the_capture) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    BOOST_TEST(!member.is_capturing());
    member.wait_event(origin.record_event());
    BOOST_TEST(member.is_capturing());
    rf::bench::empty(member);
    origin.wait_event(member.record_event());
    rf::bench::empty(origin);
    const rf::Graph graph = capture.end();
    BOOST_TEST(!member.is_capturing());
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {1, 2}}));
  }
}

BOOST_AUTO_TEST_CASE(forked_work_is_recorded_and_runs_on_replay_alone, *label("report-12")) {
  for (const bool live : live_modes) {
    const rf::Stream s1;
    const rf::Stream s2;
    const rf::Stream s3;
    std::vector<rf::Array> parts;
    for (int i = 0; i < 3; ++i) parts.push_back(rf::zeros({1}));
    const auto write = [&](const rf::Stream& stream, std::size_t part, int value) {
      const rf::StreamGuard on(stream);
      parts[part] += value;
    };
    rf::Capture capture(s1, {.live = live});
    const rf::Event fork = s1.record_event();
    s2.wait_event(fork);
    s3.wait_event(fork);
    write(s1, 0, 1);
    write(s2, 1, 2);
    write(s3, 2, 3);
    s1.wait_event(s2.record_event());
    s1.wait_event(s3.record_event());
    for (const rf::Array& part : parts) BOOST_TEST(part.item<float>() == 0.0F);  // nothing ran in the window
    const rf::GraphExec exec = capture.end().instantiate();
    for (const rf::Array& part : parts) BOOST_TEST(part.item<float>() == 0.0F);
    for (int replay = 1; replay <= 2; ++replay) {
      exec.replay(s1);
      for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(parts[i].item<float>() == static_cast<float>(replay * static_cast<int>(i + 1)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_waits_for_a_stream_joins_its_capture) {
  const rf::Stream origin;
  const rf::Stream member;
  const rf::Graph graph = rf::capture(origin, [&] {
    rf::bench::empty(origin);
    member.wait_stream(origin);
    rf::bench::empty(member);
    origin.wait_stream(member);
  });
  BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
}

BOOST_AUTO_TEST_CASE(what_another_thread_issues_to_a_member_is_recorded) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Array array = rf::zeros({2});
    rf::Capture capture(origin, {.live = live});
    rf::test::on_another_thread([&] {
      member.wait_stream(origin);
      const rf::StreamGuard on(member);
      array += 5;
      origin.wait_stream(member);
    });
    const rf::Graph graph = capture.end();
    BOOST_TEST(graph.node_count() == 1);
    BOOST_TEST(graph.nodes()[0].stream == member.id());
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 5));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_never_joined_runs_eagerly) {
  const rf::Stream origin;
  const rf::Stream stranger;
  rf::Array array;
  const rf::Graph graph = rf::capture(origin, [&] {
    const rf::StreamGuard on(stranger);
    array = rf::test::filled(8);
    BOOST_TEST(rf::test::holds(array, 8));
  });
  BOOST_TEST(graph.node_count() == 0);
}

// Stream-scoped: the end

BOOST_AUTO_TEST_CASE(forked_stream_must_rejoin_before_end) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    forked.wait_stream(origin);
    const int line = __LINE__ + 1;
    rf::bench::empty(forked);
    rf::bench::empty(forked);
    require_error(rf::Errc::capture_unjoined, [&] { capture.end(); },
                  {"stream " + std::to_string(forked.id()), "empty", "capture_membership.cpp:" + std::to_string(line),
                   "join_all"});
    BOOST_TEST(!capture.is_open());
    for (const rf::Stream& stream : {origin, forked}) {
      BOOST_TEST(!stream.is_capturing());
      stream.synchronize();
    }
  }
}

BOOST_AUTO_TEST_CASE(every_unjoined_stream_is_named) {
  const rf::Stream origin;
  const rf::Stream first;
  const rf::Stream second;
  rf::Capture capture(origin);
  for (const rf::Stream& stream : {first, second}) {
    stream.wait_stream(origin);
    rf::bench::empty(stream);
  }
  require_error(rf::Errc::capture_unjoined, [&] { capture.end(); },
                {"stream " + std::to_string(first.id()), "stream " + std::to_string(second.id())});
}

BOOST_AUTO_TEST_CASE(work_after_the_join_is_an_unjoined_tail) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    rf::Capture capture(origin, {.live = live});
    forked.wait_stream(origin);
    rf::bench::empty(forked);
    origin.wait_stream(forked);
    const int line = __LINE__ + 1;
    rf::bench::empty(forked);
    require_error(rf::Errc::capture_unjoined, [&] { capture.end(); },
                  {"stream " + std::to_string(forked.id()), "capture_membership.cpp:" + std::to_string(line)});
  }
}

BOOST_AUTO_TEST_CASE(join_all_joins_what_the_program_did_not) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    rf::Array array = rf::zeros({2});
    rf::Capture capture(origin, {.live = live, .join_all = true});
    forked.wait_stream(origin);
    {
      const rf::StreamGuard on(forked);
      array += 1;
    }
    const rf::Graph graph = capture.end();
    const auto joined = of_kind(graph.diagnostics(), DiagnosticKind::joined);
    BOOST_REQUIRE(joined.size() == 1U);
    BOOST_TEST((joined[0].text.find("stream " + std::to_string(forked.id())) != std::string::npos), joined[0].text);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 1));
  }
}

BOOST_AUTO_TEST_CASE(a_forked_stream_without_commands_needs_no_join) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    forked.wait_stream(origin);
    BOOST_TEST(capture.end().node_count() == 1);
    BOOST_TEST(!forked.is_capturing());
  }
}

// Thread-scoped

BOOST_AUTO_TEST_CASE(a_thread_scope_takes_in_every_stream_at_its_first_use_and_joins_them) {
  for (const bool live : live_modes) {
    const rf::Stream first;
    const rf::Stream second;
    rf::Array a = rf::zeros({2});
    rf::Array b = rf::zeros({2});
    const rf::Graph graph = rf::capture(
        [&] {
          const rf::StreamGuard on_first(first);
          a += 1;
          const rf::StreamGuard on_second(second);
          b += 2;
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    BOOST_TEST(graph.edge_count() == 0);
    for (const DiagnosticKind kind : {DiagnosticKind::forked, DiagnosticKind::joined}) {
      const auto found = of_kind(graph.diagnostics(), kind);
      BOOST_REQUIRE(found.size() == 2U);
      BOOST_TEST((found[0].text.find("stream " + std::to_string(first.id())) != std::string::npos), found[0].text);
      BOOST_TEST((found[1].text.find("stream " + std::to_string(second.id())) != std::string::npos), found[1].text);
    }
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(a, 1));
    BOOST_TEST(rf::test::holds(b, 2));
  }
}

BOOST_AUTO_TEST_CASE(the_current_stream_is_the_origin_and_stays_current) {
  for (const bool live : live_modes) {
    const rf::Stream mine;
    for (const rf::Stream& origin : {rf::default_stream(), mine}) {
      const rf::StreamGuard on(origin);
      const auto [graph, stayed] = rf::capture(
          [&] {
            rf::bench::empty(rf::current_stream());  // taken in the body
            rf::bench::empty(origin);                // and before it
            return rf::current_stream() == origin;
          },
          {.live = live});
      BOOST_TEST(stayed);
      BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
      for (const rf::GraphNode& node : graph.nodes()) BOOST_TEST(node.stream == origin.id());
      BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::forked).empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(another_threads_work_runs_as_if_there_were_no_thread_scope) {
  for (const bool live : live_modes) {
    const rf::Stream stream;
    rf::Array array = rf::zeros({2});
    const rf::Graph graph = rf::capture(
        [&] {
          rf::bench::empty(stream);
          rf::test::on_another_thread([&] {
            const rf::StreamGuard on(stream);
            array += 3;
            stream.synchronize();
            BOOST_TEST(rf::test::holds(array, 3));
          });
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_thread_scope_spans_the_devices_of_its_kind) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  for (const bool live : live_modes) {
    const rf::DeviceGuard on(devices->first);
    rf::Array near = rf::zeros({2}, {.device = devices->first});
    rf::Array far = rf::zeros({2}, {.device = devices->second});
    const rf::Graph graph = rf::capture(
        [&] {
          near += 1;
          rf::current_stream(devices->second).wait_stream(rf::current_stream(devices->first));
          far += 2;
        },
        {.live = live});
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
    BOOST_TEST(graph.nodes()[1].device == devices->second);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(near, 1));
    BOOST_TEST(rf::test::holds(far, 2));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_scope_spans_the_devices_of_its_kind) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream origin(devices->first);
  const rf::Stream far(devices->second);
  rf::Array array = rf::zeros({2}, {.device = devices->second});
  const rf::Graph graph = rf::capture(origin, [&] {
    far.wait_stream(origin);
    {
      const rf::StreamGuard on(far);
      array += 4;
    }
    origin.wait_stream(far);
  });
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(array, 4));
}

// Streams that die

BOOST_AUTO_TEST_CASE(nodes_of_a_joined_stream_outlive_it) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Array array = rf::zeros({2});
    rf::Capture capture(origin, {.live = live});
    {
      const rf::Stream member;
      member.wait_stream(origin);
      const rf::StreamGuard on(member);
      array += 9;
      origin.wait_stream(member);
    }
    const rf::Graph graph = capture.end();
    BOOST_TEST(graph.node_count() == 1);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 9));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_made_in_the_capture_may_join_it) {
  for (const bool live : live_modes) {
    std::set<std::uint64_t> streams;
    const rf::Stream origin;
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          for (int i = 0; i < 10; ++i) {
                                            const rf::Stream member;
                                            member.wait_stream(origin);
                                            rf::bench::empty(member);
                                            origin.wait_stream(member);
                                            streams.insert(member.id());
                                          }
                                        },
                                        {.live = live});
    BOOST_TEST(streams.size() == 10U);
    BOOST_TEST(graph.node_count() == 10);
    BOOST_TEST(graph.edge_count() == 9);
  }
}

BOOST_AUTO_TEST_SUITE_END()
