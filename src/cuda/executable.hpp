#pragma once

#include "cuda/counters.hpp"
#include "runtime/backend.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace refrain::cuda {

/// Device memory that a graph reads its literals from.
class DeviceBytes {
 public:
  DeviceBytes(int device, std::span<const std::byte> bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  const void* address() const noexcept { return address_; }

 private:
  void* address_ = nullptr;
};

/// A CUDA graph.
class OwnedGraph {
 public:
  OwnedGraph();
  explicit OwnedGraph(cudaGraph_t graph) noexcept : graph_(graph) {}
  OwnedGraph(OwnedGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  OwnedGraph& operator=(OwnedGraph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~OwnedGraph();
  cudaGraph_t get() const noexcept { return graph_; }
  /// Another graph owns it now.
  void release() noexcept { graph_ = nullptr; }

 private:
  cudaGraph_t graph_ = nullptr;
};

/// What a graph's nodes point at besides arrays.
struct GraphResources {
  /// By the program's generators; null where nothing is drawn. Executables whose runs are in order may share them.
  std::vector<std::shared_ptr<Counters>> counters;
  std::vector<std::unique_ptr<DeviceBytes>> literals;
  // Held by the CUDA graph too, see `retain`.
  std::vector<std::shared_ptr<const void>> functions;
  std::vector<std::shared_ptr<const void>> foreign;
  std::shared_ptr<const void> keep_alive;
};

/// The nodes of a graph by command.
class CommandNodes {
 public:
  std::vector<cudaGraphNode_t> all;  ///< in the order of the commands

  /// The command whose nodes were appended is complete; `ends`: those that later ones wait for.
  void close(std::span<const cudaGraphNode_t> ends) {
    nodes_end_.push_back(all.size());
    ends_.insert(ends_.end(), ends.begin(), ends.end());
    ends_end_.push_back(ends_.size());
  }
  std::span<const cudaGraphNode_t> of(std::size_t command) const { return part(all, nodes_end_, command); }
  std::span<const cudaGraphNode_t> ends_of(std::size_t command) const { return part(ends_, ends_end_, command); }

 private:
  static std::span<const cudaGraphNode_t> part(const std::vector<cudaGraphNode_t>& nodes,
                                               const std::vector<std::size_t>& end, std::size_t command) {
    const std::size_t begin = command == 0 ? 0 : end[command - 1];
    return std::span(nodes).subspan(begin, end[command] - begin);
  }

  std::vector<cudaGraphNode_t> ends_;
  std::vector<std::size_t> nodes_end_;
  std::vector<std::size_t> ends_end_;
};

/// No more draws. `increments`: how far a replay moves each generator.
void finish_counters(GraphResources& resources, std::span<const std::uint64_t> increments);

/// Lets the CUDA graph, its executables and their runs in flight hold something. `let_go`: what is done with the last
/// reference, in a thread of CUDA's that may not call it.
void retain(cudaGraph_t graph, std::shared_ptr<const void> held, void (*let_go)(std::shared_ptr<const void>));
/// All of the resources that must outlive the runs.
void retain(cudaGraph_t graph, const GraphResources& resources);

class GraphCommand;

/// A CUDA graph with what its nodes need.
struct BuiltGraph {
  BuiltGraph();
  BuiltGraph(OwnedGraph graph, GraphResources resources);
  BuiltGraph(BuiltGraph&&) noexcept;
  BuiltGraph& operator=(BuiltGraph&&) = delete;
  ~BuiltGraph();

  OwnedGraph graph;
  GraphResources resources;
  CommandNodes nodes;                  ///< empty for a live capture's, whose nodes are not known by command
  std::vector<GraphCommand> commands;  ///< likewise
  std::vector<bool> is_programmatic;   ///< by command: at either end of a programmatic edge
};

/// An instantiated, uploaded CUDA graph.
class CudaExecutable final : public runtime::Executable {
 public:
  CudaExecutable(BuiltGraph built, int device);
  ~CudaExecutable() override;
  CudaExecutable(const CudaExecutable&) = delete;
  CudaExecutable& operator=(const CudaExecutable&) = delete;

  void launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) override;
  void change(std::size_t command, const runtime::PlannedCommand& planned) override;
  void move(std::size_t command, const runtime::PlannedCommand& planned) override;
  void enable(std::size_t command, bool is_enabled) override;
  std::string update(const std::shared_ptr<runtime::PreparedUpdate>& prepared) override;
  std::shared_ptr<runtime::PreparedUpdate> prepare_update(const runtime::Plan& plan) const override;
  const BuiltGraph& built() const noexcept { return built_; }
  cudaGraphExec_t native() const noexcept override { return exec_; }
  cudaGraph_t native_graph() const noexcept override { return updated_by_ ? updated_by_->get() : built_.graph.get(); }

 private:
  struct Prepared;

  /// What a draw that does not run leaves behind.
  void forget_draws(std::size_t command);

  cudaGraphExec_t exec_ = nullptr;
  BuiltGraph built_;
  std::vector<bool> is_paused_;  ///< by command
  /// The graph that the executable was updated by; its nodes go on being named as in the first one.
  std::optional<OwnedGraph> updated_by_;
};

}  // namespace refrain::cuda
