#include "raw/edges.hpp"

#include "raw/handles.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace refrain::bench {
namespace {

using Predecessors = std::map<cudaGraphNode_t, std::vector<cudaGraphNode_t>>;

void get_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* count) {
#if CUDART_VERSION >= 13000
  check(cudaGraphGetEdges(graph, from, to, nullptr, count));
#else
  check(cudaGraphGetEdges(graph, from, to, count));
#endif
}

Predecessors predecessors_of(cudaGraph_t graph) {
  std::size_t count = 0;
  get_edges(graph, nullptr, nullptr, &count);
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  if (count > 0) get_edges(graph, from.data(), to.data(), &count);
  Predecessors predecessors;
  for (std::size_t i = 0; i < count; ++i) predecessors[to[i]].push_back(from[i]);
  return predecessors;
}

/// Everything that `node` comes after.
std::set<cudaGraphNode_t> ancestors(const Predecessors& predecessors, cudaGraphNode_t node) {
  std::set<cudaGraphNode_t> found;
  std::vector<cudaGraphNode_t> open{node};
  while (!open.empty()) {
    const auto at = predecessors.find(open.back());
    open.pop_back();
    if (at == predecessors.end()) continue;
    for (const cudaGraphNode_t before : at->second) {
      if (found.insert(before).second) open.push_back(before);
    }
  }
  return found;
}

}  // namespace

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) check(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

int reduced_edge_count(cudaGraph_t graph) {
  const Predecessors predecessors = predecessors_of(graph);
  int kept = 0;
  for (const auto& [node, direct] : predecessors) {
    std::set<cudaGraphNode_t> indirect;
    if (direct.size() > 1) {
      for (const cudaGraphNode_t before : direct) indirect.merge(ancestors(predecessors, before));
    }
    kept += static_cast<int>(std::count_if(direct.begin(), direct.end(),
                                           [&](cudaGraphNode_t before) { return !indirect.contains(before); }));
  }
  return kept;
}

}  // namespace refrain::bench
