#pragma once

#include "cuda/executable.hpp"
#include "runtime/command.hpp"

#include <cuda_runtime_api.h>

#include <memory>

namespace refrain::cuda {

/// The algorithm for a product and the scratch memory that it takes, as cuBLASLt chooses them; without the order lock.
std::shared_ptr<const runtime::MatmulPlan> plan_matmul(int device, const runtime::MatmulShape& shape,
                                                       SourceLocation where);

/// Puts a product on a stream, which may be capturing.
void launch_matmul(cudaStream_t stream, const runtime::MatmulCommand& command, void* const* addresses);

/// The nodes of a product as a graph.
OwnedGraph matmul_graph(int device, int priority, const runtime::MatmulCommand& command, void* const* addresses);

}  // namespace refrain::cuda
