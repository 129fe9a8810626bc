#pragma once

#include <refrain/array.hpp>

#include <functional>
#include <string>
#include <vector>

namespace refrain::bench {

/// One step of a workload: eager when it is called, recorded when it is given to `capture`. Returns what is
/// compared.
using Step = std::function<std::vector<Array>()>;

/// A program to measure.
struct Workload {
  std::string name;
  std::string summary;
  int commands = 0;  ///< that one step issues: the nodes of the captured step
  int edges = 0;     ///< between them, transitively reduced
  /// Makes, on the current device, what stands outside of a step: streams, events, inputs.
  std::function<Step()> prepare;
};

/// Every workload, in the order of the table.
const std::vector<Workload>& workloads();

// One family a file, in workloads/.
std::vector<Workload> seed_workloads();
std::vector<Workload> empty_workloads();
std::vector<Workload> elementwise_workloads();

}  // namespace refrain::bench
