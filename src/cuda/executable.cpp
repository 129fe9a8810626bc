#include "cuda/executable.hpp"

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
  for (const auto& counters : resources.counters) {
    if (counters != nullptr) counters->finish(increments[static_cast<std::size_t>(counters->device())]);
  }
}

void retain(cudaGraph_t graph, std::shared_ptr<const void> held) {
  using Holder = std::shared_ptr<const void>;
  auto holder = std::make_unique<Holder>(std::move(held));
  const cudaHostFn_t destroy = [](void* last_holder) {
    const std::unique_ptr<Holder> last(static_cast<Holder*>(last_holder));
    runtime::retire(std::move(*last));  // the user's destructors may not run in CUDA's thread
  };
  cudaUserObject_t object = nullptr;
  REFRAIN_CUDA_CHECK(cudaUserObjectCreate(&object, holder.get(), destroy, 1, cudaUserObjectNoDestructorSync));
  (void)holder.release();
  REFRAIN_CUDA_CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
}

OwnedGraph::OwnedGraph() { REFRAIN_CUDA_CHECK(cudaGraphCreate(&graph_, 0)); }

OwnedGraph::~OwnedGraph() {
  const UnlockedCall call;
  if (graph_ != nullptr && !ends_elsewhere()) ignore(cudaGraphDestroy(graph_));
}

CudaExecutable::CudaExecutable(OwnedGraph graph, int device, GraphResources resources, CommandNodes nodes)
    : graph_(std::move(graph)), resources_(std::move(resources)), nodes_(std::move(nodes)) {
  const DeviceScope current(device);
  const CallScope call;
  try {
    for (const auto& held : resources_.held) retain(graph_.get(), held);
    REFRAIN_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph_.get(), cudaGraphInstantiateFlagUseNodePriority));
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
  const NativeUse native(stream);
  for (const auto& counters : resources_.counters) {
    if (counters != nullptr) counters->prepare(draws[static_cast<std::size_t>(counters->device())], stream);
  }
  REFRAIN_CUDA_CHECK(cudaGraphLaunch(exec_, native));
  for (const auto& counters : resources_.counters) {
    if (counters != nullptr) counters->launched();
  }
  ++stream.position;
}

}  // namespace refrain::cuda
