// Streams of other code's: Stream::wrap.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_foreign.hpp"

#include "runtime/stream_core.hpp"

#include <atomic>
#include <optional>
#include <thread>
#include <unordered_set>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::holds;
using rf::test::require_error;

namespace {

const rf::Device host_device{rf::DeviceKind::host, 0};

/// A raw stream and its handle.
struct Wrapped : foreign::Case {
  foreign::Stream native;
  rf::Stream stream = rf::Stream::wrap(native);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_wrap, *boost::unit_test::label("sanitize"))

// Identity

BOOST_AUTO_TEST_CASE(one_native_stream_wrapped_twice_is_one_stream) {
  const foreign::Stream native;
  const foreign::Stream other;
  const rf::Stream first = rf::Stream::wrap(native);
  const rf::Stream second = rf::Stream::wrap(native, rf::current_device());
  BOOST_TEST((first == second));
  BOOST_TEST(first.id() == second.id());
  BOOST_TEST(std::hash<rf::Stream>()(first) == std::hash<rf::Stream>()(second));
  BOOST_TEST((first.native() == native));
  const rf::Stream third = rf::Stream::wrap(other);
  BOOST_TEST(!(first == third));
  const std::unordered_set<rf::Stream> all{first, second, third};
  BOOST_TEST(all.size() == 2U);
}

BOOST_AUTO_TEST_CASE(wrapping_the_native_stream_of_one_of_refrains_gives_that_one) {
  const rf::Stream mine;
  BOOST_TEST((rf::Stream::wrap(mine.native()) == mine));
  BOOST_TEST((rf::Stream::wrap(rf::default_stream().native()) == rf::default_stream()));
  const rf::Stream again = rf::Stream::wrap(mine.native(), mine.device());
  BOOST_TEST(again.id() == mine.id());
}

BOOST_AUTO_TEST_CASE(a_wrapped_stream_tells_its_device_and_priority) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  for (const int priority : {lowest, highest}) {
    const foreign::Stream native(priority);
    const rf::Stream stream = rf::Stream::wrap(native);
    BOOST_TEST(stream.priority() == priority);
    BOOST_TEST(stream.device() == rf::current_device());
    BOOST_TEST(stream.valid());
    BOOST_TEST(!stream.is_capturing());
  }
}

BOOST_AUTO_TEST_CASE(values_are_read_after_other_codes_work_on_the_current_stream) {
  for (const bool wrapped : {false, true}) {
    const foreign::Case loaded;
    const foreign::Stream native;
    const rf::Stream stream = wrapped ? rf::Stream::wrap(native) : rf::Stream();
    const rf::StreamGuard on(stream);
    const rf::Array x = rf::zeros({4});
    float* const address = foreign::address_of(x);
    BOOST_TEST(holds(x, 0));  // on whatever stream
    foreign::keep_busy(stream.native());
    foreign::add(stream.native(), address, 3);
    BOOST_TEST(x.to_vector<float>()[0] == 3);
    foreign::keep_busy(stream.native());
    foreign::add(stream.native(), address, 3);
    BOOST_TEST(x.slice(0, 1).item<float>() == 6);
  }
}

BOOST_AUTO_TEST_CASE(a_wrapped_stream_may_be_the_current_one) {
  Wrapped w;
  const rf::Stream before = rf::current_stream();
  {
    const rf::StreamGuard on(w.stream);
    BOOST_TEST((rf::current_stream() == w.stream));
    BOOST_TEST((rf::current_stream().native() == w.native));
    w.hold(w.native);
    const rf::Array x = rf::test::filled(1) + 1;
    BOOST_TEST(cudaStreamQuery(w.native) == cudaErrorNotReady);
    w.open_gate();
    BOOST_TEST(holds(x, 2));
  }
  BOOST_TEST((rf::current_stream() == before));
}

// Life

BOOST_AUTO_TEST_CASE(the_native_stream_outlives_its_handles) {
  foreign::Stream native;
  {
    const rf::Stream stream = rf::Stream::wrap(native);
    const rf::StreamGuard on(stream);
    BOOST_TEST(holds(rf::test::filled(2) * 2, 4));
  }
  rf::synchronize();
  const rf::Stream another;  // takes the place of the one that is over
  runtime::HostInt count;
  CUDA_REQUIRE(runtime::try_add_one(count, native));
  CUDA_REQUIRE(cudaStreamSynchronize(native));
  BOOST_TEST(*count == 1);
  BOOST_TEST(native.reset() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(a_stream_wrapped_anew_after_its_handles_died_goes_on_in_order) {
  foreign::Case c;
  const foreign::Stream native;
  rf::Array x = rf::zeros({4});
  rf::synchronize();
  c.hold(native);
  for (int i = 0; i < 10; ++i) {
    const rf::Stream stream = rf::Stream::wrap(native);
    const rf::StreamGuard on(stream);
    x *= 2;
    x += 1;
  }
  c.open_gate();
  BOOST_TEST(holds(x, 1023));
}

BOOST_AUTO_TEST_CASE(memory_used_on_a_native_stream_that_is_destroyed_early_is_not_taken_early) {
  foreign::Case c;
  for (int round = 0; round < 3; ++round) {
    c.close_gate();
    foreign::Stream native;
    rf::Array y;
    {
      const rf::Stream stream = rf::Stream::wrap(native);
      const rf::StreamGuard on(stream);
      rf::Array x = rf::full({1000}, 2);
      stream.synchronize();
      c.hold(native);
      y = x * 3;
    }  // x and the last handle are gone; the work is not done
    BOOST_TEST(native.reset() == cudaSuccess);
    for (int i = 0; i < 20; ++i) rf::full({1000}, 100);  // would take the place of memory that is given back
    { const rf::Stream another; }                        // looks for what is over
    c.open_gate();
    BOOST_TEST(holds(y, 6));
  }
  rf::synchronize();
}

BOOST_AUTO_TEST_CASE(arrays_outlive_the_native_stream_that_they_were_used_on) {
  foreign::Case c;
  foreign::Stream native;
  std::optional<rf::Stream> stream = rf::Stream::wrap(native);
  rf::Array x = rf::full({1000}, 2);
  stream->wait_stream(rf::current_stream());
  rf::Array y;
  {
    const rf::StreamGuard on(*stream);
    x *= 2;
    c.hold(native);
    y = x * 3;
  }
  stream.reset();
  BOOST_TEST(native.reset() == cudaSuccess);
  x = rf::Array();  // its only users are on the stream that is gone
  for (int i = 0; i < 20; ++i) rf::full({1000}, 100);
  const rf::Stream other;
  other.wait_stream(rf::current_stream());
  rf::Array z;
  {
    const rf::StreamGuard on(other);
    z = y + 1;  // comes after the work of the stream that is gone
    BOOST_TEST(!other.query());
  }
  c.open_gate();
  BOOST_TEST(holds(z, 13));
  rf::synchronize();
}

BOOST_AUTO_TEST_CASE(a_device_is_synchronised_with_a_stream_that_is_gone) {
  foreign::Case c;
  foreign::Stream native;
  rf::Array y;
  {
    const rf::Stream stream = rf::Stream::wrap(native);
    const rf::StreamGuard on(stream);
    foreign::keep_busy(native, 100);
    y = rf::test::filled(1);
    CUDA_REQUIRE(runtime::try_add_one(c.count, native));
  }
  BOOST_TEST(native.reset() == cudaSuccess);
  rf::synchronize();
  BOOST_TEST(*c.count == 1);
}

BOOST_AUTO_TEST_CASE(wrapping_and_dropping_ten_thousand_times_leaves_nothing) {
  const Wrapped w;
  const foreign::Stream native;
  rf::Array x = rf::zeros({4});
  rf::synchronize();
  const auto streams = [] { return rf::runtime::streams_of(rf::current_device()).size(); };
  const std::int64_t before_bytes = rf::memory_stats(rf::current_device()).live;
  const std::size_t before = streams();
  for (int i = 0; i < 10'000; ++i) {
    const rf::Stream stream = rf::Stream::wrap(native);
    if (i % 100 != 0) continue;
    const rf::StreamGuard on(stream);
    x += 1;
  }
  rf::synchronize();
  { const rf::Stream last = rf::Stream::wrap(native); }
  BOOST_TEST(streams() <= before + 1);
  BOOST_TEST(rf::memory_stats(rf::current_device()).live == before_bytes);
  BOOST_TEST(holds(x, 100));
}

BOOST_AUTO_TEST_CASE(the_last_handle_dies_while_another_thread_waits_for_the_device) {
  const foreign::Stream native;
  std::optional<rf::Stream> stream = rf::Stream::wrap(native);
  rf::test::Gate gate(*stream);
  std::atomic<bool> is_waiting{false};
  std::thread waits([&, device = rf::current_device()] {
    is_waiting = true;
    rf::synchronize(device);
  });
  while (!is_waiting) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) rf::bench::empty(rf::current_stream());  // it is likely to wait by now
  stream.reset();
  BOOST_TEST(gate.open());  // or the handle's end had waited for the gate
  waits.join();
}

// Order

BOOST_AUTO_TEST_CASE(work_of_other_code_and_of_refrain_on_one_stream_is_in_order) {
  Wrapped w;
  rf::Array x = rf::zeros({1});
  float* const address = foreign::address_of(x);
  const rf::StreamGuard on(w.stream);
  w.hold(w.native);
  foreign::add(w.native, address);  // 1
  x *= 3;
  foreign::add(w.native, address);  // 4
  foreign::add(w.native, address);
  x *= 2;  // 10
  BOOST_TEST(!w.stream.query());
  w.open_gate();
  BOOST_TEST(holds(x, 10));
  foreign::add(w.native, address);
  BOOST_TEST(foreign::read_after(w.native, address) == 11);
}

BOOST_AUTO_TEST_CASE(query_and_synchronize_see_work_of_other_code) {
  Wrapped w;
  BOOST_TEST(w.stream.query());
  w.hold(w.native);
  BOOST_TEST(!w.stream.query());
  BOOST_TEST(!rf::test::on_another_thread([&] { return w.stream.query(); }));
  w.open_gate();
  w.stream.synchronize();
  BOOST_TEST(w.stream.query());
  foreign::keep_busy(w.native, 100);
  w.add_one(w.native);
  w.stream.synchronize();
  BOOST_TEST(*w.count == 1);
}

BOOST_AUTO_TEST_CASE(synchronizing_the_device_waits_for_work_of_other_code) {
  Wrapped w;
  foreign::keep_busy(w.native, 100);
  w.add_one(w.native);
  rf::synchronize();
  BOOST_TEST(*w.count == 1);
}

BOOST_AUTO_TEST_CASE(other_streams_wait_for_work_of_other_code) {
  Wrapped w;
  const rf::Stream plain;
  rf::Array x = rf::zeros({1});
  float* const address = foreign::address_of(x);
  rf::Event event;
  const std::function<void()> orders[] = {
      [&] { plain.wait_stream(w.stream); },
      [&] { plain.wait_event(w.stream.record_event()); },
      [&] {
        event.record(w.stream);
        event.wait(plain);
      },
      [&] {
        const rf::StreamGuard on(w.stream);
        event.record();
        plain.wait_event(event);
      },
  };
  for (const auto& order : orders) {
    x.assign(0);
    rf::synchronize();
    w.close_gate();
    w.hold(w.native);
    foreign::add(w.native, address);
    order();
    {
      const rf::StreamGuard on(plain);
      x *= 3;
    }
    BOOST_TEST(!plain.query());
    w.open_gate();
    BOOST_TEST(holds(x, 3));
  }
}

BOOST_AUTO_TEST_CASE(work_of_other_code_waits_for_other_streams) {
  Wrapped w;
  const rf::Stream plain;
  const cudaStream_t plain_native = plain.native();
  rf::Array x = rf::zeros({1});
  float* const address = foreign::address_of(x);
  const std::function<void()> orders[] = {
      [&] { w.stream.wait_stream(plain); },
      [&] { w.stream.wait_event(plain.record_event()); },
  };
  for (const auto& order : orders) {
    rf::synchronize();
    w.close_gate();
    w.hold(plain_native);
    {
      const rf::StreamGuard on(plain);
      x.assign(5);
    }
    order();
    foreign::add(w.native, address);
    BOOST_TEST(cudaStreamQuery(w.native) == cudaErrorNotReady);
    w.open_gate();
    BOOST_TEST(foreign::read_after(w.native, address) == 6);
  }
}

BOOST_AUTO_TEST_CASE(conflicting_commands_are_ordered_between_wrapped_streams_too) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  Wrapped w;
  const foreign::Stream other;
  const rf::Stream second = rf::Stream::wrap(other);
  rf::Array x = rf::zeros({4});
  rf::synchronize();
  w.hold(w.native);
  {
    const rf::StreamGuard on(w.stream);
    x += 1;
  }
  {
    const rf::StreamGuard on(second);
    x *= 5;  // nothing orders it after the op above
  }
  BOOST_TEST(!second.query());
  BOOST_TEST(rf::test::of_kind(rf::diagnostics(), rf::DiagnosticKind::edge_added).size() == 1U);
  w.open_gate();
  BOOST_TEST(holds(x, 5));
}

BOOST_AUTO_TEST_CASE(native_work_after_a_replay_on_a_wrapped_stream_comes_after_it) {
  for (const bool live : rf::test::live_modes) {
    for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
      Wrapped w;
      rf::Array x = rf::zeros({1});
      float* const address = foreign::address_of(x);
      const rf::Stream side;
      const rf::GraphExec exec = rf::capture(
                                     [&] {
                                       x *= 2;
                                       side.wait_stream(rf::current_stream());
                                       const rf::StreamGuard on(side);
                                       x += 10;
                                     },
                                     {.live = live})
                                     .instantiate({.optimize = optimize});
      exec.replay();  // 10
      rf::synchronize();
      w.hold(w.native);
      foreign::add(w.native, address);  // 11
      exec.replay(w.stream);            // 32
      foreign::add(w.native, address);  // 33
      exec.replay(w.stream);            // 76
      foreign::add(w.native, address);
      BOOST_TEST(cudaStreamQuery(w.native) == cudaErrorNotReady);
      w.open_gate();
      BOOST_TEST(foreign::read_after(w.native, address) == 77);
    }
  }
}

// The legacy stream

BOOST_AUTO_TEST_CASE(the_legacy_stream_has_one_handle_for_both_of_its_names) {
  const rf::Stream legacy = rf::Stream::wrap(nullptr);
  BOOST_TEST((rf::Stream::wrap(cudaStreamLegacy) == legacy));
  BOOST_TEST((rf::Stream::wrap(nullptr, rf::current_device()) == legacy));
  BOOST_TEST(!(legacy == rf::default_stream()));
  BOOST_TEST(legacy.priority() == 0);
  BOOST_TEST(legacy.device() == rf::current_device());
  BOOST_TEST((legacy.native() == cudaStreamLegacy));
}

BOOST_AUTO_TEST_CASE(eager_work_on_the_legacy_stream_is_in_order_with_that_of_other_code) {
  foreign::Case c;
  const rf::Stream legacy = rf::Stream::wrap(nullptr);
  const runtime::Stream blocking(cudaStreamDefault);
  rf::Array x = rf::zeros({1});
  float* const address = foreign::address_of(x);
  c.hold(blocking);
  foreign::add(blocking, address);  // 1
  {
    const rf::StreamGuard on(legacy);
    x *= 3;                           // after the blocking stream, as CUDA has it
    foreign::add(nullptr, address);   // 4
    x *= 2;                           // 8
    foreign::add(blocking, address);  // 9, after the legacy stream
    BOOST_TEST(!legacy.query());
  }
  const rf::Stream plain;
  plain.wait_stream(legacy);
  plain.wait_stream(rf::Stream::wrap(blocking));
  rf::Array y;
  {
    const rf::StreamGuard on(plain);
    y = x + 1;
  }
  c.open_gate();
  BOOST_TEST(holds(y, 10));
  legacy.synchronize();
  BOOST_TEST(legacy.query());
}

BOOST_AUTO_TEST_CASE(a_replay_on_the_legacy_stream_is_in_order_there) {
  foreign::Case c;
  const rf::Stream legacy = rf::Stream::wrap(cudaStreamLegacy);
  rf::Array x = rf::zeros({1});
  float* const address = foreign::address_of(x);
  const rf::GraphExec exec = rf::capture([&] { x *= 2; }).instantiate();
  foreign::keep_busy(nullptr, 20);
  foreign::add(nullptr, address);
  exec.replay(legacy);
  foreign::add(nullptr, address);
  BOOST_TEST(foreign::read_after(nullptr, address) == 3);
}

// Refusals

BOOST_AUTO_TEST_CASE(what_cannot_be_wrapped_is_refused) {
  const foreign::Stream native;
  require_error(rf::Errc::not_supported, [&] { rf::Stream::wrap(native, host_device); }, {"wrap", host_device.str()});
  require_error(rf::Errc::not_supported, [&] { rf::Stream::wrap(cudaStreamPerThread); }, {"cudaStreamPerThread"});
  require_error(rf::Errc::no_device, [&] { rf::Stream::wrap(native, rf::Device{rf::DeviceKind::cuda, 60}); }, {"60"});
  rf::Stream host(host_device);
  host.launch_host_func([&] { rf::Stream::wrap(native); });
  require_error(rf::Errc::not_permitted, [&] { host.synchronize(); }, {"wrap"});
  BOOST_TEST(rf::Stream::wrap(native).query());
}

BOOST_AUTO_TEST_CASE(a_stream_of_another_device_is_refused_by_name) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const foreign::Stream native;  // of CUDA's current device, the first
  require_error(rf::Errc::wrong_device, [&] { rf::Stream::wrap(native, devices->second); },
                {devices->first.str(), devices->second.str()});
  const rf::DeviceGuard on(devices->second);
  BOOST_TEST(rf::Stream::wrap(native).device() == devices->first);
}

BOOST_AUTO_TEST_CASE(the_legacy_stream_is_another_one_on_each_device) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream near = rf::Stream::wrap(nullptr, devices->first);
  const rf::Stream far = rf::Stream::wrap(nullptr, devices->second);
  BOOST_TEST(!(near == far));
  rf::Array x = rf::zeros({4}, {.device = devices->second});
  rf::synchronize(devices->second);
  const rf::DeviceGuard on_near(devices->first);
  rf::test::Gate gate(far);
  {
    const rf::StreamGuard on(far);
    x += 1;
  }
  BOOST_TEST(near.query());
  BOOST_TEST(!far.query());
  BOOST_TEST(gate.open());
  far.synchronize();
  BOOST_TEST(far.query());
  BOOST_TEST(holds(x, 1));
}

BOOST_AUTO_TEST_SUITE_END()
