// Priorities of a capture's streams, as attributes of the kernel nodes.

#include "native_graph.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

using boost::test_tools::per_element;
namespace rf = refrain;
using rf::Optimize;

namespace {

/// The priorities of a graph's kernel nodes, in the order in which the nodes were made.
std::vector<int> kernel_priorities(cudaGraph_t graph) {
  std::size_t count = 0;
  CUDA_REQUIRE(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CUDA_REQUIRE(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<int> priorities;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    CUDA_REQUIRE(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeAttrValue value{};
    CUDA_REQUIRE(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributePriority, &value));
    priorities.push_back(value.priority);
  }
  return priorities;
}

/// A heavy branch of low priority, a light one of high priority, and one between.
struct Branches {
  const std::pair<int, int> range = rf::Stream::priority_range(rf::current_device());
  const rf::Stream heavy{range.first};
  const rf::Stream between{std::max(range.first - 1, range.second)};
  const rf::Stream light{range.second};
  rf::Array x = rf::zeros({1 << 20});
  rf::Array y = rf::zeros({64});
  rf::Array z = rf::zeros({64});

  void issue() {
    const rf::Stream origin = rf::current_stream();
    rf::bench::empty(origin);
    for (const rf::Stream& stream : {heavy, between, light}) stream.wait_stream(origin);
    {
      const rf::StreamGuard on(heavy);
      for (int i = 0; i < 3; ++i) x += 1;
    }
    {
      const rf::StreamGuard on(between);
      y += 1;
    }
    {
      const rf::StreamGuard on(light);
      z += 1;
    }
    for (const rf::Stream& stream : {heavy, between, light}) origin.wait_stream(stream);
  }

  std::vector<int> expected() const {
    return {rf::current_stream().priority(),
            heavy.priority(),
            heavy.priority(),
            heavy.priority(),
            between.priority(),
            light.priority()};
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_priorities)

BOOST_AUTO_TEST_CASE(each_kernel_node_has_the_priority_of_its_stream) {
  Branches branches;
  rf::synchronize();
  for (const bool live : {false, true}) {
    const rf::Graph graph = rf::capture([&] { branches.issue(); }, {.live = live});
    if (live) BOOST_TEST(kernel_priorities(graph.native()) == branches.expected(), per_element());
    for (const Optimize optimize : {Optimize::none, Optimize::all}) {
      const rf::GraphExec exec =
          graph.instantiate({.optimize = optimize, .passes = {.fusion = false, .horizontal = false}});
      BOOST_TEST(kernel_priorities(exec.native_graph()) == branches.expected(), per_element());
      exec.replay();
      rf::synchronize();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_graph_in_a_graph_keeps_the_priorities_of_its_forked_streams) {
  Branches branches;
  rf::synchronize();
  const rf::GraphExec inner = rf::capture([&] { branches.issue(); }).instantiate();
  const rf::GraphExec outer = rf::capture([&] { inner.replay(); }).instantiate({.optimize = Optimize::none});
  BOOST_TEST(kernel_priorities(outer.native_graph()) == branches.expected(), per_element());
}

BOOST_AUTO_TEST_SUITE_END()
