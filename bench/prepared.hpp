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
  std::optional<GraphMemory> memory;
  std::optional<bool> verified;  ///< nothing: there was nothing to compare
  std::string failure;           ///< what did not hold, if anything
  std::string note;              ///< the row's
};

/// Arrays' elements as they lie in memory.
using Bytes = std::vector<std::byte>;
std::vector<Bytes> bytes_of(const std::vector<Array>& arrays);

/// The eager step of that number.
std::vector<Array> run_eagerly(const Program& program, int number);

/// How many steps in a row are compared: two, so that the place of a step in the sequence of random numbers, or of
/// values set, is checked too.
inline constexpr int compared_steps = 2;

/// As if no step had run: random numbers from seed 0, and arrays that steps change as they were.
void restart(const Program& program);

/// The results of `steps` eager steps from a restart: what every other mode must give, bit for bit.
std::vector<std::vector<Bytes>> eager_reference(const Program& program, int steps);

/// The elements as numbers.
std::vector<double> numbers_of(const Bytes& bytes, DType dtype);

/// What differs, in words; empty when nothing does.
std::string difference(const std::vector<Bytes>& expected, const std::vector<Bytes>& found);
/// The same for float32 elements and numbers that were calculated in another way; `tolerance` is relative to the
/// largest of those, or to 1.
std::string difference(const std::vector<double>& expected, const std::vector<double>& found, double tolerance);
std::string difference(const std::vector<double>& expected, const std::vector<float>& found, double tolerance);
std::string difference(const std::vector<double>& expected, const Array& found, double tolerance);
/// Of results that may differ so much from those.
std::string difference(const std::vector<Bytes>& expected, const std::vector<Array>& found, double tolerance);
/// The same for the nodes and edges that a graph of the workload has.
std::string count_difference(const Workload& workload, int nodes, int edges);

/// Notes a comparison's outcome: `failure` empty means that it held.
void note(Prepared& prepared, std::string failure);

}  // namespace refrain::bench
