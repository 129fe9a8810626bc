#pragma once

#include "cuda/executable.hpp"
#include "runtime/backend.hpp"
#include "runtime/plan.hpp"

#include <memory>

namespace refrain::cuda {

BuiltGraph build_graph(const runtime::Plan& plan);

/// Makes the CUDA graph of a plan, node by node: the nodes, types and edges that plain CUDA captures from the same
/// program, without an open capture for other threads to run into.
std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan);

}  // namespace refrain::cuda
