#pragma once

#include <functional>
#include <string>
#include <vector>

namespace refrain::bench {

/// Why CUDA calls cannot be counted in this process; empty when they can.
std::string why_no_api_calls();

/// The names of the CUDA calls that this thread makes while `run` runs, in order: calls of the runtime API,
/// and of the driver API where they are not the runtime's own. Slows later calls down, so count after timing.
std::vector<std::string> api_calls(const std::function<void()>& run);

}  // namespace refrain::bench
