#pragma once

#include <cuda_runtime_api.h>

#include <refrain/source_location.hpp>

namespace refrain::cuda {

/// The one place where a CUDA status becomes an Error: CUDA's capture codes keep their numbers, sticky errors are
/// device_lost, a failed allocation is out_of_memory.
/// @param expression what was called, for the text
void check(cudaError_t status, const char* expression, SourceLocation where = SourceLocation::current());

/// In destructors and at process end: whatever it says, there is nobody to tell.
inline void ignore(cudaError_t) noexcept {}

}  // namespace refrain::cuda

#define REFRAIN_CUDA_CHECK(expression) ::refrain::cuda::check((expression), #expression)
