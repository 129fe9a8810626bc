#pragma once

#include <boost/test/unit_test.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#define CUDA_REQUIRE(expression) BOOST_REQUIRE_EQUAL((expression), cudaSuccess)

/// A CUDA graph's nodes in the order they were captured in, and its edges after transitive reduction.
struct NativeGraph {
  std::vector<cudaGraphNodeType> types;
  std::set<std::pair<int, int>> edges;

  friend bool operator==(const NativeGraph&, const NativeGraph&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const NativeGraph& graph) {
  out << graph.types.size() << " nodes";
  for (const auto& [from, to] : graph.edges) out << ' ' << from << "->" << to;
  return out;
}

inline NativeGraph read_graph(cudaGraph_t graph) {
  std::size_t count = 0;
  CUDA_REQUIRE(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CUDA_REQUIRE(cudaGraphGetNodes(graph, nodes.data(), &count));
  NativeGraph read;
  std::map<cudaGraphNode_t, int> number;
  for (const cudaGraphNode_t node : nodes) {
    number.emplace(node, static_cast<int>(read.types.size()));
    CUDA_REQUIRE(cudaGraphNodeGetType(node, &read.types.emplace_back()));
  }
  std::vector<std::set<int>> before(count);  // everything that comes before a node
  std::vector<std::set<int>> direct(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t dependencies = 0;
    std::vector<cudaGraphNode_t> from;
    std::vector<cudaGraphEdgeData> data;  // CUDA refuses to leave it out where an edge is a programmatic one
    for (const bool is_counting : {true, false}) {
      if (!is_counting && dependencies == 0) break;
      from.resize(dependencies);
      data.resize(dependencies);
      cudaGraphNode_t* const into = is_counting ? nullptr : from.data();
      cudaGraphEdgeData* const data_into = is_counting ? nullptr : data.data();
#if CUDART_VERSION >= 13000
      CUDA_REQUIRE(cudaGraphNodeGetDependencies(nodes[i], into, data_into, &dependencies));
#else
      CUDA_REQUIRE(cudaGraphNodeGetDependencies_v2(nodes[i], into, data_into, &dependencies));
#endif
    }
    for (const cudaGraphNode_t node : from) direct[i].insert(number.at(node));
    for (const int node : direct[i]) {
      BOOST_REQUIRE_LT(node, static_cast<int>(i));  // captured before
      before[i].insert(node);
      before[i].insert(before[static_cast<std::size_t>(node)].begin(), before[static_cast<std::size_t>(node)].end());
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const int node : direct[i]) {
      const bool follows = std::any_of(direct[i].begin(), direct[i].end(), [&](int other) {
        return other != node && before[static_cast<std::size_t>(other)].contains(node);
      });
      if (!follows) read.edges.emplace(node, static_cast<int>(i));
    }
  }
  return read;
}
