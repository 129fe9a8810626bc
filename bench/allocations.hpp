#pragma once

#include <cstdint>
#include <functional>

namespace refrain::bench {

/// Heap allocations through `operator new`, of any thread, while `run` runs.
std::int64_t count_allocations(const std::function<void()>& run);

}  // namespace refrain::bench
