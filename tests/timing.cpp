#include "support.hpp"

#include <chrono>
#include <cmath>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::require_error;

namespace {

const rf::EventFlags timing_flags{.timing = true};

struct Pair {
  rf::Event start{timing_flags};
  rf::Event end{timing_flags};
};

/// Two completed timing events with work between them.
Pair timed(const rf::Stream& stream) {
  Pair pair;
  pair.start.record(stream);
  rf::test::keep_busy(stream, 10);
  pair.end.record(stream);
  pair.end.synchronize();
  return pair;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timing)

BOOST_AUTO_TEST_CASE(elapsed_time_of_done_events_is_positive, *label("conformance-4") * label("conformance-5")) {
  const Pair pair = timed(rf::Stream());
  BOOST_TEST(pair.start.elapsed_time(pair.end) > 0.0F);
  BOOST_TEST(pair.start.elapsed(pair.end).count() > 0);
}

BOOST_AUTO_TEST_CASE(milliseconds_and_chrono_agree) {
  const Pair pair = timed(rf::Stream());
  const std::chrono::duration<double, std::milli> exact = pair.start.elapsed(pair.end);
  BOOST_TEST(std::abs(exact.count() - pair.start.elapsed_time(pair.end)) <= 1e-6 * exact.count());
}

BOOST_AUTO_TEST_CASE(time_runs_backwards_from_end_to_start, *label("report-22")) {
  const Pair pair = timed(rf::Stream());
  BOOST_TEST(pair.end.elapsed_time(pair.start) < 0.0F);
  BOOST_TEST(pair.end.elapsed_time(pair.start) == -pair.start.elapsed_time(pair.end));
}

BOOST_AUTO_TEST_CASE(elapsed_time_right_after_the_record_says_to_synchronize, *label("report-19")) {
  const rf::Stream stream;
  rf::Event start(timing_flags);
  rf::Event end(timing_flags);
  start.record(stream);
  BOOST_TEST(rf::test::seen_pending(stream, [&] {
    end.record(stream);
    try {
      start.elapsed_time(end);
    } catch (const rf::Error& error) {
      BOOST_TEST(to_string(error.code()) == "not_ready");
      BOOST_TEST((std::string(error.what()).find("synchronize") != std::string::npos), error.what());
      return false;
    }
    return true;
  }));
  end.synchronize();
  BOOST_TEST(start.elapsed_time(end) > 0.0F);
}

BOOST_AUTO_TEST_CASE(each_misuse_has_an_error_of_its_own, *label("report-22") * label("conformance-5")) {
  const rf::Stream stream;
  rf::Event timed_event(timing_flags);
  timed_event.record(stream);
  timed_event.synchronize();
  rf::Event untimed;
  untimed.record(stream);
  untimed.synchronize();
  const rf::Event never(timing_flags);
  const auto refused = [](const rf::Event& start, const rf::Event& end, std::string_view word) {
    require_error(rf::Errc::invalid_value, [&] { start.elapsed_time(end); }, {word});
    require_error(rf::Errc::invalid_value, [&] { start.elapsed(end); }, {word});
  };
  refused(untimed, timed_event, "timing");
  refused(timed_event, untimed, "timing");
  refused(never, timed_event, "never recorded");
  refused(timed_event, never, "never recorded");
  refused(never, never, "never recorded");
}

BOOST_AUTO_TEST_CASE(misuses_are_checked_in_one_order, *label("report-22")) {
  const rf::Stream stream;
  const rf::Event untimed_never;
  const rf::Event never(timing_flags);
  rf::Event pending(timing_flags);
  // Timing before recorded, recorded before complete.
  require_error(rf::Errc::invalid_value, [&] { never.elapsed_time(untimed_never); }, {"timing"});
  rf::test::keep_busy(stream);
  pending.record(stream);
  require_error(rf::Errc::invalid_value, [&] { pending.elapsed_time(untimed_never); }, {"timing"});
  require_error(rf::Errc::invalid_value, [&] { pending.elapsed_time(never); }, {"never recorded"});
  require_error(rf::Errc::invalid_value, [&] { never.elapsed_time(pending); }, {"never recorded"});
}

BOOST_AUTO_TEST_CASE(events_of_two_devices_have_no_time_between_them, *label("conformance-73") * label("report-22")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream near(devices->first);
  const rf::Stream far(devices->second);
  rf::Event start(timing_flags);
  rf::Event end(timing_flags);
  start.record(near);
  end.record(far);
  start.synchronize();
  end.synchronize();
  require_error(rf::Errc::invalid_value, [&] { start.elapsed_time(end); }, {"device"});
  // Completeness is asked first.
  BOOST_TEST(rf::test::seen_pending(far, [&] {
    rf::Event late(timing_flags);
    late.record(far);
    try {
      start.elapsed_time(late);
    } catch (const rf::Error& error) {
      return error.code() != rf::Errc::not_ready;
    }
    return true;
  }));
}

BOOST_AUTO_TEST_CASE(time_may_be_asked_with_another_device_current, *label("conformance-73")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const Pair pair = timed(rf::Stream(devices->first));
  const rf::DeviceGuard on(devices->second);
  BOOST_TEST(pair.start.elapsed_time(pair.end) > 0.0F);
}

BOOST_AUTO_TEST_SUITE_END()
