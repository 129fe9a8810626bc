#pragma once

#include "cuda/executable.hpp"
#include "runtime/command.hpp"

#include <cuda_runtime_api.h>

namespace refrain::cuda {

/// Launches one command on a stream. `resources` null: eager work. Else the stream is capturing: literals and draws get
/// memory that the graph owns.
void run_command(cudaStream_t stream, const runtime::Command& command, void* const* addresses,
                 GraphResources* resources);

}  // namespace refrain::cuda
