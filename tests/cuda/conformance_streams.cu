// What other systems' tests check of streams and events of other code's, and what they check of streams, events and
// devices, once more with those.

#include "support.hpp"
#include "support_foreign.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

#include <atomic>
#include <latch>
#include <thread>
#include <unordered_set>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;

namespace {

const rf::EventFlags timing_flags{.timing = true};

/// A raw stream of a device, and its handle.
struct Wrapped {
  explicit Wrapped(rf::Device device = rf::current_device()) : native(device), stream(rf::Stream::wrap(native)) {}

  void keep_busy(int milliseconds = 100) const { foreign::keep_busy(stream.device(), native, milliseconds); }

  const foreign::Stream native;
  const rf::Stream stream;
};

/// The device under test, and another one where there are two.
struct Devices {
  const std::optional<std::pair<rf::Device, rf::Device>> two = rf::test::two_devices();
  const rf::Device near = rf::current_device();
  const rf::Device far = two ? two->second : near;
};

/// True once `is_done` answered false behind work of other code's.
bool seen_pending(const Wrapped& on, const std::function<bool()>& is_done) {
  for (const int milliseconds : {50, 200, 800}) {
    on.keep_busy(milliseconds);
    if (!is_done()) return true;
    on.stream.synchronize();
  }
  return false;
}

/// Makes a stream current for its device alone.
class Current {
 public:
  explicit Current(const rf::Stream& stream) : previous_(rf::current_stream(stream.device())) {
    rf::set_current_stream(stream);
  }
  ~Current() { rf::set_current_stream(previous_); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const rf::Stream previous_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_conformance_streams, *label("sanitize"))

// Streams of other code's

BOOST_AUTO_TEST_CASE(a_raw_stream_can_be_wrapped_and_keeps_its_handle, *label("conformance-74")) {
  const Wrapped w;
  BOOST_TEST((w.stream.native() == w.native));
  BOOST_TEST(w.stream.device() == rf::current_device());
  const rf::Stream again = rf::Stream::wrap(w.native, rf::current_device());
  BOOST_TEST((again == w.stream));
  const rf::StreamGuard on(again);
  BOOST_TEST(holds(rf::test::filled(3) + 1, 4));
}

BOOST_AUTO_TEST_CASE(a_raw_stream_of_another_device_can_be_wrapped_and_keeps_its_handle, *label("conformance-75")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::DeviceGuard on_near(devices->first);
  const Wrapped far(devices->second);
  BOOST_TEST((far.stream.native() == far.native));
  BOOST_TEST(far.stream.device() == devices->second);
  BOOST_TEST((rf::Stream::wrap(far.native, devices->second) == far.stream));
  require_error(rf::Errc::wrong_device, [&] { rf::Stream::wrap(far.native, devices->first); });
  const rf::StreamGuard on(far.stream);
  const rf::Array x = rf::test::filled(3) + 1;
  BOOST_TEST(x.device() == devices->second);
  BOOST_TEST(holds(x, 4));
}

BOOST_AUTO_TEST_CASE(a_raw_stream_becomes_current, *label("conformance-93") * label("conformance-1")) {
  const Wrapped w;
  BOOST_TEST(w.stream.query());
  {
    const Current on(w.stream);
    BOOST_TEST((rf::current_stream() == w.stream));
    BOOST_TEST((rf::current_stream().native() == w.native));
    const rf::Array x = rf::test::filled(1);
    w.stream.synchronize();
    BOOST_TEST(cudaStreamQuery(w.native) == cudaSuccess);
  }
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

BOOST_AUTO_TEST_CASE(raw_streams_are_current_on_two_devices_at_once, *label("conformance-94")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const Wrapped near(devices->first);
  const Wrapped far(devices->second);
  const rf::DeviceGuard start(devices->first);
  const Current on_near(near.stream);
  const Current on_far(far.stream);
  BOOST_TEST((rf::current_stream(devices->first) == near.stream));
  BOOST_TEST((rf::current_stream(devices->second) == far.stream));
  BOOST_TEST((rf::current_stream() == near.stream));
  const rf::DeviceGuard on(devices->second);
  BOOST_TEST((rf::current_stream() == far.stream));
}

BOOST_AUTO_TEST_CASE(guards_nest_over_raw_streams, *label("conformance-95") * label("conformance-12")) {
  const Wrapped first;
  const Wrapped second;
  const rf::Stream mine;
  const auto is_at = [](const rf::Stream& stream) { return rf::current_stream() == stream; };
  {
    const rf::StreamGuard on_first(first.stream);
    BOOST_TEST(is_at(first.stream));
    {
      const rf::StreamGuard on_second(second.stream);
      BOOST_TEST(is_at(second.stream));
      rf::set_current_stream(mine);  // another one in the same scope
      BOOST_TEST(is_at(mine));
      {
        const rf::StreamGuard again(first.stream);
        BOOST_TEST(is_at(first.stream));
      }
      BOOST_TEST(is_at(mine));
    }
    BOOST_TEST(is_at(first.stream));
  }
  BOOST_TEST(is_at(rf::default_stream()));
}

BOOST_AUTO_TEST_CASE(threads_with_raw_streams_do_not_disturb_each_other,
                     *label("conformance-96") * label("conformance-86")) {
  constexpr int threads = 2;
  const Wrapped streams[threads];  // made here: Boost.Test's checks are for one thread
  std::atomic<int> wrong{0};
  std::latch all_set(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const Wrapped& mine = streams[i];
      rf::set_current_stream(mine.stream);
      all_set.arrive_and_wait();
      for (int round = 0; round < 20; ++round) {
        const rf::Array x = rf::test::filled(static_cast<float>(i)) + round;
        if (!(rf::current_stream() == mine.stream) || !holds(x, i + round)) ++wrong;
      }
      rf::set_current_stream(rf::default_stream());
    });
  }
  for (std::thread& thread : running) thread.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

// What holds of streams, with work of other code's

BOOST_AUTO_TEST_CASE(synchronizing_a_device_waits_for_raw_streams_that_are_wrapped, *label("conformance-61")) {
  const Devices d;
  for (const rf::Device device : {d.near, d.far}) {
    const Wrapped w(device);
    w.keep_busy();
    rf::synchronize(device);
    BOOST_TEST(cudaStreamQuery(w.native) == cudaSuccess);
    BOOST_TEST(w.stream.query());
  }
}

BOOST_AUTO_TEST_CASE(the_current_raw_stream_follows_the_current_device, *label("conformance-62")) {
  const Devices d;
  const Wrapped far(d.far);
  const Current on_far(far.stream);
  BOOST_TEST((rf::current_stream(d.far) == far.stream));
  const rf::DeviceGuard on(d.far);
  BOOST_TEST((rf::current_stream() == far.stream));
  if (!d.two) return;
  const rf::DeviceGuard back(d.near);
  BOOST_TEST((rf::current_stream() == rf::default_stream(d.near)));
}

BOOST_AUTO_TEST_CASE(the_default_stream_stays_the_same_while_raw_streams_are_current, *label("conformance-63")) {
  const Devices d;
  const rf::Stream before = rf::default_stream(d.far);
  const Wrapped far(d.far);
  const rf::StreamGuard on(far.stream);
  BOOST_TEST((rf::default_stream() == before));
  BOOST_TEST((rf::default_stream(d.far) == before));
  BOOST_TEST(!(before == far.stream));
  BOOST_TEST((rf::Stream::wrap(before.native()) == before));
}

BOOST_AUTO_TEST_CASE(an_event_is_of_the_device_of_the_raw_stream_that_records_it, *label("conformance-64")) {
  const Devices d;
  const Wrapped far(d.far);
  rf::Event event;
  BOOST_TEST(!event.device().has_value());
  event.record(far.stream);
  BOOST_TEST((event.device() == d.far));
  const foreign::DeviceScope on(d.far);
  const runtime::Event native;
  rf::Event wrapped = rf::Event::wrap(native);
  BOOST_TEST(!wrapped.device().has_value());
  wrapped.record(far.stream);
  BOOST_TEST((wrapped.device() == d.far));
  wrapped.synchronize();
}

BOOST_AUTO_TEST_CASE(guards_of_raw_streams_nest_over_two_devices, *label("conformance-65") * label("conformance-87")) {
  const Devices d;
  const rf::DeviceGuard start(d.near);
  const Wrapped first(d.near);
  const Wrapped second(d.far);
  const Wrapped third(d.near);
  const auto is_at = [](const Wrapped& w) {
    return rf::current_device() == w.stream.device() && rf::current_stream() == w.stream;
  };
  {
    const rf::StreamGuard on_first(first.stream);
    BOOST_TEST(is_at(first));
    {
      const rf::StreamGuard on_second(second.stream);
      BOOST_TEST(is_at(second));
      {
        const rf::StreamGuard on_third(third.stream);
        BOOST_TEST(is_at(third));
        BOOST_TEST((!d.two || rf::current_stream(d.far) == second.stream));
      }
      BOOST_TEST(is_at(second));
    }
    BOOST_TEST(is_at(first));
  }
  BOOST_TEST(rf::current_device() == d.near);
  BOOST_TEST((rf::current_stream() == rf::default_stream(d.near)));
}

BOOST_AUTO_TEST_CASE(a_raw_stream_carries_its_device_and_priority, *label("conformance-66") * label("conformance-69")) {
  const Devices d;
  for (const rf::Device device : {d.near, d.far}) {
    const foreign::DeviceScope on(device);
    const auto [lowest, highest] = rf::Stream::priority_range(device);
    for (int priority = highest; priority <= lowest; ++priority) {
      const foreign::Stream native(priority);
      const rf::Stream stream = rf::Stream::wrap(native);
      BOOST_TEST(stream.device() == device);
      BOOST_TEST(stream.priority() == priority);
    }
  }
}

BOOST_AUTO_TEST_CASE(query_and_synchronize_of_a_raw_stream_answer_from_any_thread_and_device,
                     *label("conformance-67")) {
  const Devices d;
  const Wrapped w(d.near);
  const Wrapped idle(d.far);
  BOOST_TEST(seen_pending(w, [&] {
    const rf::DeviceGuard on(d.far);
    return w.stream.query() || !idle.stream.query();
  }));
  w.keep_busy();
  rf::test::on_another_thread([&] {
    const rf::DeviceGuard on(d.far);
    const foreign::DeviceScope on_raw(d.far);
    w.stream.synchronize();
  });
  BOOST_TEST(cudaStreamQuery(w.native) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(equality_and_hash_of_raw_streams_are_by_device_and_handle, *label("conformance-68")) {
  const Devices d;
  const Wrapped first(d.near);
  const Wrapped second(d.far);
  std::vector<rf::Stream> all{first.stream, second.stream, rf::default_stream(), rf::Stream()};
  for (const Wrapped* w : {&first, &second}) all.push_back(rf::Stream::wrap(w->native, w->stream.device()));
  const std::unordered_set<rf::Stream> set(all.begin(), all.end());
  BOOST_TEST(set.size() == 4U);
  for (const rf::Stream& a : all) {
    for (const rf::Stream& b : all) {
      BOOST_TEST((a == b) == (a.native() == b.native()));
      if (a == b) BOOST_TEST(std::hash<rf::Stream>()(a) == std::hash<rf::Stream>()(b));
    }
  }
}

BOOST_AUTO_TEST_CASE(two_threads_wait_for_two_raw_streams_at_once, *label("conformance-70")) {
  const Wrapped first;
  const Wrapped second;
  first.keep_busy();
  second.keep_busy();
  std::thread waits([&] { first.stream.synchronize(); });
  second.stream.synchronize();
  waits.join();
  BOOST_TEST(cudaStreamQuery(first.native) == cudaSuccess);
  BOOST_TEST(cudaStreamQuery(second.native) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(a_raw_stream_of_one_device_waits_for_work_of_another, *label("conformance-71")) {
  const Devices d;
  const Wrapped near(d.near);
  const Wrapped far(d.far);
  const auto is_ordered = [](const Wrapped& first, const Wrapped& then) {
    return seen_pending(first, [&] {
      const rf::Event event = first.stream.record_event();
      then.stream.wait_event(event);
      then.keep_busy(1);
      const bool is_done = then.stream.query();
      then.stream.synchronize();
      BOOST_TEST(event.query());
      return is_done;
    });
  };
  BOOST_TEST(is_ordered(near, far));
  BOOST_TEST(is_ordered(far, near));
}

BOOST_AUTO_TEST_CASE(an_event_on_a_raw_stream_answers_from_another_device_and_thread, *label("conformance-72")) {
  const Devices d;
  const Wrapped w(d.near);
  const runtime::Event native;
  for (rf::Event event : {rf::Event(), rf::Event::wrap(native)}) {
    const auto ask = [&] {
      const rf::DeviceGuard on(d.far);
      const foreign::DeviceScope on_raw(d.far);
      return event.query();
    };
    BOOST_TEST(seen_pending(w, [&] {
      event.record(w.stream);
      return ask();
    }));
    rf::test::on_another_thread([&] {
      const rf::DeviceGuard on(d.far);
      event.synchronize();
    });
    BOOST_TEST(ask());
  }
}

BOOST_AUTO_TEST_CASE(time_on_raw_streams_may_be_asked_with_another_device_current, *label("conformance-73")) {
  const Devices d;
  const Wrapped w(d.near);
  rf::Event first(timing_flags);
  rf::Event last(timing_flags);
  first.record(w.stream);
  w.keep_busy(20);
  last.record(w.stream);
  last.synchronize();
  const rf::DeviceGuard on(d.far);
  const foreign::DeviceScope on_raw(d.far);
  BOOST_TEST(first.elapsed_time(last) >= 19);
}

BOOST_AUTO_TEST_CASE(events_on_raw_streams_of_two_devices_have_no_time_between_them, *label("conformance-73")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const Wrapped near(devices->first);
  const Wrapped far(devices->second);
  rf::Event first(timing_flags);
  rf::Event last(timing_flags);
  first.record(near.stream);
  last.record(far.stream);
  first.synchronize();
  last.synchronize();
  require_error(rf::Errc::invalid_value, [&] { first.elapsed_time(last); }, {"device"});
}

BOOST_AUTO_TEST_CASE(copies_between_devices_are_ordered_with_raw_streams_of_both, *label("conformance-79")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::test::HazardsScope hazards(rf::Hazards::error);
  const Wrapped near(devices->first);
  const Wrapped far(devices->second);
  const rf::DeviceGuard start(devices->first);
  const Current on_near(near.stream);
  const Current on_far(far.stream);
  for (int round = 0; round < 5; ++round) {
    near.keep_busy(20);
    rf::Array x = rf::full({1000}, round);
    rf::Array there = rf::to_device(x, devices->second);
    BOOST_TEST(!far.stream.query());
    x.assign(-1);
    {
      const rf::DeviceGuard on(devices->second);
      there += 1;
    }
    BOOST_TEST(holds(there, round + 1));
    BOOST_TEST(holds(x, -1));
  }
}

// Field reports

BOOST_AUTO_TEST_CASE(an_event_belongs_to_the_device_of_the_raw_stream_that_records_it, *label("report-23")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::DeviceGuard start(devices->first);
  const Wrapped near(devices->first);
  const Wrapped far(devices->second);
  const auto check = [&](rf::Event event) {
    BOOST_TEST(seen_pending(far, [&] {
      event.record(far.stream);
      near.stream.wait_event(event);
      near.keep_busy(1);
      const bool is_done = near.stream.query();
      near.stream.synchronize();
      BOOST_TEST(event.query());
      return is_done;
    }));
    BOOST_TEST((event.device() == devices->second));
    require_error(rf::Errc::wrong_device, [&] { event.record(near.stream); }, {devices->second.str()});
  };
  check(rf::Event());
  {
    const foreign::DeviceScope on(devices->second);
    const runtime::Event native;
    check(rf::Event::wrap(native));
  }
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      rf::Event event;
      const rf::Graph graph = record(scope, near.stream, [&] {
        rf::bench::empty(near.stream);
        far.stream.wait_stream(near.stream);
        rf::bench::empty(far.stream);
        event.record(far.stream);
        near.stream.wait_event(event);
        rf::bench::empty(near.stream);
      });
      BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
      BOOST_TEST(graph.nodes().at(1).device == devices->second);
      const rf::GraphExec exec = graph.instantiate();
      exec.replay(near.stream);
      exec.replay(far.stream);
    }
  }
}

BOOST_AUTO_TEST_CASE(enqueued_work_is_captured_on_the_device_of_its_stream_whatever_is_current, *label("report-35")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::DeviceGuard start(devices->first);
  const foreign::DeviceScope start_raw(devices->first);
  const Wrapped far(devices->second);
  rf::Array x = rf::zeros({1000}, {.device = devices->second});
  rf::synchronize(devices->second);
  const Current on_far(far.stream);
  const auto program = [&] {
    rf::Array doubled = x * 2;  // with memory of its own
    far.stream.enqueue("add_one", rf::readwrite(x), rf::read(doubled), [&](cudaStream_t s, float* p, const float*) {
      int current = -1;
      CUDA_REQUIRE(cudaGetDevice(&current));
      BOOST_TEST(current == devices->second.index);
      foreign::add(s, p);
    });
    BOOST_TEST(rf::current_device() == devices->first);
    int current = -1;
    CUDA_REQUIRE(cudaGetDevice(&current));
    BOOST_TEST(current == devices->first.index);
    return x + doubled;
  };
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      x.assign(0);
      rf::synchronize(devices->first);
      rf::synchronize(devices->second);
      const rf::MemoryStats before = rf::memory_stats(devices->first);
      rf::Graph graph;
      rf::Array sum;
      if (scope.by_stream) {
        rf::Capture capture(far.stream, {.live = scope.live});
        sum = program();
        graph = capture.end();
      } else {
        graph = rf::capture([&] { sum = program(); }, {.live = scope.live});
      }
      for (const rf::GraphNode& node : graph.nodes()) BOOST_TEST(node.device == devices->second);
      const rf::GraphExec exec = graph.instantiate();
      exec.replay(far.stream);
      BOOST_TEST(sum.to_vector<float>()[0] == 1);  // 0 * 2 + 1
      exec.replay(far.stream);
      BOOST_TEST(sum.to_vector<float>()[0] == 4);  // 1 * 2 + 2
      BOOST_TEST(rf::memory_stats(devices->first).live == before.live);
      BOOST_TEST(rf::memory_stats(devices->first).allocations == before.allocations);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
