#pragma once

#include <refrain/array.hpp>
#include <refrain/graph.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace refrain::bench {

/// One step of a workload: eager when it is called, recorded when it is given to `capture`. Returns what is
/// compared.
using Step = std::function<std::vector<Array>()>;

/// Where steps differ by a `Param`: gives it the value for the step of that number, in an executable or, where that is
/// null, for eager work.
using SetValue = std::function<void(const GraphExec* exec, int number)>;

/// What is wrong with the results of the step of that number, by a calculation without Refrain; empty when nothing is.
using CheckResults = std::function<std::string(const std::vector<Array>& results, int number)>;

/// Where steps change arrays that later steps read: gives them back what they held before the first.
using Reset = std::function<void()>;

/// A workload made ready on a device. What `set`, `check` and `reset` do may be left out.
struct Program {
  Program(Step step, SetValue set = {}, CheckResults check = {}, Reset reset = {})  // NOLINT
      : step(std::move(step)), set(std::move(set)), check(std::move(check)), reset(std::move(reset)) {}

  Step step;
  SetValue set;
  CheckResults check;
  Reset reset;
  /// The same step as a call of a graphed function, which is given what differs from step to step, and the results that
  /// the caller holds; empty: that of `graphed(step)`.
  std::function<void()> call = {};
  Step called = {};
};

/// A program to measure.
struct Workload {
  std::string name;
  std::string summary;
  int commands = 0;  ///< that one step issues: the nodes of the captured step
  int edges = 0;     ///< between them, transitively reduced
  /// Makes, on the current device, what stands outside of a step: streams, events, inputs.
  std::function<Program()> prepare;
  std::string why_not_on_host = {};  ///< empty: it runs there too
  std::string why_not_live = {};     ///< empty: its graph may be captured live
  /// How far results may be from these, relative to the largest element, that are calculated in another way in float32:
  /// contracted, or by another library.
  double tolerance = 1e-5;
  std::string why_no_graphs = {};  ///< empty: its step may be captured and replayed
};

/// Every workload, in the order of the table.
const std::vector<Workload>& workloads();

// One family a file, in workloads/.
std::vector<Workload> seed_workloads();
std::vector<Workload> empty_workloads();
std::vector<Workload> elementwise_workloads();
std::vector<Workload> array_workloads();
std::vector<Workload> branch_workloads();
std::vector<Workload> stencil_workloads();
std::vector<Workload> black_scholes_workloads();
std::vector<Workload> monte_carlo_workloads();
std::vector<Workload> adam_workloads();
std::vector<Workload> layer_workloads();
std::vector<Workload> mlp_workloads();
std::vector<Workload> graphed_workloads();
std::vector<Workload> launch_workloads();        ///< none in a binary without CUDA
std::vector<Workload> foreign_step_workloads();  ///< none in a binary without cuBLAS

}  // namespace refrain::bench
