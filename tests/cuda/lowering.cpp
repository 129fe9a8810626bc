// How plans become CUDA graphs.

#include "native_graph.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <atomic>
#include <thread>

namespace rf = refrain;

namespace {

/// A thread that synchronises the device without pause, and how often that failed.
class Hammer {
 public:
  ~Hammer() { stop(); }
  int stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return failures_;
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> failures_{0};
  std::thread thread_{[this] {
    while (!stop_) {
      if (cudaDeviceSynchronize() != cudaSuccess) ++failures_;
    }
  }};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_lowering)

BOOST_AUTO_TEST_CASE(every_kind_of_command_becomes_the_node_that_live_capture_gives,
                     *boost::unit_test::label("sanitize")) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  const rf::Stream side(highest);
  rf::Event timing({.timing = true});
  rf::Event external({.external = true});
  const auto body = [&] {
    rf::Array left = rf::randn({1000}) * 2 + rf::array({1.0});
    timing.record(rf::current_stream());
    rf::current_stream().wait_event(external);
    rf::bench::empty(rf::current_stream());
    rf::Array right;
    {
      const rf::StreamGuard on(side);
      right = rf::rand({1000}) + 1;
    }
    rf::current_stream().wait_stream(side);
    rf::current_stream().launch_host_func([] {});
    left += right;
  };
  const rf::Graph held_back = rf::capture(body);
  const rf::Graph live = rf::capture(body, {.live = true});
  const rf::GraphExec exec = held_back.instantiate({.optimize = rf::Optimize::none});
  BOOST_TEST(read_graph(exec.native_graph()) == read_graph(live.native()));
}

BOOST_AUTO_TEST_CASE(a_thousand_graphs_are_made_while_another_thread_synchronises_the_device) {
  // Streams of which nobody has had the handle: a tripwire is a capture, which the hammer may meet.
  const rf::Stream own;
  const rf::Stream side;
  const rf::StreamGuard on_own(own);
  rf::Array x = rf::zeros({1000});
  Hammer hammer;
  for (int i = 0; i < 1000; ++i) {
    const rf::Graph graph = rf::capture([&] {
      rf::Array right;
      {
        const rf::StreamGuard on(side);
        right = x + 1;
      }
      rf::current_stream().wait_stream(side);
      x.assign(right + rf::array({1.0}));
    });
    graph.instantiate({.optimize = i % 2 == 0 ? rf::Optimize::none : rf::Optimize::all}).replay();
  }
  BOOST_TEST(hammer.stop() == 0);
  BOOST_TEST(rf::test::holds(x, 2000));
}

BOOST_AUTO_TEST_SUITE_END()
