#include "cuda/lower.hpp"

#include "cuda/compat.hpp"
#include "cuda/executable.hpp"
#include "cuda/fused.hpp"
#include "cuda/run.hpp"
#include "cuda/scopes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace refrain::cuda {

namespace {

/// Whether the newest command and that one are kernels that may have a programmatic edge between them.
bool is_pair(const BuiltGraph& built, int before) {
  const GraphCommand& other = built.commands[static_cast<std::size_t>(before)];
  return built.commands.back().waits_for_dependency() && other.waits_for_dependency();
}

}  // namespace

BuiltGraph build_graph(const runtime::Plan& plan) {
  const CallScope call;  // the first use of a kernel may load it
  BuiltGraph built;
  built.resources.keep_alive = plan.keep_alive;
  const auto* const like = static_cast<const CudaExecutable*>(plan.like.get());
  if (like != nullptr) {
    built.resources.counters = like->built().resources.counters;
  } else {
    make_kernels(plan);
  }
  std::vector<cudaGraphNode_t> before;
  for (const runtime::PlannedCommand& planned : plan.commands) {
    before.clear();
    for (const int dependency : planned.dependencies) {
      const auto ends = built.nodes.ends_of(static_cast<std::size_t>(dependency));
      before.insert(before.end(), ends.begin(), ends.end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    const GraphCommand* const same = like == nullptr ? nullptr : &like->built().commands[built.commands.size()];
    built.commands.emplace_back(*planned.command, planned.addresses.data(), built.resources, same);
    const bool is_programmatic = planned.is_programmatic && is_pair(built, planned.dependencies[0]);
    built.is_programmatic.push_back(is_programmatic);
    const int priority = plan.lanes[static_cast<std::size_t>(planned.lane)].priority;
    if (!is_programmatic) {
      built.commands.back().add_to(built.graph.get(), before, priority, built.nodes);
      continue;
    }
    built.is_programmatic[static_cast<std::size_t>(planned.dependencies[0])] = true;
    built.commands.back().add_to(built.graph.get(), {}, priority, built.nodes);
    add_programmatic_edge(built.graph.get(), before[0], built.nodes.all.back());
  }
  if (like == nullptr) finish_counters(built.resources, plan.draw_increments);
  return built;
}

std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan) {
  return std::make_shared<CudaExecutable>(build_graph(plan), plan.device.index);
}

}  // namespace refrain::cuda
