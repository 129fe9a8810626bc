// What NVRTC takes for a fused kernel. It needs no GPU.

#include "measure.hpp"
#include "start.hpp"

#include "cuda/nvrtc.hpp"
#include "graph/arena.hpp"
#include "graph/passes/passes.hpp"
#include "graph/planner.hpp"
#include "jit/cuda_source.hpp"

#include <memory>
#include <variant>

namespace refrain::bench {
namespace {

constexpr const char* architecture = "sm_90";
constexpr int multiprocessors = 132;  // an H200's
constexpr const char* empty_kernel = "extern \"C\" __global__ void fused_kernel() {}\n";

double compile_ms(const std::string& source) {
  Stopwatch watch;
  cuda::compile_kernel(source, architecture);
  return watch.lap() / 1000;
}

/// CUDA C++ of the only command that the passes leave; empty where that is no fused one.
std::string source_of(const Graph& graph) {
  refrain::graph::Planner planner(graph.program(), std::make_shared<refrain::graph::ArenaRoom>(graph.program()->mark));
  refrain::graph::Draft& draft = planner.draft();
  for (const refrain::graph::Pass& pass : refrain::graph::passes()) pass.run(draft);
  if (draft.steps.size() != 1) return {};
  const auto* const fused = std::get_if<runtime::FusedCommand>(&draft.steps[0].command->payload);
  return fused == nullptr
             ? std::string()
             : jit::cuda_source(*fused->expression, jit::launch_shape(*fused->expression, {}, multiprocessors));
}

}  // namespace

std::optional<KernelCosts> kernel_costs(const Graph& graph, std::string& why_not) {
  constexpr int trials = 7;
  if (cuda::nvrtc_version() == 0) {
    why_not = "NVRTC cannot be loaded";
    return std::nullopt;
  }
  const std::string source = source_of(graph);
  if (source.empty()) {
    why_not = "the chain is not one kernel";
    return std::nullopt;
  }
  KernelCosts costs;
  costs.first_ms = compile_ms(empty_kernel);
  std::vector<double> empty;
  std::vector<double> chain;
  for (int i = 0; i < trials; ++i) {  // in turns, so that a busy machine meets both
    empty.push_back(compile_ms(empty_kernel));
    chain.push_back(compile_ms(source));
  }
  costs.empty_ms = median(std::move(empty));
  costs.chain_ms = median(std::move(chain));
  return costs;
}

}  // namespace refrain::bench
