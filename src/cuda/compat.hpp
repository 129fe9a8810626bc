#pragma once

// CUDA calls whose signatures differ between 12.5 and 13.

#include "cuda/check.hpp"
#include "cuda/driver.hpp"
#include "runtime/backend.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <span>
#include <vector>

namespace refrain::cuda {

/// What a capturing stream says of its capture. `dependencies` are valid until the stream's next call.
struct CapturingGraph {
  explicit CapturingGraph(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* nodes = nullptr;
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    REFRAIN_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, nullptr, &count));
#else
    REFRAIN_CUDA_CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count));
#endif
    // An invalidated capture has no nodes to depend on, and says so here only by its status.
    if (status != cudaStreamCaptureStatusActive) check(cudaErrorStreamCaptureInvalidated, "cudaStreamGetCaptureInfo");
    dependencies = {nodes, count};
  }

  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  std::span<const cudaGraphNode_t> dependencies;  ///< what the stream's next work comes after
};
inline std::span<const cudaGraphNode_t> capture_dependencies(cudaStream_t stream) {
  return CapturingGraph(stream).dependencies;
}

/// The capture that a stream is in.
inline runtime::ForeignCapture capture_on(cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t result = cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
#else
  const cudaError_t result = cudaStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
#endif
  if (result != cudaSuccess) {
    ignore(cudaGetLastError());
    return {};
  }
  if (status == cudaStreamCaptureStatusInvalidated) return {0, true};
  return {status == cudaStreamCaptureStatusActive ? id : 0, false};
}

/// Adds to those nodes, or replaces them.
inline void update_capture_dependencies(cudaStream_t stream, std::span<cudaGraphNode_t> nodes, unsigned flags) {
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nullptr, nodes.size(), flags));
#else
  REFRAIN_CUDA_CHECK(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nodes.size(), flags));
#endif
}

inline std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  REFRAIN_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) REFRAIN_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

/// The edges of a graph.
class GraphEdges {
 public:
  explicit GraphEdges(cudaGraph_t graph) {
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    REFRAIN_CUDA_CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
#else
    REFRAIN_CUDA_CHECK(cudaGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count));
#endif
    from_.resize(count);
    to_.resize(count);
    data_.resize(count);
    if (count == 0) return;
#if CUDART_VERSION >= 13000
    REFRAIN_CUDA_CHECK(cudaGraphGetEdges(graph, from_.data(), to_.data(), data_.data(), &count));
#else
    REFRAIN_CUDA_CHECK(cudaGraphGetEdges_v2(graph, from_.data(), to_.data(), data_.data(), &count));
#endif
  }

  std::size_t size() const noexcept { return from_.size(); }
  cudaGraphNode_t from(std::size_t i) const noexcept { return from_[i]; }
  cudaGraphNode_t to(std::size_t i) const noexcept { return to_[i]; }
  /// Whether one is more than an order of whole nodes, as programmatic launches make them.
  bool are_special() const noexcept {
    return std::any_of(data_.begin(), data_.end(), [](const cudaGraphEdgeData& data) {
      return data.from_port != 0 || data.to_port != 0 || data.type != 0;
    });
  }

 private:
  std::vector<cudaGraphNode_t> from_;
  std::vector<cudaGraphNode_t> to_;
  std::vector<cudaGraphEdgeData> data_;
};

/// An edge between two kernels that wait on the device for what comes before them (kernels/dependency.hpp): the second
/// one is launched when all blocks of the first have let it, or have ended.
inline void add_programmatic_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
  cudaGraphEdgeData data{};
  data.from_port = cudaGraphKernelNodePortProgrammatic;
  data.type = cudaGraphDependencyTypeProgrammatic;
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaGraphAddDependencies(graph, &from, &to, &data, 1));
#else
  REFRAIN_CUDA_CHECK(cudaGraphAddDependencies_v2(graph, &from, &to, &data, 1));
#endif
}

/// Adds a graph as a child: a copy, or the graph itself, which is then the parent's.
/// @throws Error(Errc::not_supported) before CUDA 12.9, where a graph cannot move
inline cudaGraphNode_t add_child_graph(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, cudaGraph_t child,
                                       [[maybe_unused]] bool move) {
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 12090
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeGraph;
  params.graph.graph = child;
  params.graph.ownership = move ? cudaGraphChildGraphOwnershipMove : cudaGraphChildGraphOwnershipClone;
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaGraphAddNode(&node, graph, before.data(), nullptr, before.size(), &params));
#else
  REFRAIN_CUDA_CHECK(cudaGraphAddNode(&node, graph, before.data(), before.size(), &params));
#endif
#else
  REFRAIN_CUDA_CHECK(cudaGraphAddChildGraphNode(&node, graph, before.data(), before.size(), child));
#endif
  return node;
}

}  // namespace refrain::cuda
