#include "cuda/driver.hpp"

#include <refrain/error.hpp>

namespace refrain::cuda {

void* driver_function(const char* name) {
  constexpr unsigned version = 12030;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  REFRAIN_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) check(cudaErrorSymbolNotFound, name);
  return function;
}

const DriverGraphs& DriverGraphs::get() {
  static const DriverGraphs functions = [] {
    DriverGraphs all{};
    const auto find = [](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(driver_function(name));
    };
    find(all.get_kernel_params, "cuGraphKernelNodeGetParams");
    find(all.add_kernel, "cuGraphAddKernelNode");
    find(all.set_kernel_params, "cuGraphExecKernelNodeSetParams");
    find(all.function_name, "cuFuncGetName");
    find(all.kernel_name, "cuKernelGetName");
    return all;
  }();
  return functions;
}

int stream_device(cudaStream_t stream) {
  int device = 0;
  if (stream == cudaStreamLegacy) {
    REFRAIN_CUDA_CHECK(cudaGetDevice(&device));
    return device;
  }
  struct Contexts {
    CUresult (*of_stream)(CUstream, CUcontext*) = nullptr;
    CUresult (*push)(CUcontext) = nullptr;
    CUresult (*pop)(CUcontext*) = nullptr;
  };
  static const Contexts contexts = [] {
    Contexts all;
    all.of_stream = reinterpret_cast<decltype(all.of_stream)>(driver_function("cuStreamGetCtx"));
    all.push = reinterpret_cast<decltype(all.push)>(driver_function("cuCtxPushCurrent"));
    all.pop = reinterpret_cast<decltype(all.pop)>(driver_function("cuCtxPopCurrent"));
    return all;
  }();
  CUcontext context = nullptr;
  check(contexts.of_stream(stream, &context), "cuStreamGetCtx");
  check(contexts.push(context), "cuCtxPushCurrent");
  const cudaError_t status = cudaGetDevice(&device);
  check(contexts.pop(&context), "cuCtxPopCurrent");
  check(status, "cudaGetDevice");
  return device;
}

}  // namespace refrain::cuda
