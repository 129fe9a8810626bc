#pragma once

#include "runtime/backend.hpp"

#include <memory>

namespace refrain::graph {

/// Runs a plan's commands one by one on the replay's stream, as eager work: what REFRAIN_EXECUTION=eager makes in place
/// of the backend's executable, so that a command that fails is known.
std::shared_ptr<runtime::Executable> make_stepwise(runtime::Plan plan);

}  // namespace refrain::graph
