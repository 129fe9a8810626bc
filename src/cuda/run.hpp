#pragma once

#include "cuda/executable.hpp"
#include "cuda/fused.hpp"
#include "runtime/command.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <span>

namespace refrain::cuda {

/// Launches one command now.
void run_command(cudaStream_t stream, const runtime::Command& command, void* const* addresses);

/// Sets nodes by the driver, which is told the kernel's handle; the runtime looks for it each time.
class KnownKernel final : public kernels::NodeSetter {
 public:
  cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams& params) override;

 private:
  const void* symbol_ = nullptr;  ///< of the newest call's kernel
  cudaFunction_t handle_ = nullptr;
};

/// A command with what its graph owns for it: literals on the device, counters of draws, functions.
class GraphCommand {
 public:
  /// `addresses` must outlive its calls. `like`: the same command in another executable, whose counters serve this one
  /// too; null: it has its own.
  GraphCommand(const runtime::Command& command, void* const* addresses, GraphResources& resources,
               const GraphCommand* like = nullptr);
  /// Launches it on a capturing stream.
  void launch(cudaStream_t stream) const;
  /// Adds the nodes that such a launch gives, as those of the next command.
  void add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, int priority, CommandNodes& nodes) const;
  /// Becomes the same kind of command with other parameters and addresses, in the executable's nodes too.
  void change(const runtime::Command& command, void* const* addresses, cudaGraphExec_t exec,
              std::span<const cudaGraphNode_t> nodes);
  /// The executable's nodes become what the command is, with these addresses.
  void put(void* const* addresses, cudaGraphExec_t exec, std::span<const cudaGraphNode_t> nodes);
  void restore(cudaGraphExec_t exec, std::span<const cudaGraphNode_t> nodes) { put(addresses_, exec, nodes); }
  /// Puts a kernel that waits for its dependency, and does nothing else, in its place.
  void pause(cudaGraphExec_t exec, std::span<const cudaGraphNode_t> nodes) const;
  /// Whether it is one kernel that waits on the device for the one before it (kernels/dependency.hpp).
  bool waits_for_dependency() const;
  bool is_draw() const noexcept {
    const auto* fused = std::get_if<runtime::FusedCommand>(&command_.payload);
    return std::holds_alternative<runtime::RandomCommand>(command_.payload) ||
           (fused != nullptr && !fused->draws.empty());
  }

 private:
  void take_counters(const GraphCommand& like);

  runtime::Command command_;
  void* const* addresses_;
  const void* literal_ = nullptr;
  FusedKernel fused_;
  KnownKernel known_;
};

}  // namespace refrain::cuda
