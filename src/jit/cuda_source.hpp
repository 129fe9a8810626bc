#pragma once

#include "jit/expression.hpp"
#include "jit/launch_shape.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace refrain::jit {

/// CUDA C++ of an expression, or of so many parts of its structure: one kernel, `fused_kernel`, and the sources of
/// kernels/ that it includes by name. What differs between expressions of one structure, extents, strides and scalars,
/// is a parameter. `last`: what the last block does at the end, of no rows (cuda_last.hpp); `is_last_early`: blocks may
/// be counted once they have read what is a single element. How rows are laid out over threads, and which axes a window
/// leaves whole, is in the text.
std::string cuda_source(const Expression& expression, const LaunchShape& shape, std::size_t parts = 1,
                        const Expression* last = nullptr, bool is_last_early = false);

/// Bytes of the parameters that the kernel takes for an expression without rows.
std::int64_t parameter_bytes(const Expression& expression);

/// How the kernel is launched.
struct CudaLaunch {
  std::int64_t grid = 0;
  int block = 0;
  std::vector<std::byte> parameters;  ///< the kernel's one
};

/// `addresses`: of the outputs, then the inputs. `draws`: with seed and offset, or counters.
CudaLaunch cuda_launch(const Expression& expression, const LaunchShape& shape, void* const* addresses,
                       std::span<const kernels::Value> scalars, std::span<const kernels::RandomArgs> draws,
                       int multiprocessors);

/// `addresses`, `scalars`: of the first part, then of the further ones.
CudaLaunch cuda_launch_of_parts(const Expression& expression, Further further, const LaunchShape& shape,
                                void* const* addresses, std::span<const kernels::Value> scalars);

/// The blocks of a launch, where all arrays are aligned.
std::int64_t blocks_of(const Expression& expression, Further further, std::span<const kernels::RandomArgs> draws,
                       int multiprocessors);

/// A header that sources include.
struct KernelSource {
  const char* name;
  const char* text;
};
/// The text of kernels/*.hpp as it was when the library was built.
std::span<const KernelSource> kernel_sources();

}  // namespace refrain::jit
