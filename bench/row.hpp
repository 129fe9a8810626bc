#pragma once

#include "measure.hpp"

#include <optional>
#include <string>
#include <vector>

namespace refrain::bench {

/// What one step in a steady state does besides its work.
struct StepCounts {
  std::optional<double> api_calls;     ///< CUDA calls while issuing; nothing where they cannot be counted
  std::vector<std::string> api_names;  ///< which ones
  double allocations = 0;              ///< of any thread, from issuing to the end of the step
};

/// A line of the report.
struct Row {
  std::string workload;
  std::string device;
  std::string mode;
  int commands = 0;  ///< a step issues
  Timing timing;
  std::optional<int> nodes;
  std::optional<int> edges;
  std::optional<GraphCosts> costs;
  std::optional<GraphMemory> memory;
  std::optional<bool> verified;
  std::string note;  ///< how it calculates, where not as eager calls do
  std::optional<StepCounts> counts;
};

}  // namespace refrain::bench
