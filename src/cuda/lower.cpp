#include "cuda/lower.hpp"

#include "cuda/executable.hpp"
#include "cuda/run.hpp"
#include "cuda/scopes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace refrain::cuda {

std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan) {
  const CallScope call;  // the first use of a kernel may load it
  OwnedGraph graph;
  GraphResources resources;
  resources.keep_alive = plan.keep_alive;
  CommandNodes nodes;
  std::vector<cudaGraphNode_t> before;
  for (const runtime::PlannedCommand& planned : plan.commands) {
    before.clear();
    for (const int dependency : planned.dependencies) {
      const auto ends = nodes.ends_of(static_cast<std::size_t>(dependency));
      before.insert(before.end(), ends.begin(), ends.end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    const int priority = plan.lanes[static_cast<std::size_t>(planned.lane)].priority;
    const GraphCommand command(*planned.command, planned.addresses.data(), resources);
    command.add_to(graph.get(), before, priority, nodes);
  }
  finish_counters(resources, plan.draw_increments);
  return std::make_shared<CudaExecutable>(std::move(graph), plan.device.index, std::move(resources), std::move(nodes));
}

}  // namespace refrain::cuda
