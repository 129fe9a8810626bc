#include "cuda/executable.hpp"

#include "cuda/stream.hpp"
#include "cuda/upload.hpp"

namespace refrain::cuda {

DeviceBytes::DeviceBytes(int device, std::span<const std::byte> bytes) {
  const DeviceScope current(device);
  const RelaxedScope relaxed;
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
  ignore(cudaFree(address_));
}

CudaExecutable::CudaExecutable(cudaGraph_t graph, int device, GraphResources resources)
    : graph_(graph), resources_(std::move(resources)) {
  const DeviceScope current(device);
  const RelaxedScope relaxed;
  try {
    REFRAIN_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph_, cudaGraphInstantiateFlagUseNodePriority));
    cudaStream_t stream = nullptr;
    REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const cudaError_t status = cudaGraphUpload(exec_, stream);
    ignore(cudaStreamDestroy(stream));
    check(status, "cudaGraphUpload");
  } catch (...) {
    if (exec_ != nullptr) ignore(cudaGraphExecDestroy(exec_));
    ignore(cudaGraphDestroy(graph_));
    throw;
  }
}

CudaExecutable::~CudaExecutable() {
  const RelaxedScope relaxed;
  ignore(cudaGraphExecDestroy(exec_));
  ignore(cudaGraphDestroy(graph_));
}

void CudaExecutable::launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) {
  const cudaStream_t native = native_of(stream);
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
