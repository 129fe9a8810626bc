#pragma once

#include "cuda/executable.hpp"
#include "runtime/command.hpp"

#include <cuda_runtime_api.h>

#include <span>

namespace refrain::cuda {

/// Launches one command now.
void run_command(cudaStream_t stream, const runtime::Command& command, void* const* addresses);

/// A command with what its graph owns for it: literals on the device, counters of draws, functions.
class GraphCommand {
 public:
  /// `addresses` must outlive it.
  GraphCommand(const runtime::Command& command, void* const* addresses, GraphResources& resources);
  /// Launches it on a capturing stream.
  void launch(cudaStream_t stream) const;
  /// Adds the nodes that such a launch gives, as those of the next command.
  void add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, int priority, CommandNodes& nodes) const;

 private:
  runtime::Command command_;
  void* const* addresses_;
  const void* literal_ = nullptr;
};

}  // namespace refrain::cuda
