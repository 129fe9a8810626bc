#pragma once

#include "cuda/executable.hpp"
#include "runtime/command.hpp"

#include <cuda_runtime_api.h>

namespace refrain::cuda {

/// Launches one command now.
void run_command(cudaStream_t stream, const runtime::Command& command, void* const* addresses);

/// A command with what its graph owns for it: literals on the device, counters of draws, functions. Launched into a
/// capture, and again if that is lost.
class GraphCommand {
 public:
  /// `addresses` must outlive it.
  GraphCommand(const runtime::Command& command, void* const* addresses, GraphResources& resources);
  void launch(cudaStream_t stream) const;

 private:
  runtime::Command command_;
  void* const* addresses_;
  const void* literal_ = nullptr;
};

}  // namespace refrain::cuda
