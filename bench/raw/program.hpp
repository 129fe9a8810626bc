#pragma once

#include "modes.hpp"
#include "raw/handles.hpp"

#include <refrain/dtype.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace refrain::bench {

/// Device memory that holds a result after a step.
struct RawResult {
  void* address;
  std::size_t bytes;
  DType dtype = DType::float32;  ///< or int64; read only where there is a tolerance
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
  std::vector<RawResult> results;  ///< those of the workload's first eager step from a restart
  /// Gives the executable what the launch of that number is to have, if anything, as `Program::set` does.
  std::function<void(const CapturedGraph& captured, int number)> set = nullptr;
  /// Whether a step depends on its number alone, not on those before: then launches of the graph are compared too.
  bool is_stateless = false;
  /// Where steps go on from each other: puts back what they change. Then launches are compared from there on.
  std::function<void()> reset = nullptr;
  /// Whether the graph's nodes are not the workload's one by one: libraries decide theirs, and an op that is several
  /// commands in Refrain is one kernel.
  bool has_nodes_of_its_own = false;
  /// How far results may be off where they are of other functions, sums or roundings than Refrain's, relative to the
  /// largest of an array; 0: they are the same bit for bit.
  double tolerance = 0;
};

using MakeRawProgram = std::function<RawProgram(int device)>;

/// Replays of the captured step.
Baseline raw_graph(std::string workload, MakeRawProgram make);
inline constexpr const char* hand_summary = "replay of a graph of kernels written for the workload";
/// The same of kernels that are written for the workload, whose number is theirs.
Baseline hand_graph(std::string workload, std::string mode, std::string summary, MakeRawProgram make);
/// The step on plain streams.
Baseline raw_eager(std::string workload, std::string mode, std::string summary, MakeRawProgram make);

// One family a file.
std::vector<Baseline> raw_seeds();
std::vector<Baseline> raw_empties();
std::vector<Baseline> raw_elementwise();
std::vector<Baseline> raw_arrays();
std::vector<Baseline> raw_rows();
std::vector<Baseline> raw_branches();
std::vector<Baseline> raw_stencils();
std::vector<Baseline> raw_conjugate_gradients();
std::vector<Baseline> raw_black_scholes();
std::vector<Baseline> raw_monte_carlo();
std::vector<Baseline> raw_adam();
std::vector<Baseline> raw_launches();
std::vector<Baseline> raw_graphed();
std::vector<Baseline> raw_foreign_step();  ///< none in a binary without cuBLAS

std::vector<Baseline> hand_mlp();  ///< none in a binary without cuBLAS

// The rest of hand/, which is built twice.
namespace hand_exact {
std::vector<Baseline> hand_rows();  ///< with one rounding an operation
}
namespace hand_fast {
std::vector<Baseline> hand_rows();  ///< with fused multiply-adds
}

}  // namespace refrain::bench
