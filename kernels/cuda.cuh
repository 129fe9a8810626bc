#pragma once

#include <cuda_runtime_api.h>

#include "kernels/args.hpp"

// Launchers. All are stream-ordered and capturable: no allocation, no synchronisation, no attribute query. Each returns
// the status of its one launch; nothing else is read or cleared.

namespace refrain::kernels {

/// Gives a kernel node of an executable another kernel or other parameters.
class NodeSetter {
 public:
  virtual cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams& params) = 0;

 protected:
  ~NodeSetter() = default;
};

/// Where a kernel goes: onto a stream; with `graph`, into a graph as a node; with `exec`, in the place of what that
/// executable's node has.
struct Target {
  Target(cudaStream_t stream) : stream(stream) {}
  Target(cudaGraph_t graph, const cudaGraphNode_t* before, size_t before_count, cudaGraphNode_t* node)
      : graph(graph), before(before), before_count(before_count), node(node) {}
  Target(cudaGraphExec_t exec, cudaGraphNode_t in, NodeSetter& setter) : exec(exec), in(in), setter(&setter) {}

  cudaStream_t stream = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t in = nullptr;
  NodeSetter* setter = nullptr;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* before = nullptr;  ///< what the node comes after
  size_t before_count = 0;
  cudaGraphNode_t* node = nullptr;  ///< receives the node
};

/// @see ElementwiseArgs. An input may be the output itself, in the same order; no other overlap.
/// cudaErrorInvalidDeviceFunction if the op has no kernel for its types.
cudaError_t launch_elementwise(const ElementwiseArgs& args, int multiprocessors, const Target& target);

/// @see ReduceArgs
cudaError_t launch_reduce(const ReduceArgs& args, const Target& target);

/// @see MoveArgs
cudaError_t launch_move(const MoveArgs& args, const Target& target);

/// @see RandomArgs
cudaError_t launch_random(const RandomArgs& args, const Target& target);

/// One block that does nothing.
cudaError_t launch_empty(const Target& target);

/// One block that does nothing but wait for its dependency (kernels/dependency.hpp), as a kernel does that stands in
/// its place.
cudaError_t launch_pause(const Target& target);

/// Whether the kernels of elementwise ops, moves and draws wait for programmatic dependencies on a device of that
/// compute capability, 10 x major + minor.
bool wait_for_dependencies(int capability);

/// The device's copy of the generator: counters[0] = seed, counters[1] = increment, counters[counter_header + i] =
/// base + relative[i] for i < n.
cudaError_t launch_set_counters(u64* counters, const u64* relative, i64 n, u64 seed, u64 base, u64 increment,
                                cudaStream_t stream);

}  // namespace refrain::kernels
