// How plans become CUDA graphs, also where other threads are in the way.

#include "cuda/lower.hpp"
#include "graph/planner.hpp"
#include "native_graph.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rf = refrain;

BOOST_AUTO_TEST_SUITE(cuda_lowering)

BOOST_AUTO_TEST_CASE(a_graph_assembled_node_by_node_is_the_one_that_capture_gives) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  const rf::Stream side(highest);
  rf::Event timing({.timing = true});
  const rf::Graph graph = rf::capture([&] {
    rf::Array left = rf::randn({1000}) * 2 + rf::array({1.0});
    timing.record(rf::current_stream());
    rf::Array right;
    {
      const rf::StreamGuard on(side);
      right = rf::rand({1000}) + 1;
    }
    rf::current_stream().wait_stream(side);
    rf::current_stream().launch_host_func([] {});
    left += right;
  });
  rf::graph::Planner captured(graph.program());
  rf::graph::Planner assembled(graph.program());
  const auto by_capture = rf::cuda::lower_to_cuda(std::move(captured).plan(false));
  const auto by_node = rf::cuda::assemble(std::move(assembled).plan(false));
  BOOST_TEST(read_graph(by_node->native_graph()) == read_graph(by_capture->native_graph()));
}

BOOST_AUTO_TEST_CASE(graphs_are_right_while_another_thread_synchronises_the_device) {
  std::atomic<bool> stop{false};
  std::thread hammer([&] {
    while (!stop) static_cast<void>(cudaDeviceSynchronize());  // 900 while a lowering is under way
  });
  const rf::Stream side;
  rf::Array x = rf::zeros({1000});
  for (int i = 0; i < 200; ++i) {
    const rf::GraphExec exec = rf::capture([&] {
                                 rf::Array right;
                                 {
                                   const rf::StreamGuard on(side);
                                   right = x + 1;
                                 }
                                 rf::current_stream().wait_stream(side);
                                 x.assign(right + rf::array({1.0}));
                               }).instantiate({.optimize = i % 2 == 0 ? rf::Optimize::none : rf::Optimize::all});
    exec.replay();
  }
  stop = true;
  hammer.join();
  static_cast<void>(cudaGetLastError());
  BOOST_TEST(rf::test::holds(x, 400));
}

BOOST_AUTO_TEST_SUITE_END()
