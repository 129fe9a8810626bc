// In place of inside/kernels.cpp in a binary without CUDA, or where the library is shared.

#include "start.hpp"

namespace refrain::bench {

std::optional<KernelCosts> kernel_costs(const Graph&, std::string& why_not) {
  why_not = "built without CUDA, or as a shared library";
  return std::nullopt;
}

}  // namespace refrain::bench
