// What other systems' tests check of devices and their streams, and a field report of them, on two devices.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_scopes.hpp"

#include <refrain/enqueue.hpp>

#include <stdexcept>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;

namespace {

/// Makes a stream current for its device alone, until the end of the scope.
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

bool is_at(const rf::Stream& stream) {
  return rf::current_device() == stream.device() && rf::current_stream() == stream;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance_devices)

BOOST_AUTO_TEST_CASE(streams_can_be_set_and_devices_that_are_not_there_are_refused, *label("conformance-7")) {
  const rf::Stream first;
  const rf::Stream second;
  {
    const Current on(first);
    BOOST_TEST((rf::current_stream() == first));
    rf::set_current_stream(second);
    BOOST_TEST((rf::current_stream() == second));
  }
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
  const rf::DeviceKind kind = rf::current_device().kind;
  for (const int index : {rf::device_count(kind), 1000, -1}) {
    const rf::Device absent{kind, index};
    const std::function<void()> uses[] = {
        [&] { rf::current_stream(absent); },
        [&] { rf::default_stream(absent); },
        [&] { rf::Stream of_absent(absent); },
        [&] { rf::DeviceGuard on(absent); },
        [&] { rf::synchronize(absent); },
        [&] { rf::zeros({1}, {.device = absent}); },
        [&] { rf::to_device(rf::zeros({1}), absent); },
        [&] { rf::Stream::priority_range(absent); },
    };
    for (const auto& use : uses) require_error(rf::Errc::no_device, use, {absent.str()});
  }
  BOOST_TEST((rf::current_stream() == rf::default_stream()));
}

BOOST_AUTO_TEST_CASE(a_device_guard_restores_the_device, *label("conformance-11") * label("conformance-10")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const auto [near, far] = *devices;
  const rf::Device before = rf::current_device();
  {
    const rf::DeviceGuard on_near(near);
    const rf::Stream far_before = rf::current_stream(far);
    {
      const rf::DeviceGuard on_far(far);
      BOOST_TEST(rf::current_device() == far);
      BOOST_TEST(rf::test::filled(1).device() == far);
      {
        const rf::DeviceGuard back(near);
        BOOST_TEST(rf::current_device() == near);
        BOOST_TEST(rf::test::filled(1).device() == near);
      }
      {
        const rf::DeviceGuard again(far);
        BOOST_TEST(rf::current_device() == far);
      }
      BOOST_TEST(rf::current_device() == far);
    }
    BOOST_TEST(rf::current_device() == near);
    BOOST_TEST((rf::current_stream(far) == far_before));
    const auto leave = [&, far = far] {
      const rf::DeviceGuard on_far(far);
      throw std::runtime_error("out");
    };
    BOOST_CHECK_THROW(leave(), std::runtime_error);
    BOOST_TEST(rf::current_device() == near);
    BOOST_TEST(rf::test::on_another_thread([far = far] {
      const rf::DeviceGuard on_far(far);
      return rf::current_device() == far;
    }));
    BOOST_TEST(rf::current_device() == near);
  }
  BOOST_TEST(rf::current_device() == before);
}

BOOST_AUTO_TEST_CASE(a_stream_guard_switches_the_device_and_restores_both_streams,
                     *label("conformance-13") * label("conformance-12")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const auto [near, far] = *devices;
  const rf::DeviceGuard start(near);
  const rf::Stream on_near(near);
  const rf::Stream on_far(far);
  const rf::Stream near_before = rf::current_stream(near);
  const rf::Stream far_before = rf::current_stream(far);
  {
    const rf::StreamGuard first(on_near);
    BOOST_TEST(is_at(on_near));
    BOOST_TEST((rf::current_stream(far) == far_before));
    {
      const rf::StreamGuard second(on_far);
      BOOST_TEST(is_at(on_far));
      BOOST_TEST((rf::current_stream(near) == on_near));
      BOOST_TEST(rf::test::filled(1).device() == far);
      {
        const rf::DeviceGuard back(near);
        BOOST_TEST(is_at(on_near));
      }
    }
    BOOST_TEST(is_at(on_near));
    BOOST_TEST((rf::current_stream(far) == far_before));
  }
  BOOST_TEST(is_at(near_before));
  BOOST_TEST((rf::current_stream(far) == far_before));
}

BOOST_AUTO_TEST_CASE(a_copy_between_devices_is_ordered_with_the_streams_of_both, *label("conformance-79")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::test::HazardsScope hazards(rf::Hazards::error);  // the streams alone order all of it
  const auto [near, far] = *devices;
  const rf::DeviceGuard start(near);
  const rf::Stream on_near(near);
  const rf::Stream on_far(far);
  const Current near_current(on_near);
  const Current far_current(on_far);
  for (int round = 0; round < 10; ++round) {
    rf::test::Gate gate(on_near);
    rf::Array x = rf::full({1000}, round);
    rf::Array there = rf::to_device(x, far);
    BOOST_TEST(there.device() == far);
    BOOST_TEST(!on_far.query());  // it waits for the source's stream
    x.assign(-1);                 // not before the copy
    {
      const rf::DeviceGuard on(far);
      there += 1;  // not before the copy either
    }
    BOOST_TEST(gate.open());
    BOOST_TEST(holds(there, round + 1));
    BOOST_TEST(holds(x, -1));
    const rf::Array back = rf::to_device(there, near);
    BOOST_TEST(holds(back + x, round));
  }
  rf::Array x = rf::full({1000}, 4);
  rf::test::Gate gate(on_far);
  const rf::Array there = rf::to_device(x, far);
  x += 1;  // waits for the other device's stream, which reads it
  BOOST_TEST(!on_near.query());
  BOOST_TEST(gate.open());
  BOOST_TEST(holds(there, 4));
  BOOST_TEST(holds(x, 5));
}

BOOST_AUTO_TEST_CASE(a_captured_copy_between_devices_is_ordered_with_the_streams_of_both, *label("conformance-79")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const auto [near, far] = *devices;
  const rf::DeviceGuard start(near);
  const rf::Stream on_near(near);
  const rf::Stream on_far(far);
  const Current far_current(on_far);
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      rf::Array x = rf::zeros({1000});
      rf::Array sum = rf::zeros({1000}, {.device = far});
      rf::synchronize(near);
      rf::synchronize(far);
      const rf::GraphExec exec = record(scope, on_near, [&, far = far] {
                                   x += 1;
                                   const rf::Array there = rf::to_device(x, far);
                                   x += 1;
                                   {
                                     const rf::DeviceGuard on(far);
                                     sum += there;
                                   }
                                   on_near.wait_stream(on_far);
                                 }).instantiate();
      for (const rf::Stream& target : {on_near, on_far, on_near}) exec.replay(target);
      BOOST_TEST(holds(sum, 1 + 3 + 5));
      BOOST_TEST(holds(x, 6));
      BOOST_TEST(rf::current_device() == near);
    }
  }
}

BOOST_AUTO_TEST_CASE(enqueued_work_goes_to_the_device_of_its_stream_whatever_is_current, *label("report-35")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const auto [near, far] = *devices;
  const rf::DeviceGuard start(near);
  const rf::Stream stream(far);
  const Current far_current(stream);
  rf::Array x = rf::zeros({1000}, {.device = far});
  rf::synchronize(far);
  int calls = 0;
  const auto program = [&] {
    const rf::Array doubled = x * 2;  // with memory of its own
    stream.enqueue("add_one", rf::readwrite(x), rf::read(doubled),
                   rf::on_cuda([&](cudaStream_t, float*, const float*) { ++calls; }),
                   rf::on_host([&](float* p, const float* twice) {
                     ++calls;
                     for (int i = 0; i < 1000; ++i) p[i] = twice[i] - p[i] + 1;
                   }));
    BOOST_TEST(rf::current_device() == near);
    return x + doubled;
  };
  const bool is_host = near.kind == rf::DeviceKind::host;
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      x.assign(0);
      rf::synchronize(near);
      rf::synchronize(far);
      calls = 0;
      const rf::MemoryStats before = rf::memory_stats(near);
      rf::Graph graph;
      rf::Array sum;
      if (scope.by_stream) {
        rf::Capture capture(stream, {.live = scope.live});
        sum = program();
        graph = capture.end();
      } else {
        graph = rf::capture([&] { sum = program(); }, {.live = scope.live});
      }
      for (const rf::GraphNode& node : graph.nodes()) BOOST_TEST(node.device == far);
      const rf::GraphExec exec = graph.instantiate();
      exec.replay(stream);
      BOOST_TEST(holds(sum, is_host ? 1 : 0));  // on CUDA the function does nothing
      exec.replay(stream);
      BOOST_TEST(holds(sum, is_host ? 4 : 0));
      BOOST_TEST(calls == (is_host ? 2 : 1));
      BOOST_TEST(rf::current_device() == near);
      BOOST_TEST(rf::memory_stats(near).live == before.live);
      BOOST_TEST(rf::memory_stats(near).allocations == before.allocations);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
