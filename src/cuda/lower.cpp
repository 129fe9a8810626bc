#include "cuda/lower.hpp"

#include "cuda/executable.hpp"
#include "cuda/run.hpp"
#include "cuda/scopes.hpp"

#include <utility>
#include <vector>

namespace refrain::cuda {

std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan) {
  const CallScope call;  // the first use of a kernel may load it
  OwnedGraph graph;
  GraphResources resources;
  resources.keep_alive = plan.keep_alive;
  std::vector<cudaGraphNode_t> nodes;
  nodes.reserve(plan.commands.size());
  std::vector<cudaGraphNode_t> before;
  for (const runtime::PlannedCommand& planned : plan.commands) {
    before.clear();
    for (const int dependency : planned.dependencies) before.push_back(nodes[static_cast<std::size_t>(dependency)]);
    const int priority = plan.lanes[static_cast<std::size_t>(planned.lane)].priority;
    const GraphCommand command(*planned.command, planned.addresses.data(), resources);
    nodes.push_back(command.add_to(graph.get(), before, priority));
  }
  finish_counters(resources, plan.draw_increments);
  return std::make_shared<CudaExecutable>(std::move(graph), plan.device.index, std::move(resources));
}

}  // namespace refrain::cuda
