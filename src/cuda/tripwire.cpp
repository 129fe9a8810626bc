#include "cuda/tripwire.hpp"

#include "cuda/check.hpp"
#include "cuda/compat.hpp"
#include "cuda/driver.hpp"
#include "cuda/process_end.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace refrain::cuda {

namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::string name_of(cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  REFRAIN_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  if (type == cudaGraphNodeTypeMemcpy) return "a copy";
  if (type == cudaGraphNodeTypeMemset) return "a memset";
  if (type != cudaGraphNodeTypeKernel) return "other work";
  const DriverGraphs& driver = DriverGraphs::get();
  CUDA_KERNEL_NODE_PARAMS params{};
  check(driver.get_kernel_params(node, &params), "cuGraphKernelNodeGetParams");
  const char* name = nullptr;
  const CUresult status =
      params.func != nullptr ? driver.function_name(&name, params.func) : driver.kernel_name(&name, params.kern);
  return status == CUDA_SUCCESS && name != nullptr ? "kernel " + demangled(name) : "a kernel";
}

}  // namespace

void Tripwire::arm() noexcept {
  if (armed_++ > 0 || lifted_ > 0) return;  // the last call under way opens it
  const std::lock_guard lock(mutex_);
  open();
}

runtime::Strayed Tripwire::disarm() noexcept {
  const std::lock_guard lock(mutex_);
  close();
  const bool is_last = --armed_ == 0;
  runtime::Strayed found = found_;
  if (is_last) {
    found_ = {};
  } else if (lifted_ == 0) {
    open();
  }
  return found;
}

bool Tripwire::has_strayed() noexcept {
  const std::lock_guard lock(mutex_);
  if (!found_.names.empty()) return true;
  if (!is_open_) return false;
  try {
    return !capture_dependencies(stream_).empty();
  } catch (...) {
    return false;  // broken by other code; begun again with the next call
  }
}

runtime::ForeignCapture Tripwire::foreign_capture() noexcept {
  const std::lock_guard lock(mutex_);
  return is_open_ ? runtime::ForeignCapture() : capture_on(stream_);
}

void Tripwire::lift() noexcept {
  ++lifted_;
  if (armed_ == 0) return;
  const std::lock_guard lock(mutex_);
  close();
}

void Tripwire::drop() noexcept {
  if (--lifted_ > 0 || armed_ == 0) return;
  const std::lock_guard lock(mutex_);
  if (armed_ > 0 && lifted_ == 0) open();
}

void Tripwire::open() noexcept {
  if (is_open_ || ends_elsewhere()) return;
  // Other code may be capturing the stream itself: then nothing can be held there.
  is_open_ = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed) == cudaSuccess;
  if (!is_open_) ignore(cudaGetLastError());
}

void Tripwire::close() noexcept {
  if (!std::exchange(is_open_, false) || ends_elsewhere()) return;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) {
    ignore(cudaGetLastError());
    ++found_.broken;
  }
  if (graph == nullptr) return;
  try {
    for (const cudaGraphNode_t node : nodes_of(graph)) found_.names.push_back(name_of(node));
  } catch (...) {
    found_.names.emplace_back("work that cannot be named");
  }
  ignore(cudaGraphDestroy(graph));
}

}  // namespace refrain::cuda
