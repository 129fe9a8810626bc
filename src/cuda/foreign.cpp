#include "cuda/foreign.hpp"

#include "cuda/capture_alone.hpp"
#include "cuda/compat.hpp"
#include "cuda/driver.hpp"
#include "cuda/scopes.hpp"
#include "cuda/stream.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

namespace refrain::cuda {

namespace {

cudaGraphNodeType type_of(cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  REFRAIN_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  return type;
}

bool can_be_added_again(cudaGraphNodeType type) {
  return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset ||
         type == cudaGraphNodeTypeEmpty;
}

cudaGraphNode_t add_again(cudaGraphNode_t node, cudaGraph_t graph, std::span<const cudaGraphNode_t> before) {
  cudaGraphNode_t added = nullptr;
  switch (type_of(node)) {
    case cudaGraphNodeTypeKernel: {
      const DriverGraphs& driver = DriverGraphs::get();
      CUDA_KERNEL_NODE_PARAMS params{};
      check(driver.get_kernel_params(node, &params), "cuGraphKernelNodeGetParams");
      check(driver.add_kernel(&added, graph, before.data(), before.size(), &params), "cuGraphAddKernelNode");
      REFRAIN_CUDA_CHECK(cudaGraphKernelNodeCopyAttributes(added, node));
      break;
    }
    case cudaGraphNodeTypeMemcpy: {
      cudaMemcpy3DParms params{};
      REFRAIN_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphAddMemcpyNode(&added, graph, before.data(), before.size(), &params));
      break;
    }
    case cudaGraphNodeTypeMemset: {
      cudaMemsetParams params{};
      REFRAIN_CUDA_CHECK(cudaGraphMemsetNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphAddMemsetNode(&added, graph, before.data(), before.size(), &params));
      break;
    }
    default: REFRAIN_CUDA_CHECK(cudaGraphAddEmptyNode(&added, graph, before.data(), before.size())); break;
  }
  return added;
}

void set_again(cudaGraphNode_t node, cudaGraphExec_t exec, cudaGraphNode_t in) {
  switch (type_of(node)) {
    case cudaGraphNodeTypeKernel: {
      const DriverGraphs& driver = DriverGraphs::get();
      CUDA_KERNEL_NODE_PARAMS params{};
      check(driver.get_kernel_params(node, &params), "cuGraphKernelNodeGetParams");
      check(driver.set_kernel_params(exec, in, &params), "cuGraphExecKernelNodeSetParams");
      break;
    }
    case cudaGraphNodeTypeMemcpy: {
      cudaMemcpy3DParms params{};
      REFRAIN_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphExecMemcpyNodeSetParams(exec, in, &params));
      break;
    }
    case cudaGraphNodeTypeMemset: {
      cudaMemsetParams params{};
      REFRAIN_CUDA_CHECK(cudaGraphMemsetNodeGetParams(node, &params));
      REFRAIN_CUDA_CHECK(cudaGraphExecMemsetNodeSetParams(exec, in, &params));
      break;
    }
    default: break;
  }
}

/// One call on a capturing stream of its own.
class CallCapture {
 public:
  CallCapture(int device, int priority)
      : device_(device), priority_(priority), stream_(CaptureStreams::get().take(device, priority)) {
    REFRAIN_CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    is_open_ = true;
  }
  ~CallCapture() {
    if (!is_open_ && is_clean_) {
      CaptureStreams::get().give(stream_, device_, priority_);
      return;
    }
    const RelaxedScope relaxed;
    if (!relaxed.may_call()) return;
    if (is_open_) {
      cudaGraph_t graph = nullptr;
      ignore(cudaStreamEndCapture(stream_, &graph));
      if (graph != nullptr) ignore(cudaGraphDestroy(graph));
    }
    ignore(cudaStreamDestroy(stream_));
    ignore(cudaGetLastError());
  }
  CallCapture(const CallCapture&) = delete;
  CallCapture& operator=(const CallCapture&) = delete;

  cudaStream_t stream() const noexcept { return stream_; }

  /// @throws Error naming the command for what the call did to the capture
  OwnedGraph end(const runtime::Command& command) {
    cudaGraph_t graph = nullptr;
    is_open_ = false;
    const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    OwnedGraph owned(graph);
    if (status == cudaSuccess) {
      is_clean_ = true;
      return owned;
    }
    ignore(cudaGetLastError());
    const auto refuse = [&](Errc code, const char* reason) {
      throw Error(code, command.label, "the enqueued function", reason, command.where);
    };
    if (status == cudaErrorStreamCaptureUnjoined) {
      refuse(
          Errc::capture_unjoined,
          "leaves work of other streams unjoined; let the stream that it is given wait for an event after that work");
    }
    if (status == cudaErrorIllegalState) {
      refuse(Errc::illegal_state, "ended the capture that it is called in; leave that to Refrain");
    }
    refuse(Errc::capture_unsupported,
           "did what no capture allows: it synchronised or asked a stream, allocated or freed otherwise than in stream "
           "order, used the legacy stream, or a call of it failed; make handles, plans and workspaces before the "
           "capture, and put all work "
           "on the stream that it is given");
    return owned;
  }

 private:
  int device_;
  int priority_;
  cudaStream_t stream_;
  bool is_open_ = false;
  bool is_clean_ = false;
};

/// Calls that failed without anybody's asking are found by the error that they leave.
class ErrorsLeft {
 public:
  explicit ErrorsLeft(const runtime::Command& command) : command_(command), before_(cudaPeekAtLastError()) {}

  /// Errors of captures are told by the end of the capture.
  /// @throws Error naming the command
  void require_none() const {
    const cudaError_t after = cudaPeekAtLastError();
    const bool is_of_capture = after >= cudaErrorStreamCaptureUnsupported && after <= cudaErrorStreamCaptureWrongThread;
    if (after == cudaSuccess || before_ != cudaSuccess || after == cudaErrorNotReady || is_of_capture) return;
    try {
      check(after, "the enqueued function");
    } catch (const Error& error) {
      throw Error(error.code(), command_.label, "the enqueued function",
                  std::string("leaves a CUDA error behind, ") + cudaGetErrorName(after) + ": " +
                      cudaGetErrorString(after) + "; look at what its calls return",
                  command_.where);
    }
  }

 private:
  const runtime::Command& command_;
  cudaError_t before_;
};

}  // namespace

ForeignGraph::ForeignGraph(OwnedGraph graph) : graph_(std::move(graph)), nodes_(nodes_of(graph_.get())) {
  for (const cudaGraphNode_t node : nodes_) {
    const cudaGraphNodeType type = type_of(node);
    is_flat_ = is_flat_ && can_be_added_again(type);
    allocations_ += type == cudaGraphNodeTypeMemAlloc ? 1 : 0;
    frees_ += type == cudaGraphNodeTypeMemFree ? 1 : 0;
  }
  const GraphEdges edges(graph_.get());
  is_flat_ = is_flat_ && !edges.are_special();
  if (!is_flat_) return;
  const auto place = [&](cudaGraphNode_t node) {
    return static_cast<std::size_t>(std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  };
  for (std::size_t i = 0; i < edges.size(); ++i) edges_.emplace_back(place(edges.from(i)), place(edges.to(i)));
  sort();
}

void ForeignGraph::sort() {
  std::vector<int> missing(nodes_.size(), 0);
  for (const auto& edge : edges_) ++missing[edge.second];
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;  // in the order of the capture
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order_.push_back(next);
    for (const auto& [from, to] : edges_) {
      if (from == next && --missing[to] == 0) ready.push(to);
    }
  }
}

void ForeignGraph::take(const runtime::Command& command) {
  if (!has_memory()) return;
  if (std::exchange(is_taken_, true)) {
    throw Error(Errc::not_supported, command.label, "the enqueued function",
                "allocates memory in stream order, and CUDA can put such work into one executable only; allocate a "
                "workspace array outside and give it with write",
                command.where);
  }
}

std::vector<cudaGraphNode_t> ForeignGraph::add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before,
                                                  const runtime::Command& command,
                                                  std::vector<cudaGraphNode_t>& added) {
  if (nodes_.empty()) return {before.begin(), before.end()};
  if (!is_flat_) {
    take(command);
    const cudaGraphNode_t child = add_child_graph(graph, before, graph_.get(), has_memory());
    if (has_memory()) graph_.release();
    added.push_back(child);
    return {child};
  }
  std::vector<cudaGraphNode_t> made(nodes_.size(), nullptr);
  std::vector<cudaGraphNode_t> ends;
  for (const std::size_t next : order_) {
    std::vector<cudaGraphNode_t> comes_after;
    bool is_end = true;
    for (const auto& [from, to] : edges_) {
      if (to == next) comes_after.push_back(made[from]);
      is_end = is_end && from != next;
    }
    made[next] = add_again(nodes_[next], graph, comes_after.empty() ? before : comes_after);
    added.push_back(made[next]);
    if (is_end) ends.push_back(made[next]);
  }
  return ends;
}

void ForeignGraph::set_in(cudaGraphExec_t exec, std::span<const cudaGraphNode_t> added,
                          const runtime::Command& command) const {
  bool is_same = is_flat_ && added.size() == order_.size();
  for (std::size_t i = 0; is_same && i < added.size(); ++i) is_same = type_of(nodes_[order_[i]]) == type_of(added[i]);
  if (!is_same) {
    throw Error(Errc::not_supported, command.label, "a library's call",
                "has other nodes with these arrays; instantiate the graph anew, or bind arrays that lie as those "
                "recorded did",
                command.where);
  }
  for (std::size_t i = 0; i < added.size(); ++i) set_again(nodes_[order_[i]], exec, added[i]);
}

void ForeignGraph::launch(cudaStream_t stream, const runtime::Command& command) {
  if (nodes_.empty()) return;
  take(command);
  cudaGraphExec_t exec = nullptr;
  const CallScope call;
  REFRAIN_CUDA_CHECK(cudaGraphInstantiate(&exec, graph_.get(), cudaGraphInstantiateFlagUseNodePriority));
  const cudaError_t status = cudaGraphLaunch(exec, stream);
  ignore(cudaGraphExecDestroy(exec));  // once the run is over
  check(status, "cudaGraphLaunch");
}

namespace {

/// Ends a capture that was begun on the stream and left open, invalidated ones too; whether there was one.
bool end_capture_left_on(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  REFRAIN_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  if (status == cudaStreamCaptureStatusNone) return false;
  cudaGraph_t graph = nullptr;
  ignore(cudaStreamEndCapture(stream, &graph));
  if (graph != nullptr) ignore(cudaGraphDestroy(graph));
  ignore(cudaGetLastError());
  return true;
}

}  // namespace

void call_on_stream(runtime::StreamCore& stream, const runtime::Command& command, const runtime::ForeignCall& call) {
  const UnlockedCall unlocked;
  const NativeUse native(stream_of(stream), true);
  const DeviceScope current(stream.device.index);
  const ErrorsLeft errors(command);
  try {
    call(native);
  } catch (...) {
    end_capture_left_on(native);
    throw;
  }
  if (end_capture_left_on(native)) {
    throw Error(Errc::illegal_state, command.label, "the enqueued function",
                "leaves its stream capturing; end the capture that it began", command.where);
  }
  errors.require_none();
}

void call_in_live_capture(cudaStream_t native, const runtime::Command& command, const runtime::ForeignCall& call) {
  const UnlockedCall unlocked;
  refuse_at_end();
  const DeviceScope current(command.device.index);
  const ErrorsLeft errors(command);
  call(native);
  errors.require_none();
}

std::shared_ptr<runtime::ForeignWork> capture_call(runtime::StreamCore& stream, const runtime::Command& command,
                                                   const runtime::ForeignCall& call) {
  const UnlockedCall unlocked;
  refuse_at_end();
  const DeviceScope current(stream.device.index);
  CallCapture capture(stream.device.index, stream.priority);
  const ErrorsLeft errors(command);
  call(capture.stream());
  errors.require_none();
  OwnedGraph graph = capture.end(command);
  auto work = std::make_shared<ForeignGraph>(std::move(graph));
  if (work->keeps_memory()) {
    throw Error(Errc::capture_unsupported, command.label, "the enqueued function",
                "allocates memory in stream order that it does not free, so that a second replay would fail; free it "
                "in the function, or allocate an array outside and give it with write",
                command.where);
  }
  return work;
}

std::shared_ptr<runtime::ForeignWork> copy_graph(cudaGraph_t graph, const runtime::Command& command) {
  const CallScope call;
  cudaGraph_t copy = nullptr;
  const cudaError_t status = cudaGraphClone(&copy, graph);
  if (status == cudaErrorNotSupported) {
    ignore(cudaGetLastError());
    throw Error(Errc::not_supported, command.label, "the graph",
                "has memory nodes, and CUDA cannot copy it; enqueue a function that puts the work on its stream",
                command.where);
  }
  check(status, "cudaGraphClone");
  return std::make_shared<ForeignGraph>(OwnedGraph(copy));
}

}  // namespace refrain::cuda
