#include "cuda/executable.hpp"

#include "cuda/janitor.hpp"
#include "cuda/lower.hpp"
#include "cuda/run.hpp"
#include "cuda/stream.hpp"
#include "cuda/upload.hpp"
#include "runtime/host_function.hpp"

namespace refrain::cuda {

DeviceBytes::DeviceBytes(int device, std::span<const std::byte> bytes) {
  const DeviceScope current(device);
  const CallScope call;
  REFRAIN_CUDA_CHECK(cudaMalloc(&address_, bytes.size()));
  try {
    upload(device, address_, bytes.data(), bytes.size());
  } catch (...) {
    ignore(cudaFree(address_));
    throw;
  }
}

DeviceBytes::~DeviceBytes() {
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  ignore(cudaFree(address_));
}

void finish_counters(GraphResources& resources, std::span<const std::uint64_t> increments) {
  for (std::size_t i = 0; i < resources.counters.size(); ++i) {
    if (resources.counters[i] != nullptr) resources.counters[i]->finish(increments[i]);
  }
}

void retain(cudaGraph_t graph, std::shared_ptr<const void> held, void (*let_go)(std::shared_ptr<const void>)) {
  struct Holder {
    std::shared_ptr<const void> held;
    void (*let_go)(std::shared_ptr<const void>);
  };
  auto holder = std::make_unique<Holder>(Holder{std::move(held), let_go});
  const cudaHostFn_t destroy = [](void* last_holder) {
    const std::unique_ptr<Holder> last(static_cast<Holder*>(last_holder));
    last->let_go(std::move(last->held));
  };
  cudaUserObject_t object = nullptr;
  REFRAIN_CUDA_CHECK(cudaUserObjectCreate(&object, holder.get(), destroy, 1, cudaUserObjectNoDestructorSync));
  (void)holder.release();
  REFRAIN_CUDA_CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
}

void retain(cudaGraph_t graph, const GraphResources& resources) {
  for (const auto& function : resources.functions) retain(graph, function, runtime::retire);  // the user's destructors
  for (const auto& work : resources.foreign) retain(graph, work, let_go_soon);
}

OwnedGraph::OwnedGraph() { REFRAIN_CUDA_CHECK(cudaGraphCreate(&graph_, 0)); }

OwnedGraph::~OwnedGraph() {
  const UnlockedCall call;
  if (graph_ != nullptr && !ends_elsewhere()) ignore(cudaGraphDestroy(graph_));
}

BuiltGraph::BuiltGraph() = default;
BuiltGraph::BuiltGraph(OwnedGraph of, GraphResources with) : graph(std::move(of)), resources(std::move(with)) {}
BuiltGraph::BuiltGraph(BuiltGraph&&) noexcept = default;
BuiltGraph::~BuiltGraph() = default;

CudaExecutable::CudaExecutable(BuiltGraph built, int device)
    : built_(std::move(built)), is_paused_(built_.commands.size(), false) {
  const DeviceScope current(device);
  const CallScope call;
  const cudaGraph_t graph = built_.graph.get();
  try {
    retain(graph, built_.resources);
    REFRAIN_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph, cudaGraphInstantiateFlagUseNodePriority));
    cudaStream_t stream = nullptr;
    REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const cudaError_t status = cudaGraphUpload(exec_, stream);
    ignore(cudaStreamDestroy(stream));
    check(status, "cudaGraphUpload");
  } catch (...) {
    if (exec_ != nullptr) ignore(cudaGraphExecDestroy(exec_));
    throw;
  }
}

CudaExecutable::~CudaExecutable() {
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  ignore(cudaGraphExecDestroy(exec_));
}

void CudaExecutable::launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) {
  const DeviceScope current(stream.device.index);  // each device has a legacy stream, all of one handle
  const NativeUse native(stream);
  const auto& all = built_.resources.counters;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != nullptr) all[i]->prepare(draws[i], stream);
  }
  REFRAIN_CUDA_CHECK(cudaGraphLaunch(exec_, native));
  for (const auto& counters : all) {
    if (counters != nullptr) counters->launched();
  }
  ++stream.position;
}

void CudaExecutable::change(std::size_t command, const runtime::PlannedCommand& planned) {
  const auto nodes = built_.nodes.of(command);
  if (nodes.empty()) return;
  built_.commands[command].change(*planned.command, planned.addresses.data(), exec_, nodes);
  if (is_paused_[command]) built_.commands[command].pause(exec_, nodes);
}

void CudaExecutable::move(std::size_t command, const runtime::PlannedCommand& planned) {
  if (is_paused_[command]) return change(command, planned);
  const auto nodes = built_.nodes.of(command);
  if (!nodes.empty()) built_.commands[command].put(planned.addresses.data(), exec_, nodes);
}

void CudaExecutable::enable(std::size_t command, bool is_enabled) {
  if (built_.is_programmatic[command]) {
    // A node that is left out waits for nothing: the kernel after it would begin before the one before it has ended.
    is_paused_[command] = !is_enabled;
    if (is_enabled) {
      built_.commands[command].restore(exec_, built_.nodes.of(command));
    } else {
      built_.commands[command].pause(exec_, built_.nodes.of(command));
    }
    forget_draws(command);
    return;
  }
  for (const cudaGraphNode_t node : built_.nodes.of(command)) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    REFRAIN_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeEmpty) continue;  // does nothing anyway, and CUDA takes no such
    REFRAIN_CUDA_CHECK(cudaGraphNodeSetEnabled(exec_, node, is_enabled ? 1 : 0));
  }
  forget_draws(command);
}

void CudaExecutable::forget_draws(std::size_t command) {
  if (!built_.commands[command].is_draw()) return;
  // A draw that does not run leaves its own copy of the generator behind.
  for (const auto& counters : built_.resources.counters) {
    if (counters != nullptr) counters->forget();
  }
}

struct CudaExecutable::Prepared final : runtime::PreparedUpdate {
  Prepared(BuiltGraph of, std::vector<const char*> with) : built(std::move(of)), labels(std::move(with)) {}
  BuiltGraph built;
  std::vector<const char*> labels;  ///< by command
};

std::shared_ptr<runtime::PreparedUpdate> CudaExecutable::prepare_update(const runtime::Plan& plan) const {
  std::vector<const char*> labels;
  for (const runtime::PlannedCommand& planned : plan.commands) labels.push_back(planned.command->label);
  auto prepared = std::make_shared<Prepared>(build_graph(plan), std::move(labels));
  const CallScope call;
  retain(prepared->built.graph.get(), prepared->built.resources);
  return prepared;
}

std::string CudaExecutable::update(const std::shared_ptr<runtime::PreparedUpdate>& prepared) {
  auto& [fresh, labels] = static_cast<Prepared&>(*prepared);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (built_.nodes.of(i).size() == fresh.nodes.of(i).size()) continue;
    return "command " + std::to_string(i) + ", '" + labels[i] + "', has another number of nodes for CUDA";
  }
  const CallScope call;
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t status = cudaGraphExecUpdate(exec_, fresh.graph.get(), &info);
  if (status == cudaErrorGraphExecUpdateFailure) {
    ignore(cudaGetLastError());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (const cudaGraphNode_t node : fresh.nodes.of(i)) {
        if (node != info.errorNode) continue;
        return "command " + std::to_string(i) + ", '" + labels[i] + "', is another node for CUDA";
      }
    }
    return "CUDA cannot update the one into the other";
  }
  check(status, "cudaGraphExecUpdate");
  std::swap(built_.commands, fresh.commands);
  is_paused_.assign(built_.commands.size(), false);
  std::swap(built_.resources, fresh.resources);
  if (!updated_by_) updated_by_.emplace(nullptr);
  std::swap(*updated_by_, fresh.graph);
  return {};
}

}  // namespace refrain::cuda
