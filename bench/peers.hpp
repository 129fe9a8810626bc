#pragma once

#include "row.hpp"

#include <string>
#include <vector>

namespace refrain::bench {

inline constexpr const char* numpy_mode = "numpy";

/// What another library measured in its own process.
struct PeerRows {
  std::vector<Row> rows;
  std::string why_none;  ///< one line; empty when there are rows
};

/// NumPy's rows of these workloads, or of all when none is named, by the python3 that is found on PATH.
PeerRows numpy_rows(const Effort& effort, const std::vector<std::string>& workloads);

}  // namespace refrain::bench
