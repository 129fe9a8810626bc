// Refrain in functions that it calls.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_concurrency.hpp"

#include <refrain/cuda.hpp>

#include <memory>
#include <optional>

namespace rf = refrain;
using rf::test::require_error;

namespace {

__global__ void add(float* x, float value) { x[threadIdx.x] += value; }

constexpr int size = 4;

struct Adds {
  float value;
  void operator()(cudaStream_t stream, float* x) const { add<<<1, size, 0, stream>>>(x, value); }
};

using Function = std::function<void(cudaStream_t stream, float* x)>;

void enqueue(rf::Array& x, const Function& function) {
  rf::current_stream().enqueue("mine", rf::readwrite(x), function);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue_inside, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(calls_that_reach_a_device_are_refused_in_a_function) {
  const rf::Stream other;
  const rf::Array array = rf::zeros({size});
  const rf::GraphExec exec = rf::capture([&] { rf::bench::empty(rf::current_stream()); }).instantiate();
  const rf::Graph graph = rf::capture([] {});
  rf::Event event;
  const auto body = [&] {
    std::vector<std::string> codes;
    const auto code_of = [&](const std::function<void()>& call) {
      codes.emplace_back("nothing thrown");
      try {
        call();
      } catch (const rf::Error& error) {
        codes.back() = rf::to_string(error.code());
      }
    };
    rf::Array x = array;
    enqueue(x, [&](cudaStream_t stream, float* to) {
      const rf::Stream here = rf::current_stream();
      for (const rf::Stream& each : {here, other}) {
        code_of([&] { rf::bench::empty(each); });
        code_of([&] { each.synchronize(); });
        code_of([&] { each.query(); });
        code_of([&] { each.launch_host_func([] {}); });
        code_of([&] { each.enqueue("inner", [](cudaStream_t) {}); });
        code_of([&] { each.launch({}, add, array, 1.0F); });
        code_of([&] { event.record(each); });
        code_of([&] { each.wait_event(event); });
        code_of([&] { exec.replay(each); });
      }
      code_of([&] { array + 1; });
      code_of([&] { rf::zeros({size}); });
      code_of([&] { array.to_vector<float>(); });
      code_of([] { rf::Stream(); });
      code_of([] { rf::synchronize(); });
      code_of([] { rf::capture([] {}); });
      code_of([&] { graph.instantiate(); });
      code_of([&] { rf::memory_stats(array.device()); });
      code_of([&] { rf::trim(array.device()); });
      code_of([&] { rf::to_device(array, {rf::DeviceKind::host, 0}); });
      Adds{1}(stream, to);
    });
    BOOST_TEST(codes.size() == 28U);
    for (std::size_t i = 0; i < codes.size(); ++i) BOOST_TEST(codes[i] == "not_permitted", i << ": " << codes[i]);
  };
  body();
  rf::capture(body).instantiate().replay();
  rf::capture(body, {.live = true}).instantiate().replay();
  BOOST_TEST(rf::test::holds(array, 3));
}

BOOST_AUTO_TEST_CASE(arrays_streams_events_and_graphs_may_be_dropped_in_a_function) {
  const rf::Device device = rf::current_device();
  for (const std::optional<bool> live : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    rf::Array x = rf::zeros({size});
    rf::synchronize();
    const std::int64_t before = rf::memory_stats(device).live;
    {
      rf::Array dropped = rf::ones({1000});
      auto stream = std::make_unique<rf::Stream>();
      auto event = std::make_unique<rf::Event>();
      auto exec = std::make_unique<rf::GraphExec>(rf::capture([&] { rf::Array y = dropped + 1; }).instantiate());
      exec->replay(*stream);
      event->record(*stream);
      const auto body = [&] {
        enqueue(x, [&](cudaStream_t native, float* to) {
          exec.reset();
          event.reset();
          stream.reset();
          dropped = {};
          Adds{1}(native, to);
        });
      };
      if (!live) {
        body();
      } else {
        rf::capture(body, {.live = *live}).instantiate().replay();
      }
      BOOST_TEST(!dropped.defined());
    }
    BOOST_TEST(rf::test::holds(x, 1));
    BOOST_TEST(rf::test::eventually([&] { return rf::memory_stats(device).live == before; }));
  }
}

BOOST_AUTO_TEST_CASE(a_capture_is_not_ended_in_a_function_that_it_records) {
  for (const bool live : rf::test::live_modes) {
    const bool is_right = rf::test::without_deadlock([&] {
      const rf::Stream origin;
      rf::Array x = rf::zeros({size});
      origin.wait_stream(rf::current_stream());
      rf::Capture capture(origin, {.live = live});
      origin.enqueue("mine", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
        require_error(rf::Errc::not_permitted, [&] { capture.end(); }, {"[end] an enqueued function"});
        Adds{1}(stream, to);
      });
      capture.end().instantiate().replay();
      return rf::test::holds(x, 1);
    });
    BOOST_TEST(is_right, "live: " << live);
  }
}

BOOST_AUTO_TEST_SUITE_END()
