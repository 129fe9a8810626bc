#pragma once

#include "measure.hpp"
#include "workload.hpp"

#include <refrain/device.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace refrain::bench {

/// A workload in one mode on one device, ready to be timed.
struct Prepared {
  Work work;
  std::optional<int> nodes;  ///< of the executable as planned; nothing where there is no graph
  std::optional<int> edges;
  std::optional<GraphCosts> costs;
  std::optional<bool> verified;  ///< nothing: there was nothing to compare
  std::string failure;           ///< what did not hold, if anything
};

/// Arrays' elements as they lie in memory.
using Bytes = std::vector<std::byte>;
std::vector<Bytes> bytes_of(const std::vector<Array>& arrays);

/// The results of `steps` eager steps after seeding with 0: what every other mode must give, bit for bit.
std::vector<std::vector<Bytes>> eager_reference(const Step& step, int steps);

/// What differs, in words; empty when nothing does.
std::string difference(const std::vector<Bytes>& expected, const std::vector<Bytes>& found);
/// The same for the nodes and edges that a graph of the workload has.
std::string count_difference(const Workload& workload, int nodes, int edges);

/// Notes a comparison's outcome: `failure` empty means that it held.
void note(Prepared& prepared, std::string failure);

}  // namespace refrain::bench
