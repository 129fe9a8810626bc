#include "support.hpp"

#include <sstream>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::require_error;
using rf::test::seen_pending;

BOOST_AUTO_TEST_SUITE(events)

// Life of an event

BOOST_AUTO_TEST_CASE(flags_are_off_by_default_and_reported_back) {
  BOOST_TEST((rf::Event().flags() == rf::EventFlags{false, false, false}));
  const rf::EventFlags flags{.timing = true, .blocking = true, .external = true};
  BOOST_TEST((rf::Event(flags).flags() == flags));
}

BOOST_AUTO_TEST_CASE(an_event_has_no_device_before_its_first_record, *label("conformance-64")) {
  rf::Event event;
  BOOST_TEST(!event.device().has_value());
  const auto devices = rf::test::two_devices();
  const rf::Stream stream(devices ? devices->second : rf::current_device());
  event.record(stream);
  BOOST_TEST((event.device() == stream.device()));
}

BOOST_AUTO_TEST_CASE(an_event_has_no_native_handle_before_its_first_record, *label("conformance-4")) {
  rf::Event event;
  BOOST_TEST((event.native() == nullptr));
  event.record(rf::Stream());
  if (event.device()->kind == rf::DeviceKind::host) {
    require_error(rf::Errc::not_supported, [&] { event.native(); }, {"host"});
  } else {
    BOOST_TEST((event.native() != nullptr));
  }
}

BOOST_AUTO_TEST_CASE(copies_name_the_same_event) {
  const rf::Stream stream;
  rf::Event event;
  const rf::Event copy = event;
  BOOST_TEST((copy == event));
  BOOST_TEST(!(rf::Event() == event));
  BOOST_TEST(seen_pending(stream, [&] {
    event.record(stream);
    return copy.query();
  }));
}

BOOST_AUTO_TEST_CASE(a_moved_event_keeps_its_record, *label("conformance-91")) {
  const rf::Stream stream;
  rf::Event event;
  event = stream.record_event();
  const rf::Event moved = std::move(event);
  moved.synchronize();
  BOOST_TEST(moved.query());
  BOOST_TEST((moved.device() == stream.device()));
}

BOOST_AUTO_TEST_CASE(printing_an_event_says_whether_it_was_recorded) {
  rf::Event event;
  std::ostringstream before;
  before << event;
  BOOST_TEST((before.str().find("not recorded") != std::string::npos), before.str());
  event.record(rf::Stream());
  std::ostringstream after;
  after << event;
  BOOST_TEST((after.str().find(event.device()->str()) != std::string::npos), after.str());
}

// query and synchronize

BOOST_AUTO_TEST_CASE(an_event_never_recorded_is_done, *label("conformance-4") * label("conformance-90")) {
  const rf::Event event;
  BOOST_TEST(event.query());
  event.synchronize();
}

BOOST_AUTO_TEST_CASE(an_event_is_pending_until_the_work_before_it_is_done, *label("conformance-4")) {
  const rf::Stream stream;
  rf::Event event;
  BOOST_TEST(seen_pending(stream, [&] {
    event.record(stream);
    return event.query();
  }));
  event.synchronize();
  BOOST_TEST(event.query());
}

BOOST_AUTO_TEST_CASE(an_event_does_not_wait_for_work_issued_after_it) {
  const rf::Stream stream;
  rf::Event event;
  event.record(stream);
  BOOST_TEST(seen_pending(stream, [&] {
    event.synchronize();
    return stream.query();
  }));
}

BOOST_AUTO_TEST_CASE(a_later_record_replaces_the_point) {
  const rf::Stream stream;
  rf::Event event;
  event.record(stream);
  event.synchronize();
  BOOST_TEST(seen_pending(stream, [&] {
    event.record(stream);
    return event.query();
  }));
}

BOOST_AUTO_TEST_CASE(record_without_a_stream_uses_the_current_one) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Event event;
  BOOST_TEST(seen_pending(stream, [&] {
    event.record();
    return event.query();
  }));
}

BOOST_AUTO_TEST_CASE(record_event_without_argument_makes_a_recorded_event) {
  const rf::Stream stream;
  BOOST_TEST(seen_pending(stream, [&] {
    const rf::Event event = stream.record_event();
    BOOST_TEST((event.device() == stream.device()));
    return event.query();
  }));
}

BOOST_AUTO_TEST_CASE(query_and_synchronize_answer_from_another_device_and_thread, *label("conformance-72")) {
  const auto devices = rf::test::two_devices();
  const rf::Device own = rf::current_device();
  const rf::Device other = devices ? devices->second : own;
  const rf::Stream stream(own);
  rf::Event event;
  const auto ask = [&] {
    const rf::DeviceGuard on(other);
    return event.query();
  };
  BOOST_TEST(seen_pending(stream, [&] {
    event.record(stream);
    return ask();
  }));
  rf::test::on_another_thread([&] {
    const rf::DeviceGuard on(other);
    event.synchronize();
  });
  BOOST_TEST(ask());
}

// Waits

BOOST_AUTO_TEST_CASE(waiting_for_an_event_never_recorded_orders_nothing) {
  const rf::Stream busy;
  const rf::Stream waiter;
  BOOST_TEST(seen_pending(busy, [&] {
    const rf::Event event;
    waiter.wait_event(event);
    rf::bench::empty(waiter);
    waiter.synchronize();
    return busy.query();
  }));
}

BOOST_AUTO_TEST_CASE(a_wait_is_not_armed_by_a_later_record) {
  const rf::Stream busy;
  const rf::Stream waiter;
  BOOST_TEST(seen_pending(busy, [&] {
    rf::Event event;
    waiter.wait_event(event);
    event.record(busy);
    rf::bench::empty(waiter);
    waiter.synchronize();
    return busy.query();
  }));
}

BOOST_AUTO_TEST_CASE(a_wait_covers_the_record_that_was_newest_when_it_was_issued) {
  const rf::Stream busy;
  const rf::Stream waiter;
  rf::Event event;
  event.record(busy);
  waiter.wait_event(event);
  BOOST_TEST(seen_pending(busy, [&] {  // the second record is behind the work, the wait is not
    event.record(busy);
    rf::bench::empty(waiter);
    waiter.synchronize();
    return busy.query();
  }));
}

BOOST_AUTO_TEST_CASE(a_wait_stays_when_its_event_is_recorded_elsewhere) {
  const rf::test::HazardsScope strict(rf::Hazards::error);
  const rf::Stream producer;
  const rf::Stream consumer;
  rf::Event event;
  rf::Array array;
  {
    const rf::StreamGuard on(producer);
    array = rf::test::slowly(4);
    event.record(producer);
  }
  consumer.wait_event(event);
  event.record(rf::Stream());
  const rf::StreamGuard on(consumer);
  BOOST_TEST(rf::test::holds(array + 1, 5));
}

BOOST_AUTO_TEST_CASE(a_wait_does_not_block_the_host) {
  const rf::Stream busy;
  const rf::Stream waiter;
  BOOST_TEST(seen_pending(busy, [&] {
    waiter.wait_event(busy.record_event());
    rf::bench::empty(waiter);
    return waiter.query();
  }));
}

BOOST_AUTO_TEST_CASE(waiting_on_the_recording_stream_changes_nothing) {
  const rf::Stream stream;
  rf::test::keep_busy(stream, 5);
  const rf::Event event = stream.record_event();
  stream.wait_event(event);
  event.wait(stream);
  stream.synchronize();
  BOOST_TEST(event.query());
}

BOOST_AUTO_TEST_CASE(many_streams_may_wait_for_one_event, *label("conformance-90")) {
  const rf::test::HazardsScope strict(rf::Hazards::error);
  const rf::Stream producer;
  rf::Array array;
  rf::Event event;
  {
    const rf::StreamGuard on(producer);
    array = rf::test::slowly(10);
    event.record(producer);
  }
  std::vector<rf::Array> results;
  for (int i = 0; i < 5; ++i) {
    const rf::Stream waiter;
    event.wait(waiter);
    const rf::StreamGuard on(waiter);
    results.push_back(array + i);
  }
  for (int i = 0; i < 5; ++i) BOOST_TEST(rf::test::holds(results[static_cast<std::size_t>(i)], 10 + i));
}

BOOST_AUTO_TEST_CASE(one_stream_may_wait_for_many_events) {
  const rf::test::HazardsScope strict(rf::Hazards::error);
  const rf::Stream waiter;
  std::vector<rf::Array> parts;
  for (int i = 0; i < 5; ++i) {
    const rf::Stream producer;
    const rf::StreamGuard on(producer);
    parts.push_back(rf::test::slowly(static_cast<float>(i), 5));
    waiter.wait_event(producer.record_event());
  }
  const rf::StreamGuard on(waiter);
  rf::Array sum = parts[0] + parts[1];
  for (std::size_t i = 2; i < parts.size(); ++i) sum += parts[i];
  BOOST_TEST(rf::test::holds(sum, 0 + 1 + 2 + 3 + 4));
}

BOOST_AUTO_TEST_CASE(waits_reach_through_a_third_stream) {
  const rf::test::HazardsScope strict(rf::Hazards::error);
  const rf::Stream first;
  const rf::Stream second;
  const rf::Stream third;
  rf::Array array;
  {
    const rf::StreamGuard on(first);
    array = rf::test::slowly(2);
  }
  second.wait_event(first.record_event());
  third.wait_event(second.record_event());
  const rf::StreamGuard on(third);
  BOOST_TEST(rf::test::holds(array * array, 4));
}

BOOST_AUTO_TEST_CASE(an_event_may_be_destroyed_while_a_stream_waits_for_it) {
  const rf::test::HazardsScope strict(rf::Hazards::error);
  const rf::Stream producer;
  const rf::Stream consumer;
  rf::Array array;
  {
    const rf::StreamGuard on(producer);
    array = rf::test::slowly(6);
    const rf::Event event = producer.record_event();
    consumer.wait_event(event);
  }
  const rf::StreamGuard on(consumer);
  BOOST_TEST(rf::test::holds(array + 1, 7));
}

// Devices

BOOST_AUTO_TEST_CASE(a_record_on_another_device_is_refused) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  rf::Event event;
  event.record(rf::Stream(devices->first));
  const rf::Stream far(devices->second);
  require_error(rf::Errc::wrong_device, [&] { event.record(far); }, {devices->first.str(), devices->second.str()});
  BOOST_TEST((event.device() == devices->first));
  event.synchronize();
}

BOOST_AUTO_TEST_CASE(a_stream_of_one_device_waits_for_an_event_of_another,
                     *label("conformance-71") * label("conformance-91")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream near(devices->first);
  const rf::Stream far(devices->second);
  BOOST_TEST(seen_pending(near, [&] {
    const rf::Event event = near.record_event();
    far.wait_event(event);
    rf::bench::empty(far);
    const bool far_done = far.query();
    far.synchronize();
    BOOST_TEST(event.query());  // far's work came after it
    return far_done;
  }));
}

// Moved from

BOOST_AUTO_TEST_CASE(an_event_that_was_moved_from_is_refused) {
  const rf::Stream stream;
  rf::Event event;
  const rf::Event moved = std::move(event);
  require_error(rf::Errc::invalid_value, [&] { event.query(); }, {"moved from"});
  require_error(rf::Errc::invalid_value, [&] { event.synchronize(); });
  require_error(rf::Errc::invalid_value, [&] { event.record(stream); });
  require_error(rf::Errc::invalid_value, [&] { stream.wait_event(event); });
  require_error(rf::Errc::invalid_value, [&] { event.elapsed_time(moved); });
  require_error(rf::Errc::invalid_value, [&] { event.device(); });
  require_error(rf::Errc::invalid_value, [&] { event.flags(); });
  event = moved;
  BOOST_TEST(event.query());
}

BOOST_AUTO_TEST_SUITE_END()
