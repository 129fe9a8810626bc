#include "support.hpp"

#include <set>
#include <sstream>
#include <thread>
#include <unordered_set>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::require_error;
using rf::test::seen_pending;

BOOST_AUTO_TEST_SUITE(streams)

// Identity

BOOST_AUTO_TEST_CASE(two_streams_are_never_the_same, *label("report-17") * label("conformance-88")) {
  std::vector<rf::Stream> all;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 200; ++i) {
    all.emplace_back();
    ids.insert(all.back().id());
  }
  ids.insert(rf::default_stream().id());
  BOOST_TEST(ids.size() == all.size() + 1);

  // Eager work on any of them stays out of a capture on another.
  rf::Array outside;
  const auto graph = rf::capture(all[0], [&] {
    rf::bench::empty(all[0]);
    for (const std::size_t other : {32U, 64U, 128U}) {
      const rf::StreamGuard on(all[other]);
      outside = rf::test::filled(static_cast<float>(other));
      BOOST_TEST(rf::test::holds(outside, static_cast<double>(other)));
    }
  });
  BOOST_TEST(graph.node_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_stream_made_after_others_died_is_a_new_one, *label("report-17")) {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) ids.insert(rf::Stream().id());
  BOOST_TEST(ids.size() == 100U);
}

BOOST_AUTO_TEST_CASE(copies_and_moves_name_the_same_stream, *label("conformance-82")) {
  rf::Stream first;
  const std::uint64_t id = first.id();
  const rf::Stream copy = first;
  BOOST_TEST((copy == first));
  const rf::Stream moved = std::move(first);
  BOOST_TEST((moved == copy));
  BOOST_TEST(moved.id() == id);
  rf::Stream assigned;
  assigned = copy;
  BOOST_TEST(assigned.id() == id);
}

BOOST_AUTO_TEST_CASE(equality_and_hash_are_the_streams_identity, *label("conformance-68")) {
  std::vector<rf::Stream> all = {rf::default_stream(), rf::Stream(), rf::Stream()};
  if (const auto devices = rf::test::two_devices()) {
    all.push_back(rf::default_stream(devices->second));
    all.emplace_back(devices->second);
  }
  std::unordered_set<rf::Stream> set(all.begin(), all.end());
  set.insert(all.begin(), all.end());
  BOOST_TEST(set.size() == all.size());
  for (const rf::Stream& a : all) {
    const rf::Stream copy = a;
    BOOST_TEST(std::hash<rf::Stream>()(copy) == std::hash<rf::Stream>()(a));
    for (const rf::Stream& b : all) BOOST_TEST((a == b) == (&a == &b));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_was_moved_from_is_refused) {
  rf::Stream stream;
  const rf::Stream moved = std::move(stream);
  require_error(rf::Errc::invalid_value, [&] { stream.synchronize(); }, {"moved from"});
  BOOST_TEST(!stream.is_capturing());
}

BOOST_AUTO_TEST_CASE(printing_a_stream_names_it_and_its_device) {
  const rf::Stream stream;
  std::ostringstream text;
  text << stream;
  BOOST_TEST((text.str().find(std::to_string(stream.id())) != std::string::npos), text.str());
  BOOST_TEST((text.str().find(stream.device().str()) != std::string::npos), text.str());
}

BOOST_AUTO_TEST_CASE(native_handles_are_distinct_on_cuda_and_refused_on_the_host, *label("conformance-3")) {
  const rf::Stream first;
  const rf::Stream second;
  if (first.device().kind == rf::DeviceKind::host) {
    require_error(rf::Errc::not_supported, [&] { first.native(); }, {"host"});
    return;
  }
  BOOST_TEST((first.native() != nullptr));
  BOOST_TEST((first.native() == rf::Stream(first).native()));
  BOOST_TEST((first.native() != second.native()));
  BOOST_TEST((rf::default_stream().native() != nullptr));  // not CUDA's legacy stream
}

// Devices

BOOST_AUTO_TEST_CASE(a_stream_carries_its_device, *label("conformance-66")) {
  BOOST_TEST(rf::Stream().device() == rf::current_device());
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  for (const rf::Device device : {devices->first, devices->second}) {
    BOOST_TEST(rf::Stream(device).device() == device);
    const rf::DeviceGuard on(device);
    BOOST_TEST(rf::Stream().device() == device);
  }
}

BOOST_AUTO_TEST_CASE(a_stream_on_a_device_that_is_not_there_is_refused) {
  const rf::DeviceKind kind = rf::current_device().kind;
  const int count = rf::device_count(kind);
  require_error(rf::Errc::no_device,
                [&] {
                  rf::Stream(rf::Device{kind, count});
                },
                {rf::Device{kind, count}.str(), rf::Device{kind, 0}.str()});
  require_error(rf::Errc::no_device, [&] { rf::Stream(rf::Device{kind, -1}); });
}

// Priorities

BOOST_AUTO_TEST_CASE(priorities_inside_the_range_are_kept, *label("conformance-69")) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  BOOST_TEST(lowest >= highest);
  BOOST_TEST(rf::Stream().priority() == 0);
  for (int priority = highest; priority <= lowest; ++priority) BOOST_TEST(rf::Stream(priority).priority() == priority);
}

BOOST_AUTO_TEST_CASE(priorities_outside_the_range_are_clamped_at_both_ends, *label("conformance-83")) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  BOOST_TEST(rf::Stream(lowest + 1).priority() == lowest);
  BOOST_TEST(rf::Stream(highest - 1).priority() == highest);
  BOOST_TEST(rf::Stream(1 << 20).priority() == lowest);
  BOOST_TEST(rf::Stream(-(1 << 20)).priority() == highest);
}

// query and synchronize

BOOST_AUTO_TEST_CASE(a_new_stream_is_idle, *label("conformance-1")) {
  BOOST_TEST(rf::default_stream().id() == rf::current_stream().id());
  const rf::Stream stream;
  BOOST_TEST(stream.id() != rf::current_stream().id());
  BOOST_TEST(stream.query());
  {
    const rf::StreamGuard on(stream);
    BOOST_TEST((rf::current_stream() == stream));
    const rf::Array tensor = rf::test::filled(1);
  }
  stream.synchronize();
  BOOST_TEST(stream.query());
}

BOOST_AUTO_TEST_CASE(query_is_false_while_work_is_pending) {
  const rf::Stream stream;
  BOOST_TEST(seen_pending(stream, [&] { return stream.query(); }));
  stream.synchronize();
  BOOST_TEST(stream.query());
}

BOOST_AUTO_TEST_CASE(issuing_work_does_not_block_the_host) {
  const rf::Stream stream;
  BOOST_TEST(seen_pending(stream, [&] {
    const rf::StreamGuard on(stream);
    const rf::Array array = rf::test::filled(1) + 1;
    stream.wait_event(stream.record_event());
    return stream.query();
  }));
}

BOOST_AUTO_TEST_CASE(query_and_synchronize_answer_from_any_thread_and_device, *label("conformance-67")) {
  const auto devices = rf::test::two_devices();
  const rf::Device own = rf::current_device();
  const rf::Device other = devices ? devices->second : own;
  const rf::Stream stream(own);
  const rf::Stream idle(other);
  BOOST_TEST(seen_pending(stream, [&] {
    const rf::DeviceGuard on(other);
    return stream.query() || !idle.query();
  }));
  rf::test::keep_busy(stream);
  rf::test::on_another_thread([&] {
    const rf::DeviceGuard on(other);
    stream.synchronize();
  });
  BOOST_TEST(stream.query());
}

BOOST_AUTO_TEST_CASE(two_threads_wait_for_two_streams_at_once, *label("conformance-70")) {
  const rf::Stream first;
  const rf::Stream second;
  rf::test::keep_busy(first);
  rf::test::keep_busy(second);
  std::thread waits([&] { first.synchronize(); });
  second.synchronize();
  waits.join();
  BOOST_TEST(second.query());
  BOOST_TEST(first.query());
}

BOOST_AUTO_TEST_CASE(synchronizing_a_device_waits_for_all_of_its_streams, *label("conformance-61")) {
  const rf::Stream first;
  const rf::Stream second;
  rf::test::keep_busy(first);
  rf::test::keep_busy(second);
  rf::synchronize();
  BOOST_TEST(first.query());
  BOOST_TEST(second.query());
  rf::test::keep_busy(second);
  rf::synchronize(rf::current_device());
  BOOST_TEST(second.query());
  if (const auto devices = rf::test::two_devices()) {
    const rf::Stream far(devices->second);
    rf::test::keep_busy(far);
    rf::synchronize(devices->second);
    BOOST_TEST(far.query());
  }
}

BOOST_AUTO_TEST_CASE(synchronizing_a_device_that_is_not_there_is_refused, *label("conformance-61")) {
  const rf::DeviceKind kind = rf::current_device().kind;
  require_error(rf::Errc::no_device, [&] { rf::synchronize(rf::Device{kind, 63}); }, {"63"});
  if (rf::device_count(rf::DeviceKind::cuda) == 0) {
    require_error(rf::Errc::no_device,
                  [] {
                    rf::synchronize(rf::Device{rf::DeviceKind::cuda, 0});
                  },
                  {"cuda:0", rf::why_no_cuda()});
  }
}

// Order

BOOST_AUTO_TEST_CASE(work_of_one_stream_runs_in_issue_order) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Array array = rf::test::slowly(1);
  for (int i = 0; i < 10; ++i) {
    array *= 2;
    array += 1;
  }
  double expected = 1;
  for (int i = 0; i < 10; ++i) expected = expected * 2 + 1;
  BOOST_TEST(rf::test::holds(array, expected));
}

BOOST_AUTO_TEST_CASE(wait_stream_covers_what_was_issued_on_the_other_so_far) {
  const rf::test::HazardsScope strict(rf::Hazards::error);
  const rf::Stream producer;
  const rf::Stream consumer;
  rf::Array array;
  {
    const rf::StreamGuard on(producer);
    array = rf::test::slowly(3);
  }
  consumer.wait_stream(producer);
  const rf::StreamGuard on(consumer);
  const rf::Array doubled = array * 2;
  BOOST_TEST(rf::test::holds(doubled, 6));
}

BOOST_AUTO_TEST_CASE(wait_stream_does_not_cover_what_is_issued_later) {
  const rf::Stream producer;
  const rf::Stream consumer;
  consumer.wait_stream(producer);
  BOOST_TEST(seen_pending(producer, [&] {
    rf::bench::empty(consumer);
    consumer.synchronize();
    return producer.query();
  }));
}

BOOST_AUTO_TEST_CASE(a_stream_may_wait_for_itself) {
  const rf::Stream stream;
  rf::test::keep_busy(stream, 5);
  stream.wait_stream(stream);
  stream.synchronize();
  BOOST_TEST(stream.query());
}

BOOST_AUTO_TEST_CASE(issued_work_finishes_after_the_last_handle_died) {
  rf::Event done;
  rf::Array array;
  {
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    array = rf::test::slowly(7);
    done.record(stream);
  }
  done.synchronize();
  BOOST_TEST(done.query());
  BOOST_TEST(rf::test::holds(array, 7));
}

BOOST_AUTO_TEST_CASE(threads_may_submit_to_one_stream) {
  constexpr int threads = 4;
  constexpr int rounds = 100;
  const rf::Stream stream;
  rf::Array counter;
  {
    const rf::StreamGuard on(stream);
    counter = rf::zeros({3});
  }
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, mine = counter]() mutable {
      const rf::StreamGuard on(stream);
      for (int round = 0; round < rounds; ++round) mine += 1;
    });
  }
  for (std::thread& thread : all) thread.join();
  BOOST_TEST(rf::test::holds(counter, threads * rounds));
}

BOOST_AUTO_TEST_SUITE_END()
