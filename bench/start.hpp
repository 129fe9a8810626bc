#pragma once

#include "machine.hpp"
#include "options.hpp"

#include <refrain/device.hpp>
#include <refrain/graph.hpp>

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace refrain::bench {

/// What a program costs before its first replay.
struct StartRow {
  std::string workload;
  std::string device;
  int nodes = 0;                    ///< of the program as written
  double record_us = 0;             ///< `capture`
  std::optional<double> passes_us;  ///< writing the program out and all passes; nothing in a shared build
  double instantiate_us = 0;        ///< all of `instantiate`, kernels being there already
};

/// NVRTC in one process.
struct KernelCosts {
  double first_ms = 0;  ///< the first kernel of all, an empty one: with loading NVRTC
  double empty_ms = 0;  ///< later empty kernels
  double chain_ms = 0;  ///< the kernel that chain_100_1k becomes, never made before
};

/// From the beginning of the workload in a new process, whose device is in use already, to its first results.
struct FirstReplay {
  std::string device;
  double empty_cache_ms = 0;  ///< with no kernels on disk
  double warm_cache_ms = 0;   ///< with those of an earlier process
};

struct StartReport {
  std::vector<StartRow> rows;
  std::optional<KernelCosts> kernels;
  std::string why_no_kernels;
  std::vector<FirstReplay> first_replays;
};

/// Measures it, prints it to `out`.
StartReport measure_start(const Options& options, std::ostream& out);

/// Writes it as JSON, with the machine as in the table's file.
void write_start(std::ostream& out, const Machine& machine, const StartReport& report);

/// In the new process: milliseconds to the first results.
double first_replay_ms(Device device);

// Of inside/, which looks into the library; stubs/ stand in for it.

/// How long the passes take for a graph, microseconds.
std::optional<double> passes_us(const Graph& graph);
/// Makes the kernel that the graph becomes, and empty ones.
/// @param why_not one line where it cannot
std::optional<KernelCosts> kernel_costs(const Graph& graph, std::string& why_not);

}  // namespace refrain::bench
