#include "cuda/lower.hpp"

#include "cuda/executable.hpp"
#include "cuda/fused.hpp"
#include "cuda/run.hpp"
#include "cuda/scopes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace refrain::cuda {

BuiltGraph build_graph(const runtime::Plan& plan) {
  const CallScope call;  // the first use of a kernel may load it
  BuiltGraph built;
  built.resources.keep_alive = plan.keep_alive;
  make_kernels(plan);
  std::vector<cudaGraphNode_t> before;
  for (const runtime::PlannedCommand& planned : plan.commands) {
    before.clear();
    for (const int dependency : planned.dependencies) {
      const auto ends = built.nodes.ends_of(static_cast<std::size_t>(dependency));
      before.insert(before.end(), ends.begin(), ends.end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    const int priority = plan.lanes[static_cast<std::size_t>(planned.lane)].priority;
    built.commands.emplace_back(*planned.command, planned.addresses.data(), built.resources);
    built.commands.back().add_to(built.graph.get(), before, priority, built.nodes);
  }
  finish_counters(built.resources, plan.draw_increments);
  return built;
}

std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan) {
  return std::make_shared<CudaExecutable>(build_graph(plan), plan.device.index);
}

}  // namespace refrain::cuda
