#pragma once

#include <refrain/source_location.hpp>

#include <string>

namespace refrain::cuda {

/// NVRTC's version, as CUDART_VERSION: major * 1000 + minor * 10; 0 where it cannot be loaded. It is loaded for that
/// only where no process has noted it yet.
int nvrtc_version();

/// Machine code of CUDA C++ that includes headers of kernels/ by name, compiled as the library's own kernels are.
/// @param architecture e.g. "sm_90"
/// @param is_contracted whether products and sums may become fused multiply-adds, as in none of the library's own
/// @throws Error(Errc::not_supported) when NVRTC cannot be loaded; backend with its log and the source
std::string compile_kernel(const std::string& source, const std::string& architecture, bool is_contracted = false);

}  // namespace refrain::cuda
