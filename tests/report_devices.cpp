// Several devices: whose an event is, where a capture is made; and the priorities of streams.

#include "support.hpp"
#include "support_scopes.hpp"

using boost::unit_test::label;
namespace rf = refrain;
using rf::Errc;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;
using rf::test::seen_pending;

namespace {

const rf::EventFlags timing_flags{.timing = true};

/// Two devices, the first current, and a stream on each.
struct TwoDevices {
  explicit TwoDevices(std::pair<rf::Device, rf::Device> devices)
      : near_device(devices.first), far_device(devices.second), on(near_device), near(near_device), far(far_device) {}

  const rf::Device near_device;
  const rf::Device far_device;
  const rf::DeviceGuard on;
  const rf::Stream near;
  const rf::Stream far;
};

/// Makes a stream current for its device alone, which a StreamGuard would make current too.
class CurrentOfItsDevice {
 public:
  explicit CurrentOfItsDevice(const rf::Stream& stream) : previous_(rf::current_stream(stream.device())) {
    rf::set_current_stream(stream);
  }
  ~CurrentOfItsDevice() { rf::set_current_stream(previous_); }
  CurrentOfItsDevice(const CurrentOfItsDevice&) = delete;
  CurrentOfItsDevice& operator=(const CurrentOfItsDevice&) = delete;

 private:
  const rf::Stream previous_;
};

/// An event that was made while the near device was current and recorded on the far one is the far one's.
void event_is_of_the_far_device(const TwoDevices& d, rf::Event& event) {
  BOOST_TEST((event.device() == d.far_device));
  require_error(Errc::wrong_device, [&] { event.record(d.near); }, {d.far_device.str()});
  require_error(Errc::wrong_device, [&] { event.record(); }, {d.far_device.str()});
  BOOST_TEST(rf::current_device() == d.near_device);
  BOOST_TEST(seen_pending(d.far, [&] {
    event.record(d.far);
    d.near.wait_event(event);
    rf::bench::empty(d.near);
    const bool is_done = d.near.query();
    d.near.synchronize();
    BOOST_TEST(event.query());
    return is_done;
  }));
  rf::Event of_near(timing_flags);
  of_near.record(d.near);
  of_near.synchronize();
  event.synchronize();
  for (const auto& [start, end] : {std::pair{&event, &of_near}, std::pair{&of_near, &event}}) {
    require_error(Errc::invalid_value, [&, first = start, second = end] { first->elapsed_time(*second); }, {"device"});
  }
  rf::Event later(timing_flags);
  rf::test::keep_busy(d.far, 1);
  later.record(d.far);
  later.synchronize();
  BOOST_TEST(event.elapsed_time(later) > 0.0F);
}

/// The text of each cluster of a graph's DOT.
std::vector<std::string> clusters(const std::string& dot) {
  std::vector<std::string> all;
  for (std::size_t at = dot.find("subgraph"); at != std::string::npos; at = dot.find("subgraph", at + 1)) {
    all.push_back(dot.substr(at, dot.find('}', at) - at));
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_devices)

BOOST_AUTO_TEST_CASE(an_event_belongs_to_the_device_of_the_stream_that_records_it, *label("report-23")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const TwoDevices d(*devices);
  {
    rf::Event event(timing_flags);
    event.record(d.far);
    event_is_of_the_far_device(d, event);
  }
  {
    const rf::Event recorded = d.far.record_event();
    BOOST_TEST((recorded.device() == d.far_device));
  }
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      rf::Event event(timing_flags);
      rf::Event of_near(timing_flags);
      const rf::Graph graph = record(scope, d.near, [&] {
        of_near.record(d.near);
        d.far.wait_stream(d.near);
        rf::bench::empty(d.far);
        event.record(d.far);
        d.near.wait_event(event);
        rf::bench::empty(d.near);
      });
      BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}, {2, 3}}));
      BOOST_TEST(graph.nodes().at(2).device == d.far_device);
      const rf::GraphExec exec = graph.instantiate();
      for (const rf::Stream& target : {d.near, d.far}) {
        exec.replay(target);
        event.synchronize();
        of_near.synchronize();
        BOOST_TEST((of_near.device() == d.near_device));
        BOOST_TEST((event.device() == d.far_device));
        require_error(Errc::invalid_value, [&] { of_near.elapsed_time(event); }, {"device"});
      }
      event_is_of_the_far_device(d, event);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_capture_is_made_on_the_device_of_its_stream_whatever_is_current, *label("report-35")) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const TwoDevices d(*devices);
  rf::Array x = rf::zeros({1000}, {.device = d.far_device});
  rf::synchronize(d.far_device);
  const CurrentOfItsDevice on_far(d.far);
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      rf::synchronize(d.far_device);
      rf::synchronize(d.near_device);
      const rf::MemoryStats before = rf::memory_stats(d.near_device);
      x.assign(0);
      rf::Array sum;
      const auto body = [&] {
        rf::Array made = x + rf::ones({1000}, {.device = d.far_device});  // with temporaries of its own
        made *= rf::rand({1000}, {.device = d.far_device}) * 0 + 2;
        x += 1;
        sum = made + x;
        BOOST_TEST(rf::current_device() == d.near_device);
      };
      rf::Graph graph;
      if (scope.by_stream) {
        rf::synchronize(d.far_device);
        rf::Capture capture(d.far, {.live = scope.live});
        body();
        graph = capture.end();
      } else {
        graph = rf::capture(body, {.live = scope.live});
      }
      for (const rf::GraphNode& node : graph.nodes()) BOOST_TEST(node.device == d.far_device);
      const rf::GraphExec exec = graph.instantiate();
      for (int i = 0; i < 3; ++i) {
        exec.replay(d.far);
        BOOST_TEST(holds(sum, 2 * (i + 1) + i + 1));
        BOOST_TEST(rf::current_device() == d.near_device);
      }
      BOOST_TEST(rf::memory_stats(d.near_device).live == before.live);
      BOOST_TEST(rf::memory_stats(d.near_device).allocations == before.allocations);
    }
  }
}

BOOST_AUTO_TEST_CASE(priorities_of_a_captures_streams_are_in_its_graph, *label("report-64")) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      const rf::Stream heavy(lowest);
      const rf::Stream light(highest);
      rf::Array x = rf::zeros({1000});
      rf::Array y = rf::zeros({4});
      rf::synchronize();
      const rf::Graph graph = record(scope, origin, [&] {
        rf::bench::empty(origin);
        heavy.wait_stream(origin);
        light.wait_stream(origin);
        {
          const rf::StreamGuard on(heavy);
          for (int i = 0; i < 5; ++i) x += 1;
        }
        {
          const rf::StreamGuard on(light);
          y *= 2;
        }
        origin.wait_stream(heavy);
        origin.wait_stream(light);
      });
      const rf::GraphExec exec = graph.instantiate();
      for (const std::string& dot : {graph.to_dot(), exec.to_dot()}) {
        int found = 0;
        for (const std::string& cluster : clusters(dot)) {
          const auto has = [&](const std::string& text) { return cluster.find(text) != std::string::npos; };
          for (const auto& [stream, op] : {std::pair{&heavy, " add"}, std::pair{&light, " mul"}}) {
            if (!has("stream " + std::to_string(stream->id()) + " ")) continue;
            ++found;
            BOOST_TEST(has("priority " + std::to_string(stream->priority())), cluster);
            BOOST_TEST(has(op), cluster);
          }
        }
        BOOST_TEST(found == 2);
      }
      for (int i = 0; i < 3; ++i) exec.replay();
      BOOST_TEST(holds(x, 15));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
