#pragma once

#include "modes.hpp"
#include "raw/handles.hpp"

#include <functional>
#include <vector>

namespace refrain::bench {

/// Device memory that holds a result after a step.
struct RawResult {
  void* address;
  std::size_t bytes;
};

/// A step that plain CUDA captured.
struct CapturedGraph {
  GraphHandle graph;
  GraphExecHandle exec;
  std::vector<cudaGraphNode_t> nodes;  ///< of the graph
};

/// One step of a workload in plain CUDA. `step` issues on the stream given and forks from and joins to it
/// what it has on other streams, so that it can be captured.
struct RawProgram {
  std::function<void(cudaStream_t main)> step;
  std::vector<RawResult> results;  ///< bit for bit those of the workload's first eager step from seed 0
  /// Gives the executable what the launch of that number is to have, if anything, as `Program::set` does.
  std::function<void(const CapturedGraph& captured, int number)> set = nullptr;
  /// Whether a step depends on its number alone, not on those before: then launches of the graph are compared too.
  bool is_stateless = false;
  /// Whether libraries decide how many nodes the graph has.
  bool has_library_nodes = false;
};

using MakeRawProgram = std::function<RawProgram(int device)>;

/// Replays of the captured step.
Baseline raw_graph(std::string workload, MakeRawProgram make);
/// The step on plain streams.
Baseline raw_eager(std::string workload, std::string mode, std::string summary, MakeRawProgram make);

// One family a file.
std::vector<Baseline> raw_seeds();
std::vector<Baseline> raw_empties();
std::vector<Baseline> raw_elementwise();
std::vector<Baseline> raw_launches();
std::vector<Baseline> raw_foreign_step();  ///< none in a binary without cuBLAS

}  // namespace refrain::bench
