// What belongs to a captured graph: memory of its streams, host bytes, events; and what a scope restores.

#include "support.hpp"
#include "support_scopes.hpp"

#include <optional>
#include <sstream>
#include <stdexcept>

using boost::test_tools::per_element;
using boost::unit_test::label;
namespace rf = refrain;
using rf::Errc;
using rf::test::filled;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;

namespace {

constexpr std::int64_t size = 20000;

/// Small numbers of every dtype, as host values and as an array made in a capture.
template <class T>
void host_values_are_copied(Scope scope, std::int64_t count) {
  const rf::Stream stream;
  auto values = std::make_optional<std::vector<T>>();
  for (std::int64_t i = 0; i < count; ++i) values->push_back(static_cast<T>(i % 120));
  const std::vector<T> expected = *values;
  const auto [graph, copied] = record(scope, stream, [&] {
    const rf::Array made = rf::from_host(*values, {count});
    values->assign(values->size(), T(1));  // at once
    return made;
  });
  values.reset();
  const rf::GraphExec exec = graph.instantiate();
  for (int i = 0; i < 3; ++i) {
    const std::vector<T> others(static_cast<std::size_t>(count), T(1));
    exec.replay(stream);
    BOOST_TEST((copied.template to_vector<T>() == expected));
    rf::Array changed = copied;
    changed.assign(0);  // the next replay copies again
    BOOST_TEST(rf::from_host(others, {count}).size() == count);
  }
}

/// The device is current in `fn`, and what was current before is current afterwards.
void device_is_restored(rf::Device device, const std::function<void()>& fn) {
  const rf::Device before = rf::current_device();
  const rf::Stream stream = rf::current_stream();
  try {
    const rf::DeviceGuard on(device);
    BOOST_TEST(rf::current_device() == device);
    BOOST_TEST(rf::current_stream().device() == device);
    BOOST_TEST(rf::zeros({2}).device() == device);
    BOOST_TEST(rf::Stream().device() == device);
    fn();
  } catch (const std::runtime_error&) {
  }
  BOOST_TEST(rf::current_device() == before);
  BOOST_TEST((rf::current_stream() == stream));
  BOOST_TEST(rf::zeros({2}).device() == before);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance_captures)

BOOST_AUTO_TEST_CASE(a_device_guard_restores_the_device, *label("conformance-10")) {
  const rf::Stream mine;
  const rf::StreamGuard on(mine);
  for (const rf::Device device : rf::devices()) {
    device_is_restored(device, [] {});
    device_is_restored(device, [&] {
      for (const rf::Device inner : rf::devices()) device_is_restored(inner, [] {});
      BOOST_TEST(rf::current_device() == device);
    });
    device_is_restored(device, [] { throw std::runtime_error("out of the scope"); });
    device_is_restored(device, [] {
      const rf::Stream stream;
      const rf::StreamGuard on_stream(stream);
      BOOST_TEST((rf::current_stream() == stream));
    });
    device_is_restored(device, [] { rf::capture([] { throw std::runtime_error("out of a capture"); }); });
  }
}

BOOST_AUTO_TEST_CASE(memory_made_on_a_forked_stream_belongs_to_the_graph, *label("conformance-53")) {
  const rf::Device device = rf::current_device();
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      const rf::Stream forked;
      const rf::Stream further;
      const rf::Array x = filled(3, size);
      rf::synchronize();
      const std::int64_t before = rf::memory_stats(device).live;
      {
        auto made = record(scope, origin, [&] {
          forked.wait_event(origin.record_event());
          rf::Array on_forked;
          {
            const rf::StreamGuard on(forked);
            const rf::Array temporary = x + 1;
            on_forked = temporary * 2;
          }
          further.wait_stream(forked);
          const rf::StreamGuard on(further);
          const rf::Array temporary = on_forked - 3;
          const rf::Array result = temporary * 4;
          origin.wait_stream(further);
          return result;
        });
        const rf::GraphExec exec = made.first.instantiate();
        BOOST_TEST(rf::memory_stats(device).live >= before + x.size_bytes());
        // Eager work on those streams gets other memory, before, between and after replays.
        std::vector<rf::Array> others;
        const auto take = [&] {
          for (const rf::Stream& stream : {origin, forked, further}) {
            const rf::StreamGuard on(stream);
            others.push_back(filled(-1, size));
          }
        };
        take();
        for (int i = 0; i < 3; ++i) {
          exec.replay(i % 2 == 0 ? origin : forked);
          take();
          BOOST_TEST(holds(made.second, 20));
        }
        for (const rf::Array& other : others) BOOST_TEST(holds(other, -1));
      }
      rf::synchronize();
      BOOST_TEST(rf::memory_stats(device).live == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(pageable_host_memory_is_copied_into_the_graph_and_never_out_of_it, *label("conformance-60a")) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      for (const std::int64_t count : {1, 7, 1000, 300000}) {
        host_values_are_copied<float>(scope, count);
        host_values_are_copied<std::int64_t>(scope, count);
      }
      host_values_are_copied<std::int32_t>(scope, 100);
      host_values_are_copied<double>(scope, 100);
      host_values_are_copied<float>(scope, 0);
      // To the host there is no copy that could be recorded.
      const rf::Stream stream;
      rf::Array x = filled(4);
      rf::synchronize();
      std::vector<float> target = {-1};
      std::ostringstream text;
      const rf::Graph graph = record(scope, stream, [&] {
        x += 1;
        require_error(Errc::capture_unsupported, [&] { target = x.to_vector<float>(); }, {"to_vector", "capture"});
        require_error(Errc::capture_unsupported, [&] { text << x; }, {"print", "capture"});
        x += 1;
      });
      BOOST_TEST(target == std::vector<float>{-1}, per_element());
      BOOST_TEST(graph.node_count() == 2);
      graph.instantiate().replay();
      BOOST_TEST(holds(x, 6));
    }
  }
}

BOOST_AUTO_TEST_CASE(events_that_were_moved_time_a_graph, *label("conformance-97")) {
  for (const Scope scope : scopes) {
    for (const bool external : {false, true}) {
      BOOST_TEST_CONTEXT(scope << (external ? ", external" : "")) {
        const rf::EventFlags flags{.timing = true, .external = external};
        const rf::Stream origin;
        rf::Event start(flags);
        rf::Event end(flags);
        rf::Event moved_start = std::move(start);  // before any record
        std::vector<rf::Event> events;
        const rf::Graph graph = record(scope, origin, [&] {
          moved_start.record(origin);
          rf::test::keep_busy(origin, 2);
          end.record(origin);
          events.push_back(std::move(moved_start));  // between record and end
        });
        events.push_back(std::move(end));
        const rf::GraphExec exec = graph.instantiate();
        for (int i = 0; i < 3; ++i) {
          events.reserve(events.capacity() + 1);  // moves them all
          exec.replay();
          events[1].synchronize();
          BOOST_TEST(events[0].elapsed_time(events[1]) > 0.0F);
          BOOST_TEST(events[1].elapsed_time(events[0]) < 0.0F);
        }
        for (const rf::Event* gone : {&start, &moved_start, &end}) {
          require_error(Errc::invalid_value, [&] { gone->query(); }, {"moved from"});
        }
        BOOST_TEST((events[0].flags() == flags));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
