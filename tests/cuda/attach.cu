// Captures that other code begins and ends, with Refrain's work in them.

#include "support.hpp"
#include "support_runtime.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/cuda.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

namespace rf = refrain;
using rf::test::require_error;
using runtime::any_mode;
using runtime::begin;
using runtime::instantiate;
using Numbers = std::vector<float>;

namespace {

constexpr int size = 1000;
constexpr rf::LaunchConfig over_all{.grid = 4, .block = 256, .label = "axpy", .where = {}};

__global__ void axpy(float a, const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += a * x[i];
}

__global__ void add_one(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1;
}

/// Memory of other code's.
struct Floats : runtime::Owned<float*, cudaFree> {
  Floats() {
    CUDA_REQUIRE(cudaMalloc(out(), size * sizeof(float)));
    *this = 0;
  }
  Floats& operator=(float value) { return *this = Numbers(size, value); }
  Floats& operator=(const Numbers& values) {
    CUDA_REQUIRE(cudaMemcpy(*this, values.data(), size * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_REQUIRE(cudaDeviceSynchronize());
    return *this;
  }
  Numbers get() const {
    Numbers values(size);
    CUDA_REQUIRE(cudaMemcpy(values.data(), *this, size * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
  }
};

void replay(cudaGraphExec_t exec, cudaStream_t stream) {
  CUDA_REQUIRE(cudaGraphLaunch(exec, stream));
  CUDA_REQUIRE(cudaStreamSynchronize(stream));
}

/// What CUDA does in threads of its own is done soon; false when it is not.
template <class Predicate>
bool soon(Predicate is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    rf::synchronize();  // lets go of what CUDA has given back
    if (is_so()) return true;
    std::this_thread::yield();
  }
  return false;
}

std::int64_t live_bytes() { return rf::memory_stats(rf::current_device()).live; }

Numbers ramp() {
  Numbers values(size);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

struct AttachCase {
  runtime::Stream raw;
  Floats in;
  Floats out;

  AttachCase() {
    rf::synchronize();
    runtime::load(axpy);
    runtime::load(add_one);
  }

  /// 5 (2 in + i) + 25, by ops, literals, kernels and functions of both sides on two streams.
  void issue(const std::shared_ptr<std::atomic<int>>& calls, const rf::Array& five) const {
    const rf::Stream stream = rf::Stream::wrap(raw);
    const rf::Stream side;
    const rf::StreamGuard on(stream);
    const rf::Array x = rf::from_blob(static_cast<float*>(in), {size});
    rf::Array y = rf::from_blob(static_cast<float*>(out), {size});
    const rf::Array a = x * 2 + rf::from_host(ramp(), {size});
    y.assign(a);
    add_one<<<4, 256, 0, raw>>>(out, size);
    y.slice(0, size / 2) += five.slice(0, size / 2);
    y.slice(size / 2, size) += five.slice(size / 2, size);
    side.wait_stream(stream);
    rf::Array b;
    {
      const rf::StreamGuard beside(side);
      b = y * rf::array({3.0F});
    }
    stream.wait_stream(side);
    y += b;
    stream.launch(over_all, axpy, 1.0F, a, y, size);
    stream.enqueue("foreign", rf::readwrite(y),
                   [](cudaStream_t s, float* values) { add_one<<<4, 256, 0, s>>>(values, size); });
    stream.launch_host_func([calls] { ++*calls; });
  }
  static Numbers expected(float value) {
    Numbers values = ramp();
    for (float& each : values) each = 5 * (2 * value + each) + 25;
    return values;
  }
  runtime::Graph record(cudaStreamCaptureMode mode, const std::shared_ptr<std::atomic<int>>& calls,
                        const rf::Array& five) const {
    begin(raw, mode);
    issue(calls, five);
    return runtime::end(raw);
  }
  /// Records what `fn` does on the wrapped stream.
  template <class Fn>
  runtime::Graph record(Fn fn, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) const {
    const rf::Stream stream = rf::Stream::wrap(raw);
    const rf::StreamGuard on(stream);
    begin(raw, mode);
    fn(stream);
    return runtime::end(raw);
  }
};

/// Takes the place of memory that was let go.
std::vector<rf::Array> garbage() {
  std::vector<rf::Array> all;
  for (const std::int64_t elements : {1, 3, 4, size / 2, size, 2 * size}) {
    for (int i = 0; i < 50; ++i) all.push_back(rf::full({elements}, -777));
  }
  rf::synchronize();
  return all;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_attach, AttachCase, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(work_lands_in_the_capture_and_the_graph_keeps_what_it_needs) {
  for (const cudaStreamCaptureMode mode : any_mode) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      const std::int64_t before = live_bytes();
      const auto calls = std::make_shared<std::atomic<int>>(0);
      {
        const runtime::Graph graph = record(mode, calls, rf::full({size}, 5));
        BOOST_TEST(*calls == 0);
        const runtime::Exec exec = instantiate(graph);
        const std::vector<rf::Array> filled = garbage();
        for (const float value : {1.0F, 2.0F, 3.0F}) {
          in = value;
          replay(exec, raw);
          BOOST_TEST(out.get() == expected(value), boost::test_tools::per_element());
        }
        BOOST_TEST(*calls == 3);
      }
      BOOST_TEST(soon([&] { return live_bytes() <= before && calls.use_count() == 1; }));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_work_runs_at_once_outside_of_captures) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  in = 4;
  issue(calls, rf::full({size}, 5));
  CUDA_REQUIRE(cudaStreamSynchronize(raw));
  BOOST_TEST(out.get() == expected(4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(clones_and_executables_keep_it_whatever_goes_first) {
  const std::int64_t before = live_bytes();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  {
    runtime::Graph graph = record(cudaStreamCaptureModeRelaxed, calls, rf::full({size}, 5));
    runtime::Exec first = instantiate(graph);
    runtime::Graph clone;
    CUDA_REQUIRE(cudaGraphClone(clone.out(), graph));
    CUDA_REQUIRE(graph.reset());
    const runtime::Exec second = instantiate(clone);
    CUDA_REQUIRE(first.reset());
    CUDA_REQUIRE(clone.reset());
    const std::vector<rf::Array> filled = garbage();
    in = 7;
    replay(second, raw);
    BOOST_TEST(out.get() == expected(7), boost::test_tools::per_element());
  }
  BOOST_TEST(soon([&] { return live_bytes() <= before && calls.use_count() == 1; }));
}

BOOST_AUTO_TEST_CASE(an_executable_destroyed_in_flight_keeps_it_until_its_run_is_over) {
  const std::int64_t before = live_bytes();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  {
    runtime::Graph graph = record(cudaStreamCaptureModeRelaxed, calls, rf::full({size}, 5));
    runtime::Exec exec = instantiate(graph);
    CUDA_REQUIRE(graph.reset());
    in = 3;
    for (int i = 0; i < 20; ++i) CUDA_REQUIRE(cudaGraphLaunch(exec, raw));
    CUDA_REQUIRE(exec.reset());
    const std::vector<rf::Array> filled = garbage();
    CUDA_REQUIRE(cudaStreamSynchronize(raw));
    BOOST_TEST(out.get() == expected(3), boost::test_tools::per_element());
    BOOST_TEST(*calls == 20);
  }
  BOOST_TEST(soon([&] { return live_bytes() <= before && calls.use_count() == 1; }));
}

BOOST_AUTO_TEST_CASE(a_capture_that_makes_no_graph_gives_everything_back) {
  const std::int64_t before = live_bytes();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  begin(raw);
  issue(calls, rf::full({size}, 5));
  static_cast<void>(cudaStreamSynchronize(raw));
  BOOST_TEST(runtime::failed_end(raw) == cudaErrorStreamCaptureInvalidated);
  BOOST_TEST(soon([&] { return live_bytes() <= before && calls.use_count() == 1; }));
}

BOOST_AUTO_TEST_CASE(a_stream_whose_handle_went_out_is_followed_too) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  const cudaStream_t native = stream.native();
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  begin(native);
  BOOST_TEST(stream.is_capturing());
  BOOST_TEST(rf::is_capturing());
  x += 1;
  BOOST_TEST((stream.native() == native));
  const runtime::Graph graph = runtime::end(native);
  BOOST_TEST(!stream.is_capturing());
  BOOST_TEST(rf::test::holds(x, 0));
  const runtime::Exec exec = instantiate(graph);
  replay(exec, native);
  replay(exec, native);
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_CASE(an_array_made_in_the_capture_is_an_ordinary_one_afterwards) {
  rf::Array made;
  const runtime::Graph graph = record([&](const rf::Stream&) { made = rf::ones({size}) + 1; });
  replay(instantiate(graph), raw);
  BOOST_TEST(rf::test::holds(made, 2));
  made += 1;
  BOOST_TEST(rf::test::holds(made, 3));
}

BOOST_AUTO_TEST_CASE(what_no_capture_allows_is_refused_before_cuda_sees_it) {
  for (const cudaStreamCaptureMode mode : any_mode) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      rf::Array x = rf::zeros({size});
      const rf::Event before = rf::current_stream().record_event();
      const rf::GraphExec draws = rf::capture([] { return rf::rand({4}); }).first.instantiate();
      rf::synchronize();
      const runtime::Graph graph = record(
          [&](const rf::Stream& stream) {
            x += 1;
            require_error(rf::Errc::not_supported, [] { rf::rand({4}); }, {"rand", "made before"});
            require_error(rf::Errc::not_supported, [&] { draws.replay(stream); }, {"graph", "made before"});
            require_error(rf::Errc::capture_unsupported, [&] { stream.synchronize(); }, {"by other code"});
            require_error(rf::Errc::capture_unsupported, [&] { stream.query(); });
            require_error(rf::Errc::capture_unsupported, [] { rf::synchronize(); });
            require_error(rf::Errc::capture_unsupported, [&] { x.to_vector<float>(); });
            const rf::Event inside = stream.record_event();
            require_error(rf::Errc::captured_event, [&] { inside.query(); }, {"by other code"});
            require_error(rf::Errc::captured_event, [&] { inside.synchronize(); });
            require_error(rf::Errc::capture_isolation, [&] { stream.wait_event(before); });
            require_error(rf::Errc::illegal_state, [&] { rf::Capture{stream}; });
            require_error(rf::Errc::illegal_state, [&] { rf::Capture{}; });
            x += 1;
          },
          mode);
      replay(instantiate(graph), raw);
      BOOST_TEST(rf::test::holds(x, 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_first_draw_is_refused_without_having_joined_anything) {
  const runtime::Graph graph =
      record([&](const rf::Stream&) { require_error(rf::Errc::not_supported, [] { rf::randn({4}); }); });
  BOOST_TEST(runtime::node_count(graph) == 0);
}

BOOST_AUTO_TEST_CASE(an_event_of_it_belongs_to_it_afterwards) {
  rf::Event inside;
  static_cast<void>(record([&](const rf::Stream& stream) { stream.record_event(inside); }));
  rf::synchronize();
  require_error(rf::Errc::captured_event, [&] { inside.query(); }, {"a capture that other code made"});
  inside.record();
  inside.synchronize();
}

BOOST_AUTO_TEST_CASE(a_missing_wait_is_found_or_refused) {
  const rf::Stream side;
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  rf::test::HazardsScope hazards(rf::Hazards::add);
  const auto program = [&](const rf::Stream& stream) {
    x += 1;
    side.wait_stream(stream);
    x *= 3;
    const rf::StreamGuard on(side);
    x += 1;  // after the product
    stream.wait_stream(side);
  };
  replay(instantiate(record(program)), raw);
  BOOST_TEST(rf::test::holds(x, 4));
  rf::set_hazards(rf::Hazards::error);
  static_cast<void>(record([&](const rf::Stream& stream) {
    side.wait_stream(stream);
    x *= 3;
    const rf::StreamGuard on(side);
    require_error(rf::Errc::illegal_state, [&] { x += 1; });
    stream.wait_stream(side);
  }));
}

BOOST_AUTO_TEST_CASE(foreign_code_and_refrain_see_each_others_events) {
  runtime::Stream beside;
  runtime::Event joined;
  rf::Array y = rf::from_blob(static_cast<float*>(out), {size});
  const runtime::Graph graph = record([&](const rf::Stream& stream) {
    y *= 2;
    rf::Event mine;
    stream.record_event(mine);
    CUDA_REQUIRE(cudaStreamWaitEvent(beside, mine.native(), 0));
    add_one<<<4, 256, 0, beside>>>(out, size);
    CUDA_REQUIRE(cudaEventRecord(joined, beside));
    stream.wait_event(rf::Event::wrap(joined));
    y *= 3;
  });
  out = 5;
  replay(instantiate(graph), raw);
  BOOST_TEST(out.get() == Numbers(size, 33), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stream_joins_by_an_event_of_other_codes) {
  const rf::Stream side;
  runtime::Event forked;
  rf::Array y = rf::from_blob(static_cast<float*>(out), {size});
  begin(raw);
  add_one<<<4, 256, 0, raw>>>(out, size);
  CUDA_REQUIRE(cudaEventRecord(forked, raw));
  rf::Event joined;
  {
    const rf::StreamGuard on(side);
    side.wait_event(rf::Event::wrap(forked));
    const rf::Array ten = rf::full({size}, 10);
    y *= ten;
    side.record_event(joined);
  }
  CUDA_REQUIRE(cudaStreamWaitEvent(raw, joined.native(), 0));
  add_one<<<4, 256, 0, raw>>>(out, size);
  const runtime::Graph graph = runtime::end(raw);
  const std::vector<rf::Array> filled = garbage();
  out = 4;
  replay(instantiate(graph), raw);
  BOOST_TEST(out.get() == Numbers(size, 51), boost::test_tools::per_element());
  side.synchronize();
}

BOOST_AUTO_TEST_CASE(a_function_that_breaks_the_capture_is_named) {
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  const rf::Stream stream = rf::Stream::wrap(raw);
  const rf::StreamGuard on(stream);
  begin(raw);
  x += 1;
  require_error(rf::Errc::capture_invalidated,
                [&] { stream.enqueue("waits", [](cudaStream_t s) { static_cast<void>(cudaStreamSynchronize(s)); }); },
                {"waits", "is broken"});
  BOOST_TEST(runtime::failed_end(raw) == cudaErrorStreamCaptureInvalidated);
  x += 5;
  BOOST_TEST(rf::test::holds(x, 5));
}

BOOST_AUTO_TEST_CASE(a_function_that_throws_leaves_it_intact) {
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  const runtime::Graph graph = record([&](const rf::Stream& stream) {
    x += 1;
    BOOST_CHECK_THROW(stream.enqueue("throws", [](cudaStream_t) { throw std::runtime_error("no"); }),
                      std::runtime_error);
    x += 1;
  });
  replay(instantiate(graph), raw);
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_CASE(a_broken_capture_is_told_and_over_with_its_end) {
  for (const cudaStreamCaptureMode mode : any_mode) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      const rf::Stream stream = rf::Stream::wrap(raw);
      const rf::Stream side;
      const rf::StreamGuard on(stream);
      rf::Array x = rf::zeros({size});
      rf::synchronize();
      begin(raw, mode);
      x += 1;
      side.wait_stream(stream);
      static_cast<void>(cudaStreamSynchronize(raw));
      require_error(rf::Errc::capture_invalidated, [&] { x += 1; });
      require_error(rf::Errc::capture_invalidated, [&] { stream.synchronize(); });
      require_error(rf::Errc::capture_invalidated, [&] { rf::zeros({4}); });
      BOOST_TEST(runtime::failed_end(raw) == cudaErrorStreamCaptureInvalidated);
      x += 5;
      side.wait_stream(stream);
      side.synchronize();
      BOOST_TEST(rf::test::holds(x, 5));
      replay(instantiate(record([&](const rf::Stream&) { x += 1; }, mode)), raw);
      BOOST_TEST(rf::test::holds(x, 6));
    }
  }
}

BOOST_AUTO_TEST_CASE(captures_follow_one_another_and_may_be_open_at_once) {
  rf::Array x = rf::zeros({size});
  rf::Array y = rf::zeros({size});
  rf::synchronize();
  const runtime::Exec first = instantiate(record([&](const rf::Stream&) { x += 1; }));
  const runtime::Exec second = instantiate(record([&](const rf::Stream&) { x *= 2; }));
  for (int i = 0; i < 2; ++i) {
    replay(first, raw);
    replay(second, raw);
  }
  BOOST_TEST(rf::test::holds(x, 6));
  const runtime::Stream other;
  const rf::Stream wrapped = rf::Stream::wrap(other);
  runtime::Graph inner;
  const runtime::Graph outer = record([&](const rf::Stream& stream) {
    begin(other);
    x += 1;
    {
      const rf::StreamGuard on(wrapped);
      y += 1;
      require_error(rf::Errc::capture_merge, [&] { wrapped.wait_stream(stream); });
      y += 1;
    }
    x += 1;
    inner = runtime::end(other);
    x += 1;
  });
  replay(instantiate(outer), raw);
  replay(instantiate(inner), raw);
  BOOST_TEST(rf::test::holds(x, 9));
  BOOST_TEST(rf::test::holds(y, 2));
}

BOOST_AUTO_TEST_CASE(graphs_are_replayed_into_it) {
  rf::Array x = rf::zeros({size});
  std::optional<rf::GraphExec> add_two = rf::capture([&] {
                                           const rf::Array two = rf::ones({size}) + 1;
                                           x += two;
                                         }).instantiate();
  rf::synchronize();
  runtime::Graph graph = record([&](const rf::Stream& stream) {
    x += 1;
    add_two->replay(stream);
    x *= 2;
    add_two->replay(stream);
  });
  add_two.reset();
  const std::vector<rf::Array> filled = garbage();
  const runtime::Exec exec = instantiate(graph);
  replay(exec, raw);
  BOOST_TEST(rf::test::holds(x, 8));
  replay(exec, raw);
  BOOST_TEST(rf::test::holds(x, 24));
}

BOOST_AUTO_TEST_CASE(other_streams_of_the_thread_and_other_threads_go_on) {
  for (const cudaStreamCaptureMode mode : any_mode) {
    BOOST_TEST_CONTEXT("mode " << mode) {
      rf::Array x = rf::zeros({size});
      rf::synchronize();
      const auto elsewhere = [] {
        const rf::Stream own;
        const rf::StreamGuard on(own);
        rf::Array y = rf::from_host(ramp(), {size}) * 2;
        for (int i = 0; i < 20; ++i) y = y + rf::ones({size});
        own.synchronize();
        BOOST_TEST(y.slice(0, 1).item<float>() == 20);
        auto [graph, sum] = rf::capture([&] { return y + 1; });
        graph.instantiate().replay();
        BOOST_TEST(sum.slice(0, 1).item<float>() == 21);
      };
      const runtime::Graph graph = record(
          [&](const rf::Stream&) {
            rf::test::on_another_thread(elsewhere);  // before this one has put anything there
            x += 1;
            rf::test::on_another_thread(elsewhere);
            rf::test::on_another_thread([] { rf::synchronize(); });
            elsewhere();
            x += 1;
          },
          mode);
      replay(instantiate(graph), raw);
      BOOST_TEST(rf::test::holds(x, 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_before_may_be_dropped_in_it) {
  const std::int64_t before = live_bytes();
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  {
    const rf::Stream stream = rf::Stream::wrap(raw);
    const rf::StreamGuard on(stream);
    std::optional<rf::Array> dropped = rf::ones({size}) + 1;
    std::optional<rf::Array> used_elsewhere = rf::ones({size});
    const rf::Stream side;
    {
      side.wait_stream(stream);
      const rf::StreamGuard beside(side);
      *used_elsewhere += 1;
    }
    begin(raw);
    dropped.reset();
    x += 1;
    used_elsewhere.reset();
    x += 1;
    replay(instantiate(runtime::end(raw)), raw);
    BOOST_TEST(rf::test::holds(x, 2));
  }
  x = rf::Array();
  BOOST_TEST(soon([&] { return live_bytes() <= before; }));
}

BOOST_AUTO_TEST_CASE(what_the_stream_was_given_before_is_not_waited_for_in_it) {
  const rf::Stream side;
  rf::Array x;
  rf::Array y = rf::zeros({size});
  rf::synchronize();
  {
    const rf::StreamGuard on(rf::Stream::wrap(raw));
    x = rf::zeros({size}) + 1;
  }
  const rf::Stream kept = rf::Stream::wrap(raw);
  {
    const rf::StreamGuard on(kept);
    x += 1;
  }
  const runtime::Graph graph = record([&](const rf::Stream&) {
    y += 1;
    const rf::StreamGuard on(side);
    require_error(rf::Errc::capture_unsupported, [&] { x += 1; }, {"before the capture"});
  });
  const rf::StreamGuard on(side);
  x += 1;
  BOOST_TEST(rf::test::holds(x, 3));
  replay(instantiate(graph), raw);
  BOOST_TEST(rf::test::holds(y, 1));
}

BOOST_AUTO_TEST_CASE(work_outside_that_it_follows_is_done_before_it_ends) {
  const rf::Stream side;
  rf::Array x;
  {
    const rf::StreamGuard on(side);
    x = rf::test::slowly(2, 50);
  }
  rf::Array y;
  const runtime::Graph graph = record([&](const rf::Stream&) { y = x * 2; });
  replay(instantiate(graph), raw);  // does not wait for the other stream
  BOOST_TEST(rf::test::holds(y, 4));
}

BOOST_AUTO_TEST_CASE(handles_may_come_and_go_while_it_is_open) {
  const rf::Stream side;
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  begin(raw);
  for (int i = 0; i < 3; ++i) {
    const rf::Stream stream = rf::Stream::wrap(raw);
    const rf::StreamGuard on(stream);
    x += 1;
    side.wait_stream(stream);
    {
      const rf::StreamGuard beside(side);
      x *= 2;
    }
    stream.wait_stream(side);
  }
  rf::Event last;
  for (int i = 0; i < 2; ++i) {
    const rf::Stream stream = rf::Stream::wrap(raw);
    if (i > 0) stream.wait_event(last);
    stream.record_event(last);
  }
  replay(instantiate(runtime::end(raw)), raw);
  BOOST_TEST(rf::test::holds(x, 14));
  side.synchronize();
}

BOOST_AUTO_TEST_CASE(a_forked_stream_must_be_joined_by_the_program) {
  const rf::Stream side;
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  {
    const rf::Stream stream = rf::Stream::wrap(raw);
    begin(raw);
    side.wait_stream(stream);
    const rf::StreamGuard on(side);
    x += 1;
    BOOST_TEST(runtime::failed_end(raw) == cudaErrorStreamCaptureUnjoined);
    x += 5;
  }
  side.synchronize();
  BOOST_TEST(rf::test::holds(x, 5));
}

BOOST_AUTO_TEST_CASE(streams_may_be_destroyed_before_the_graph) {
  rf::Array x = rf::zeros({size});
  rf::synchronize();
  runtime::Graph graph;
  {
    runtime::Stream gone;
    const rf::Stream stream = rf::Stream::wrap(gone);
    const rf::StreamGuard on(stream);
    begin(gone);
    x += 1;
    graph = runtime::end(gone);
  }
  replay(instantiate(graph), raw);
  BOOST_TEST(rf::test::holds(x, 1));
}

BOOST_AUTO_TEST_SUITE_END()
