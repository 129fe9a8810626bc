#pragma once

#include <refrain/array.hpp>
#include <refrain/native.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace refrain {

/// Extents of a grid, a block or a cluster.
struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  constexpr Dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) noexcept : x(x), y(y), z(z) {}  // NOLINT
};

/// How a kernel of the program's is launched by `Stream::launch`.
struct LaunchConfig {
  Dim3 grid = {};                ///< blocks
  Dim3 block = {};               ///< threads
  std::size_t shared_bytes = 0;  ///< dynamic shared memory; what needs the kernel's consent above 48 KiB gets it
  std::optional<Dim3> cluster = std::nullopt;  ///< blocks a cluster; divides the grid
  bool cooperative = false;                    ///< all blocks are resident at once and may wait for one another
  const char* label = "launch";                ///< static text, for graphs, diagnostics and errors
  SourceLocation where = SourceLocation::current();
};

/// An array that a kernel only writes, as argument of `Stream::launch`: its old values are not needed.
struct WriteOnly {
  const Array* array;
};
inline WriteOnly write(const Array& array) noexcept { return {&array}; }

namespace detail {

/// A kernel with its arguments, made by `Stream::launch` in the program's own translation unit: only there the CUDA
/// runtime that the kernel was compiled against is known. Results are `cudaError_t`. `addresses` are those of the
/// arrays among the arguments.
class KernelCall {
 public:
  KernelCall() = default;
  KernelCall(const KernelCall&) = default;
  KernelCall& operator=(const KernelCall&) = delete;
  virtual ~KernelCall() = default;

  virtual std::shared_ptr<const KernelCall> clone() const = 0;
  virtual int launch(cudaStream_t stream, void* const* addresses) const = 0;
  virtual int add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, void* const* addresses,
                     cudaGraphNode_t* node) const = 0;
};

/// An array among the arguments.
struct KernelArray {
  const Array* array = nullptr;
  std::optional<DType> wanted = std::nullopt;  ///< what the parameter points to; unknown for `void`
  bool is_read = false;
  bool is_written = false;
  int parameter = 0;
};

void submit_launch(const Stream& stream, const LaunchConfig& config, const KernelCall& call,
                   std::span<const KernelArray> arrays);

}  // namespace detail
}  // namespace refrain
