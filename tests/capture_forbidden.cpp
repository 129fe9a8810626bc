#include "support.hpp"

#include <optional>
#include <sstream>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::live_modes;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(capture_forbidden)

// Refused, and the capture goes on

BOOST_AUTO_TEST_CASE(a_capturing_stream_cannot_be_asked_or_waited_for) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream member;
    rf::Capture capture(origin, {.live = live, .join_all = true});
    rf::bench::empty(origin);
    member.wait_stream(origin);
    for (const rf::Stream& stream : {origin, member}) {
      const auto query = [&] { stream.query(); };
      const auto synchronize = [&] { stream.synchronize(); };
      require_error(rf::Errc::capture_unsupported, query, {"stream " + std::to_string(stream.id()), "capture"});
      require_error(rf::Errc::capture_unsupported, synchronize, {"stream " + std::to_string(stream.id())});
      require_error(rf::Errc::capture_unsupported, [&] { rf::test::on_another_thread(query); });
      require_error(rf::Errc::capture_unsupported, [&] { rf::test::on_another_thread(synchronize); });
    }
    rf::bench::empty(origin);
    BOOST_TEST(capture.end().node_count() == 2);
  }
}

BOOST_AUTO_TEST_CASE(streams_of_a_thread_scope_are_refused_in_its_thread_alone) {
  for (const bool live : live_modes) {
    const rf::Stream stream;
    rf::Capture capture(rf::CaptureOptions{.live = live});
    rf::bench::empty(stream);
    require_error(rf::Errc::capture_unsupported, [&] { stream.query(); });
    require_error(rf::Errc::capture_unsupported, [&] { stream.synchronize(); });
    require_error(rf::Errc::capture_unsupported, [&] { rf::current_stream().synchronize(); });
    const bool idle = rf::test::on_another_thread([&] {
      stream.synchronize();
      return stream.query();
    });
    BOOST_TEST(idle);
    BOOST_TEST(capture.end().node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_device_cannot_be_waited_for_in_a_thread_that_captures_on_it) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Capture by_stream(origin, {.live = live});
    require_error(rf::Errc::capture_unsupported, [] { rf::synchronize(); }, {"capture"});
    rf::test::on_another_thread([] { rf::synchronize(); });
    rf::bench::empty(origin);
    BOOST_TEST(by_stream.end().node_count() == 1);

    rf::Capture by_thread(rf::CaptureOptions{.live = live});
    require_error(rf::Errc::capture_unsupported, [] { rf::synchronize(); });
    require_error(rf::Errc::capture_unsupported, [] { rf::synchronize(rf::current_device()); });
    rf::test::on_another_thread([] { rf::synchronize(); });
    rf::bench::empty(rf::current_stream());
    BOOST_TEST(by_thread.end().node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_device_that_the_capture_does_not_use_may_be_waited_for) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream origin(devices->first);
  const rf::Stream far(devices->second);
  rf::Capture capture(origin);
  rf::test::keep_busy(far, 5);
  rf::synchronize(devices->second);
  BOOST_TEST(far.query());
  rf::bench::empty(origin);
  BOOST_TEST(capture.end().node_count() == 1);
}

BOOST_AUTO_TEST_CASE(an_event_of_an_open_capture_cannot_be_asked_or_waited_for) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    const rf::Event event = origin.record_event();
    require_error(rf::Errc::captured_event, [&] { event.query(); }, {"capture"});
    require_error(rf::Errc::captured_event, [&] { event.synchronize(); }, {"capture"});
    require_error(rf::Errc::captured_event, [&] { rf::test::on_another_thread([&] { event.query(); }); });
    rf::bench::empty(origin);
    BOOST_TEST(capture.end().node_count() == 2);
  }
}

BOOST_AUTO_TEST_CASE(values_cannot_be_read_in_a_capture, *label("conformance-54")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Array outside = rf::test::filled(1, 1);
    const auto body = [&] {
      const rf::Array made = outside + 1;
      for (const rf::Array& array : {outside, made}) {
        std::ostringstream text;
        require_error(rf::Errc::capture_unsupported, [&] { array.item<float>(); }, {"capture"});
        require_error(rf::Errc::capture_unsupported, [&] { array.to_vector<float>(); }, {"capture"});
        require_error(rf::Errc::capture_unsupported, [&] { text << array; }, {"capture"});
      }
      return made;
    };
    const auto [graph, made] = rf::capture(body, {.live = live});
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(made, 2));
    BOOST_TEST(rf::capture(origin, body, {.live = live}).first.node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_native_handle_is_refused_while_recording) {
  const rf::Stream origin;
  rf::Capture capture(origin);
  if (origin.device().kind == rf::DeviceKind::host) {
    require_error(rf::Errc::not_supported, [&] { origin.native(); });
  } else {
    require_error(rf::Errc::capture_unsupported, [&] { origin.native(); }, {"live"});
    BOOST_TEST((rf::Stream().native() != nullptr));  // of a stream that is no member
  }
  rf::bench::empty(origin);
  BOOST_TEST(capture.end().node_count() == 1);
}

// Fine, and the capture goes on

BOOST_AUTO_TEST_CASE(live_events_and_other_streams_answer_while_a_capture_is_open) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream other;
    rf::Event start({.timing = true});
    rf::Event end({.timing = true});
    start.record(other);
    rf::test::keep_busy(other, 5);
    end.record(other);
    rf::Capture capture(origin, {.live = live});
    end.synchronize();
    BOOST_TEST(end.query());
    BOOST_TEST(start.elapsed_time(end) > 0.0F);
    other.synchronize();
    BOOST_TEST(other.query());
    rf::bench::empty(origin);
    BOOST_TEST(capture.end().node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_live_event_answers_in_a_thread_scope) {
  const rf::Stream other;
  const rf::Event event = other.record_event();
  rf::Capture capture;
  event.synchronize();
  BOOST_TEST(event.query());
  BOOST_TEST(capture.end().node_count() == 0);
}

BOOST_AUTO_TEST_CASE(memory_streams_events_and_executables_may_come_and_go_in_a_capture) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream other;
    rf::Array counter = rf::zeros({2});
    std::optional<rf::GraphExec> old = rf::capture([&] { counter += 1; }).instantiate();
    std::optional<rf::Array> old_array = rf::zeros({1 << 20});
    rf::Capture capture(origin, {.live = live});
    rf::bench::empty(origin);
    {
      const rf::StreamGuard on(other);  // outside of the capture: runs at once
      old->replay(other);
      const rf::Array array = rf::zeros({1 << 20}) + 1;
      BOOST_TEST(rf::test::holds(array, 1));
      BOOST_TEST(rf::test::holds(counter, 1));
    }
    old_array.reset();
    old.reset();
    const rf::Stream made;
    const rf::Event event = made.record_event();
    const rf::Graph unrelated = rf::test::on_another_thread([&] { return rf::capture([&] { counter += 10; }); });
    const rf::GraphExec exec = unrelated.instantiate();
    exec.replay(made);
    BOOST_TEST(rf::test::holds(counter, 11));
    rf::trim(rf::current_device());
    BOOST_TEST(rf::memory_stats(rf::current_device()).live > 0);
    rf::bench::empty(origin);
    BOOST_TEST(capture.end().node_count() == 2);
  }
}

BOOST_AUTO_TEST_CASE(handles_of_outside_arrays_may_be_dropped_in_a_capture) {
  for (const bool live : live_modes) {
    rf::Array result;
    rf::Graph graph;
    {
      std::optional<rf::Array> input = rf::test::filled(4);
      graph = rf::capture(
          [&] {
            result = *input * 2;
            input.reset();
          },
          {.live = live});
    }
    const rf::GraphExec exec = graph.instantiate();
    const rf::Array other = rf::test::filled(100);  // would get the block if it had been given back
    exec.replay();
    BOOST_TEST(rf::test::holds(result, 8));
    BOOST_TEST(rf::test::holds(other, 100));
  }
}

BOOST_AUTO_TEST_CASE(host_bytes_are_copied_into_the_graph) {
  for (const bool live : live_modes) {
    std::vector<float> bytes = {5, 5, 5};
    const auto [graph, array] = rf::capture([&] { return rf::from_host(bytes, {3}); }, {.live = live});
    bytes.assign(3, 9);
    const rf::GraphExec exec = graph.instantiate();
    exec.replay();
    BOOST_TEST(rf::test::holds(array, 5));
  }
}

BOOST_AUTO_TEST_CASE(other_threads_work_on_while_a_capture_is_open, *label("conformance-48")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    rf::Capture by_stream(origin, {.live = live});
    rf::bench::empty(origin);
    rf::test::on_another_thread([] {
      const rf::Stream mine;
      const rf::StreamGuard on(mine);
      const rf::Array array = rf::zeros({1 << 16}) + 2;
      const rf::Event event = mine.record_event();
      event.synchronize();
      BOOST_TEST(event.query());
      mine.synchronize();
      rf::synchronize();
      BOOST_TEST(rf::test::holds(array, 2));
    });
    BOOST_TEST(by_stream.end().node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_member_of_another_open_capture_cannot_be_asked_either) {
  const rf::Stream member;
  rf::Capture other(member);
  rf::Capture mine;
  rf::test::require_error(rf::Errc::capture_unsupported, [&] { member.query(); }, {"query"});
  rf::test::require_error(rf::Errc::capture_unsupported, [&] { member.synchronize(); }, {"synchronize"});
  mine.end();
  other.end();
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_no_member_may_be_asked_in_a_thread_scope) {
  const rf::Stream outside;
  rf::bench::empty(outside);
  rf::Capture capture;
  outside.synchronize();
  BOOST_TEST(outside.query());
  capture.end();
}

BOOST_AUTO_TEST_SUITE_END()
