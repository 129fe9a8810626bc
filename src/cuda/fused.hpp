#pragma once

#include "jit/launch_shape.hpp"
#include "kernels/cuda.cuh"
#include "runtime/backend.hpp"
#include "runtime/command.hpp"
#include "runtime/plan.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace refrain::cuda {

/// Why kernels cannot be made here; empty when they can.
std::string why_no_fusion();
/// Rows are those of a block: a chunk; or of a cluster where the device has clusters: eight chunks.
runtime::FusionLimits fusion_limits(int device);

/// Makes the kernels of a plan's fused commands, those that are not there yet side by side.
void make_kernels(const runtime::Plan& plan);

/// A kernel, and how it is launched.
struct FusedKernel {
  CUkernel kernel = nullptr;
  jit::LaunchShape shape;
  const void* blocks = nullptr;  ///< 8 bytes of zeros on the device, of a command with something that is done last
};

/// The kernel of a fused command, made now if it is not there yet; kept for good.
FusedKernel kernel_of(int device, const runtime::FusedCommand& command);

/// Puts a fused command where the target says.
void launch_fused(const FusedKernel& kernel, int device, const runtime::FusedCommand& command, void* const* addresses,
                  const kernels::Target& target);

}  // namespace refrain::cuda
