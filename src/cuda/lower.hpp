#pragma once

#include "runtime/backend.hpp"
#include "runtime/plan.hpp"

#include <memory>

namespace refrain::cuda {

/// Lowers a plan by stream capture: literally, or on one stream per device with exact predecessors. Another thread's
/// device-wide call can invalidate that; after some tries the graph is assembled node by node.
std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan);

/// The same graph, each command captured for itself and its node added with its predecessors: a window that short is
/// missed sooner or later by any thread that synchronises the device again and again.
std::shared_ptr<runtime::Executable> assemble(const runtime::Plan& plan);

}  // namespace refrain::cuda
