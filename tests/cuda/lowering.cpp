// How plans become CUDA graphs.

#include "cuda/lower.hpp"
#include "graph/planner.hpp"
#include "native_graph.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <utility>

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

BOOST_AUTO_TEST_SUITE_END()
