#pragma once

#include "cuda/counters.hpp"
#include "runtime/backend.hpp"
#include "runtime/host_function.hpp"

#include <cuda_runtime_api.h>

#include <memory>
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
  OwnedGraph& operator=(OwnedGraph&&) = delete;
  ~OwnedGraph();
  cudaGraph_t get() const noexcept { return graph_; }

 private:
  cudaGraph_t graph_ = nullptr;
};

/// What a graph's nodes point at besides arrays.
struct GraphResources {
  std::vector<std::unique_ptr<Counters>> counters;  ///< by ordinal; null where nothing is drawn
  std::vector<std::unique_ptr<DeviceBytes>> literals;
  std::vector<std::shared_ptr<const runtime::HostFunction>> functions;  ///< held by the CUDA graph too, see `retain`
  std::shared_ptr<const void> keep_alive;
};

/// No more draws. `increments`: how far a replay moves each device's generator.
void finish_counters(GraphResources& resources, std::span<const std::uint64_t> increments);

/// Lets the CUDA graph, its executables and their runs in flight hold the function.
void retain(cudaGraph_t graph, std::shared_ptr<const runtime::HostFunction> function);

/// An instantiated, uploaded CUDA graph.
class CudaExecutable final : public runtime::Executable {
 public:
  CudaExecutable(OwnedGraph graph, int device, GraphResources resources);
  ~CudaExecutable() override;
  CudaExecutable(const CudaExecutable&) = delete;
  CudaExecutable& operator=(const CudaExecutable&) = delete;

  void launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) override;
  cudaGraphExec_t native() const noexcept override { return exec_; }
  cudaGraph_t native_graph() const noexcept override { return graph_.get(); }

 private:
  OwnedGraph graph_;
  cudaGraphExec_t exec_ = nullptr;
  GraphResources resources_;
};

}  // namespace refrain::cuda
