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
    find(all.function_name, "cuFuncGetName");
    find(all.kernel_name, "cuKernelGetName");
    return all;
  }();
  return functions;
}

}  // namespace refrain::cuda
