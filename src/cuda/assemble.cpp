#include "cuda/lower.hpp"

#include "cuda/compat.hpp"
#include "cuda/executable.hpp"
#include "cuda/run.hpp"
#include "cuda/scopes.hpp"

#include <refrain/error.hpp>

#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace refrain::cuda {

namespace {

/// A graph that is destroyed unless it is taken.
class OwnedGraph {
 public:
  OwnedGraph() = default;
  explicit OwnedGraph(cudaGraph_t graph) : graph_(graph) {}
  OwnedGraph(OwnedGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  OwnedGraph& operator=(OwnedGraph&&) = delete;
  ~OwnedGraph() {
    if (graph_ != nullptr) ignore(cudaGraphDestroy(graph_));
  }
  cudaGraph_t get() const noexcept { return graph_; }
  cudaGraph_t take() noexcept { return std::exchange(graph_, nullptr); }

 private:
  cudaGraph_t graph_ = nullptr;
};

/// Private streams, one a device.
class Streams {
 public:
  ~Streams() {
    for (const auto& [device, stream] : streams_) ignore(cudaStreamDestroy(stream));
  }
  cudaStream_t on(int device) {
    cudaStream_t& stream = streams_[device];
    if (stream == nullptr) REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
  }

 private:
  std::map<int, cudaStream_t> streams_;
};

/// The command alone as a graph. Tried until no other thread invalidates it.
OwnedGraph capture_alone(const GraphCommand& command, cudaStream_t stream) {
  constexpr int tries = 100'000;
  for (int attempt = 1;; ++attempt) {
    REFRAIN_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      command.launch(stream);
      REFRAIN_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
      return OwnedGraph(graph);
    } catch (const Error& error) {
      ignore(cudaStreamEndCapture(stream, &graph));
      if (graph != nullptr) ignore(cudaGraphDestroy(graph));
      ignore(cudaGetLastError());
      const bool invalidated = error.code() == Errc::capture_invalidated || error.code() == Errc::capture_unsupported;
      if (!invalidated || attempt == tries) throw;
      std::this_thread::yield();
    }
  }
}

/// Adds a copy of the only node of `alone`.
cudaGraphNode_t add_copy(cudaGraph_t graph, const OwnedGraph& alone, const std::vector<cudaGraphNode_t>& before,
                         int priority) {
  std::size_t count = 1;
  cudaGraphNode_t node = nullptr;
  REFRAIN_CUDA_CHECK(cudaGraphGetNodes(alone.get(), &node, &count));
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  REFRAIN_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  cudaGraphNode_t copy = nullptr;
  switch (type) {
    case cudaGraphNodeTypeKernel: {
      cudaKernelNodeParams params{};
      REFRAIN_CUDA_CHECK(cudaGraphKernelNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphAddKernelNode(&copy, graph, before.data(), before.size(), &params));
      if (priority != 0) {
        cudaKernelNodeAttrValue value{};
        value.priority = priority;
        REFRAIN_CUDA_CHECK(cudaGraphKernelNodeSetAttribute(copy, cudaKernelNodeAttributePriority, &value));
      }
      break;
    }
    case cudaGraphNodeTypeMemcpy: {
      cudaMemcpy3DParms params{};
      REFRAIN_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphAddMemcpyNode(&copy, graph, before.data(), before.size(), &params));
      break;
    }
    case cudaGraphNodeTypeHost: {
      cudaHostNodeParams params{};
      REFRAIN_CUDA_CHECK(cudaGraphHostNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphAddHostNode(&copy, graph, before.data(), before.size(), &params));
      break;
    }
    case cudaGraphNodeTypeEventRecord: {
      cudaEvent_t event = nullptr;
      REFRAIN_CUDA_CHECK(cudaGraphEventRecordNodeGetEvent(node, &event));
      REFRAIN_CUDA_CHECK(cudaGraphAddEventRecordNode(&copy, graph, before.data(), before.size(), event));
      break;
    }
    case cudaGraphNodeTypeWaitEvent: {
      cudaEvent_t event = nullptr;
      REFRAIN_CUDA_CHECK(cudaGraphEventWaitNodeGetEvent(node, &event));
      REFRAIN_CUDA_CHECK(cudaGraphAddEventWaitNode(&copy, graph, before.data(), before.size(), event));
      break;
    }
    default:
      throw Error(
          Errc::not_supported, "instantiate", "a node of CUDA type " + std::to_string(static_cast<int>(type)),
          "cannot be assembled alone; let no other thread synchronise the device while graphs are instantiated");
  }
  return copy;
}

}  // namespace

std::shared_ptr<runtime::Executable> assemble(const runtime::Plan& plan) {
  const RelaxedScope relaxed;
  GraphResources resources;
  resources.keep_alive = plan.keep_alive;
  cudaGraph_t made = nullptr;
  REFRAIN_CUDA_CHECK(cudaGraphCreate(&made, 0));
  OwnedGraph graph(made);
  Streams streams;
  std::vector<cudaGraphNode_t> nodes;
  for (const runtime::PlannedCommand& planned : plan.commands) {
    const int device = planned.command->device.index;
    const DeviceScope current(device);
    const GraphCommand command(*planned.command, planned.addresses.data(), resources);
    std::vector<cudaGraphNode_t> before;
    for (const int dependency : planned.dependencies) before.push_back(nodes[static_cast<std::size_t>(dependency)]);
    const int priority = plan.lanes[static_cast<std::size_t>(planned.lane)].priority;
    nodes.push_back(add_copy(graph.get(), capture_alone(command, streams.on(device)), before, priority));
  }
  finish_counters(resources, plan.draw_increments);
  return std::make_shared<CudaExecutable>(graph.take(), plan.device.index, std::move(resources));
}

}  // namespace refrain::cuda
