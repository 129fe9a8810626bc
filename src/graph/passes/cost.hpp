#pragma once

#include "runtime/command.hpp"

#include <refrain/device.hpp>

#include <cstdint>

namespace refrain::graph {

/// What a command takes, in microseconds.
struct StepCost {
  double latency = 0;  ///< from its start to that of the next one that waits for it, were it to do nothing
  double work = 0;     ///< while it has the device's memory or arithmetic to itself
};

/// What a kind of device takes for commands and branches, in microseconds. The figures behind it are in cost.cpp.
struct DeviceCosts {
  double node = 0;            ///< a command's latency
  double issue = 0;           ///< between the starts of any two commands
  double branch = 0;          ///< of each branch but the first, for whoever launches the graph
  double crossing = 0;        ///< where a command waits for one of another branch, beyond a wait for one of its own
  double bytes_per_us = 1;    ///< read and written
  double ops_per_us = 1;      ///< elementwise ones, or multiplications and additions of a product
  bool has_branches = false;  ///< else a replay runs its commands one after another anyway
};

const DeviceCosts& costs_of(DeviceKind kind);

StepCost cost_of(const runtime::Command& command, const DeviceCosts& costs);

// Where several commands become one, devices are told apart no further: they all are compared by CUDA's figures.

/// Positions up to which a kernel leaves most of the device idle: with 16-byte accesses of float32 2^16 positions are
/// 64 blocks of 256 threads, less than half a block for each of 132 multiprocessors. Above, kernels side by side take
/// almost as long as one after another, and one launch less is nothing beside what they do.
inline constexpr std::int64_t few_positions = 1 << 16;

/// About how long a command takes, functions and work of other code included.
double estimate_us(const runtime::Command& command);

/// A part of a command may begin so much later for the others' sake: what a kernel of its own takes.
double most_delay_us();

/// The blocks of a kernel that waits for its dependency itself (kernels/dependency.hpp); 0 where the command is none
/// such. `multiprocessors`: the device's.
std::int64_t waiting_blocks(const runtime::Command& command, int multiprocessors);

/// Of kernels with more blocks a programmatic edge makes the next one's blocks take up room that they still need.
/// `multiprocessors`: the device's.
std::int64_t most_waiting_blocks(int multiprocessors);

}  // namespace refrain::graph
