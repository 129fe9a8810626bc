// The cost model of the passes, and what it rests on.
//
// CUDA, measured on an H200 with driver 580 (total time of a replay with its synchronisation, in microseconds):
//
//   32 `add`s of float32, in a line against 2 branches of 16:
//     1 000 elements 43.5 against 26.5; 2^17 elements 51 against 36; 2^20 elements 123 against 109
//   replay and synchronisation of one node: 5.6, of which the host takes 1.1
//   empty kernels: a line takes 0.56 a node; 2 branches of 32 nodes 31, 8 of 32: 54, 32 of 32: 189
//   what the host takes of that: 1.2 for a line, 2.0 for 2 branches, 5.8 for 8, 23 for 32
//   copy of 1 GiB: 4.2 TB/s, read and written; 200 multiplications and additions on 2^26 elements: 275
//
// From which:
//   node      (43.5 - 5.6) / 32: a kernel that reads and writes memory, from its start to that of the next in its line
//   issue     (189 - 23 - 5.6) / (32 * 32): branches that do nothing are held up by nothing else
//   branch    (5.8 - 1.2) / 7 and (23 - 1.2) / 31, rounded up
//   crossing  (26.5 - 5.6 - 0.7 - 16 * 1.2) / 2, a fork and a join: next to nothing. But 2 branches of 32 empty nodes
//             take 31 where a line of 32 takes 5.6 + 18 and the branch 0.7: (31 - 24.3) / 2. A number between them.
//
// The model says 44 and 28 for 1 000 elements, 56 and 38 for 2^17, 140 and 124 for 2^20.
//
// The host runs a replay as one task, command after command (docs/adr/0005-host-replay-is-one-task.md).

#include "graph/passes/cost.hpp"

#include "jit/cuda_source.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <vector>

namespace refrain::graph {

namespace {

constexpr DeviceCosts cuda_costs{.node = 1.2,
                                 .issue = 0.16,
                                 .branch = 0.7,
                                 .crossing = 1.0,
                                 .bytes_per_us = 4.2e6,
                                 .ops_per_us = 48e6,
                                 .has_branches = true};
constexpr DeviceCosts host_costs{.node = 0.05,
                                 .issue = 0,
                                 .branch = 0,
                                 .crossing = 0,
                                 .bytes_per_us = 1e4,
                                 .ops_per_us = 2e3,
                                 .has_branches = false};

/// Elementwise ones, or multiplications and additions.
double ops_of(const runtime::Command& command) {
  const auto& payload = command.payload;
  if (const auto* elementwise = std::get_if<runtime::ElementwiseCommand>(&payload)) {
    return static_cast<double>(elementwise->args.size);
  }
  if (const auto* fused = std::get_if<runtime::FusedCommand>(&payload)) {
    auto size = static_cast<double>(fused->expression->size);
    for (const auto& part : fused->further) size += static_cast<double>(part->size);
    return size * static_cast<double>(fused->expression->code.size());
  }
  if (const auto* product = std::get_if<runtime::MatmulCommand>(&payload)) {
    const runtime::MatmulShape& shape = product->plan->shape;
    double count = 2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    for (int axis = 0; axis < shape.batch_ndim; ++axis) count *= static_cast<double>(shape.batch_extents[axis]);
    return count;
  }
  if (const auto* draw = std::get_if<runtime::RandomCommand>(&payload)) {
    constexpr double ops_a_number = 30;  // a round of Philox, and what becomes of its four numbers
    return static_cast<double>(draw->args.size) * ops_a_number;
  }
  return 0;
}

std::int64_t blocks_for(std::int64_t positions, int widest) {
  constexpr int block = 256;
  constexpr int access_bytes = 16;
  const std::int64_t threads = (positions - 1) / (access_bytes / widest) + 1;
  return (threads - 1) / block + 1;
}

}  // namespace

const DeviceCosts& costs_of(DeviceKind kind) { return kind == DeviceKind::cuda ? cuda_costs : host_costs; }

StepCost cost_of(const runtime::Command& command, const DeviceCosts& costs) {
  double bytes = 0;
  for (const runtime::Access& access : command.accesses) bytes += static_cast<double>(access.end - access.begin);
  return {costs.node, std::max(bytes / costs.bytes_per_us, ops_of(command) / costs.ops_per_us)};
}

double estimate_us(const runtime::Command& command) {
  constexpr double product_us = 5;   // an MLP's 32 x 256 x 256 takes 7
  constexpr double unknown_us = 10;  // functions, and work of other code: longer than small kernels
  const StepCost cost = cost_of(command, cuda_costs);
  const double known = cost.latency + cost.work;
  if (std::holds_alternative<runtime::MatmulCommand>(command.payload)) return known + product_us;
  const bool is_known = command.is_declared && !std::holds_alternative<runtime::KernelCommand>(command.payload) &&
                        !std::holds_alternative<runtime::ForeignCommand>(command.payload);
  return is_known ? known : known + unknown_us;
}

double most_delay_us() { return cuda_costs.node; }

std::int64_t waiting_blocks(const runtime::Command& command, int multiprocessors) {
  const auto& payload = command.payload;
  if (const auto* elementwise = std::get_if<runtime::ElementwiseCommand>(&payload)) {
    return blocks_for(elementwise->args.size, kernels::element_size(elementwise->args.out_type));
  }
  if (const auto* fused = std::get_if<runtime::FusedCommand>(&payload)) {
    std::vector<kernels::RandomArgs> draws;
    for (const runtime::RandomCommand& draw : fused->draws) draws.push_back(draw.args);
    return jit::blocks_of(*fused->expression, fused->further, draws, multiprocessors);
  }
  if (const auto* move = std::get_if<runtime::MoveCommand>(&payload)) {
    return blocks_for(move->args.size, kernels::element_size(move->args.type));
  }
  if (const auto* draw = std::get_if<runtime::RandomCommand>(&payload)) return draw->args.grid;
  return 0;
}

// 100 `add`s in a line on an H200: 121 us, with programmatic edges 71, of 1 000 elements, one block; 369 and 541 of
// 2^20, 1024 blocks. Between those, the 50 stencils of `jacobi_256x50`, 256 blocks each: 91 us, with such edges 69.
// With two blocks a multiprocessor those that wait still have room beside those that run.
std::int64_t most_waiting_blocks(int multiprocessors) { return std::int64_t{2} * multiprocessors; }

}  // namespace refrain::graph
