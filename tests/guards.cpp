#include "support.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(guards)

// Defaults

BOOST_AUTO_TEST_CASE(the_current_stream_is_the_default_stream_at_first, *label("conformance-85")) {
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
  BOOST_TEST((rf::current_stream(rf::current_device()) == rf::current_stream()));
}

BOOST_AUTO_TEST_CASE(every_device_has_one_default_stream, *label("conformance-63")) {
  BOOST_TEST((rf::default_stream() == rf::default_stream()));
  BOOST_TEST((rf::default_stream() == rf::test::on_another_thread([] { return rf::default_stream(); })));
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream near = rf::default_stream(devices->first);
  const rf::Stream far = rf::default_stream(devices->second);
  BOOST_TEST(!(near == far));
  BOOST_TEST(near.device() == devices->first);
  BOOST_TEST(far.device() == devices->second);
  const rf::DeviceGuard on(devices->second);
  BOOST_TEST((rf::default_stream() == far));
}

BOOST_AUTO_TEST_CASE(the_current_stream_follows_the_current_device, *label("conformance-62")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::DeviceGuard near(devices->first);
  BOOST_TEST(rf::current_stream().device() == devices->first);
  BOOST_TEST(rf::current_stream(devices->second).device() == devices->second);
  const rf::DeviceGuard far(devices->second);
  BOOST_TEST(rf::current_stream().device() == devices->second);
  BOOST_TEST((rf::current_stream() == rf::default_stream(devices->second)));
}

BOOST_AUTO_TEST_CASE(streams_of_a_device_that_is_not_there_are_refused, *label("conformance-62")) {
  const rf::Device absent{rf::current_device().kind, 60};
  require_error(rf::Errc::no_device, [&] { rf::current_stream(absent); }, {absent.str()});
  require_error(rf::Errc::no_device, [&] { rf::default_stream(absent); }, {absent.str()});
  require_error(rf::Errc::no_device, [&] { rf::DeviceGuard on(absent); }, {absent.str()});
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

// Setting

BOOST_AUTO_TEST_CASE(set_current_stream_holds_until_the_next, *label("conformance-85")) {
  const rf::Stream mine;
  rf::set_current_stream(mine);
  BOOST_TEST((rf::current_stream() == mine));
  rf::set_current_stream(rf::default_stream());
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

BOOST_AUTO_TEST_CASE(setting_a_stream_of_another_device_leaves_the_current_device, *label("conformance-89")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::DeviceGuard on(devices->first);
  const rf::Stream far(devices->second);
  rf::set_current_stream(far);
  BOOST_TEST(rf::current_device() == devices->first);
  BOOST_TEST((rf::current_stream() == rf::default_stream(devices->first)));
  BOOST_TEST((rf::current_stream(devices->second) == far));
  rf::set_current_stream(rf::default_stream(devices->second));
}

BOOST_AUTO_TEST_CASE(every_device_has_a_current_stream_of_its_own, *label("conformance-89")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream near(devices->first);
  const rf::Stream far(devices->second);
  const rf::StreamGuard on_near(near);
  const rf::StreamGuard on_far(far);
  BOOST_TEST((rf::current_stream(devices->first) == near));
  BOOST_TEST((rf::current_stream(devices->second) == far));
}

BOOST_AUTO_TEST_CASE(the_current_stream_is_the_threads_own, *label("conformance-86")) {
  const rf::Stream mine;
  const rf::StreamGuard on(mine);
  const bool other_starts_at_default =
      rf::test::on_another_thread([] { return rf::current_stream() == rf::default_stream(); });
  BOOST_TEST(other_starts_at_default);
  const std::uint64_t other = rf::test::on_another_thread([] {
    const rf::Stream theirs;
    rf::set_current_stream(theirs);
    return rf::current_stream().id();
  });
  BOOST_TEST(other != mine.id());
  BOOST_TEST((rf::current_stream() == mine));
}

BOOST_AUTO_TEST_CASE(threads_set_their_streams_without_seeing_each_other, *label("conformance-86")) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const rf::Stream mine;
        const rf::StreamGuard on(mine);
        std::this_thread::yield();
        if (!(rf::current_stream() == mine)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong == 0);
}

// Guards

BOOST_AUTO_TEST_CASE(a_stream_guard_restores_the_stream_before_it, *label("conformance-12")) {
  const rf::Stream outer;
  const rf::Stream inner;
  {
    const rf::StreamGuard on_outer(outer);
    {
      const rf::StreamGuard on_inner(inner);
      BOOST_TEST((rf::current_stream() == inner));
    }
    BOOST_TEST((rf::current_stream() == outer));
  }
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

BOOST_AUTO_TEST_CASE(a_stream_guard_makes_the_streams_device_current, *label("conformance-87")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream far(devices->second);
  const rf::Stream far_before = rf::current_stream(devices->second);
  const rf::DeviceGuard near(devices->first);
  {
    const rf::StreamGuard on(far);
    BOOST_TEST(rf::current_device() == devices->second);
    BOOST_TEST((rf::current_stream() == far));
  }
  BOOST_TEST(rf::current_device() == devices->first);
  BOOST_TEST((rf::current_stream(devices->second) == far_before));
}

BOOST_AUTO_TEST_CASE(a_device_guard_changes_the_device_alone, *label("conformance-87")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream near(devices->first);
  const rf::Stream far(devices->second);
  const rf::StreamGuard on_far(far);
  const rf::StreamGuard on_near(near);
  {
    const rf::DeviceGuard on(devices->second);
    BOOST_TEST(rf::current_device() == devices->second);
    BOOST_TEST((rf::current_stream() == far));
    BOOST_TEST((rf::current_stream(devices->first) == near));
  }
  BOOST_TEST(rf::current_device() == devices->first);
}

BOOST_AUTO_TEST_CASE(guards_nest_over_two_devices, *label("conformance-65")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::DeviceGuard start(devices->first);
  const rf::Stream first(devices->first);
  const rf::Stream second(devices->second);
  const rf::Stream third(devices->first);
  const auto is_at = [](const rf::Stream& stream) {
    return rf::current_device() == stream.device() && rf::current_stream() == stream;
  };
  {
    const rf::StreamGuard on_first(first);
    BOOST_TEST(is_at(first));
    {
      const rf::StreamGuard on_second(second);
      BOOST_TEST(is_at(second));
      {
        const rf::StreamGuard on_third(third);
        BOOST_TEST(is_at(third));
        BOOST_TEST((rf::current_stream(devices->second) == second));
      }
      BOOST_TEST(is_at(second));
      BOOST_TEST((rf::current_stream(devices->first) == first));
    }
    BOOST_TEST(is_at(first));
  }
  BOOST_TEST(is_at(rf::default_stream(devices->first)));
  BOOST_TEST((rf::current_stream(devices->second) == rf::default_stream(devices->second)));
}

BOOST_AUTO_TEST_CASE(guards_restore_when_an_exception_passes) {
  const auto devices = rf::test::two_devices();
  const rf::Device before = rf::current_device();
  const rf::Device other = devices ? devices->second : before;
  const rf::Stream stream(other);
  const auto leave_by_exception = [&] {
    const rf::StreamGuard on(stream);
    const rf::DeviceGuard device(before);
    throw std::runtime_error("out");
  };
  BOOST_CHECK_THROW(leave_by_exception(), std::runtime_error);
  BOOST_TEST(rf::current_device() == before);
  BOOST_TEST((rf::current_stream(other) == rf::default_stream(other)));
}

BOOST_AUTO_TEST_CASE(arrays_are_made_on_the_guards_device_and_stream) {
  const auto devices = rf::test::two_devices();
  const rf::Stream stream(devices ? devices->second : rf::current_device());
  const rf::StreamGuard on(stream);
  rf::Array array;
  BOOST_TEST(rf::test::seen_pending(stream, [&] {
    array = rf::test::filled(1);
    return stream.query();  // the array's work is behind the stream's other work
  }));
  BOOST_TEST(array.device() == stream.device());
}

BOOST_AUTO_TEST_SUITE_END()
