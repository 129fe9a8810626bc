#pragma once

#include "cuda/executable.hpp"
#include "runtime/command.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

namespace refrain::cuda {

/// A CUDA graph that foreign code made: captured from a call, or a copy of the user's.
class ForeignGraph final : public runtime::ForeignWork {
 public:
  explicit ForeignGraph(OwnedGraph graph);

  /// Adds its work: flat where every node can be added again, else as a child. Returns the nodes that later ones wait
  /// for, those of `before` when it has none; all added nodes are appended to `added`.
  /// @throws Error(Errc::not_supported) naming the command, when it has memory nodes and was added before
  std::vector<cudaGraphNode_t> add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before,
                                      const runtime::Command& command, std::vector<cudaGraphNode_t>& added);
  /// Gives an executable's nodes, added from a graph such as this one, the parameters that this one has.
  /// @throws Error(Errc::not_supported) naming the command, when it has other nodes
  void set_in(cudaGraphExec_t exec, std::span<const cudaGraphNode_t> added, const runtime::Command& command) const;
  /// Runs it on a stream that does not capture, made ready for this one run.
  void launch(cudaStream_t stream, const runtime::Command& command);

  bool is_whole() const noexcept override { return !is_flat_; }
  bool has_memory() const noexcept override { return allocations_ + frees_ > 0; }
  /// Whether it allocates memory that it does not free.
  bool keeps_memory() const noexcept { return allocations_ > frees_; }

 private:
  void take(const runtime::Command& command);
  void sort();

  OwnedGraph graph_;
  std::vector<cudaGraphNode_t> nodes_;
  std::vector<std::pair<std::size_t, std::size_t>> edges_;  ///< from, to
  std::vector<std::size_t> order_;                          ///< in which nodes are added
  bool is_flat_ = true;
  int allocations_ = 0;
  int frees_ = 0;
  bool is_taken_ = false;  ///< memory nodes move with their graph, once
};

// The backend's calls of foreign code.
void call_on_stream(runtime::StreamCore& stream, const runtime::Command& command, const runtime::ForeignCall& call);
void call_in_live_capture(cudaStream_t native, const runtime::Command& command, const runtime::ForeignCall& call);
std::shared_ptr<runtime::ForeignWork> capture_call(runtime::StreamCore& stream, const runtime::Command& command,
                                                   const runtime::ForeignCall& call);
std::shared_ptr<runtime::ForeignWork> copy_graph(cudaGraph_t graph, const runtime::Command& command);

}  // namespace refrain::cuda
