#pragma once

#include <refrain/access.hpp>
#include <refrain/native.hpp>
#include <refrain/param.hpp>
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
  std::optional<int> priority = std::nullopt;  ///< unset: the stream's
  const char* label = "launch";                ///< static text, for graphs, diagnostics and errors
  SourceLocation where = SourceLocation::current();
};

namespace detail {

/// A kernel with its arguments, made by `Stream::launch` in the program's own translation unit: only there the CUDA
/// runtime that the kernel was compiled against is known. Results are `cudaError_t`. `addresses` are those of the
/// memory among the arguments.
class KernelCall {
 public:
  KernelCall() = default;
  KernelCall(const KernelCall&) = default;
  KernelCall& operator=(const KernelCall&) = delete;
  virtual ~KernelCall() = default;

  virtual std::shared_ptr<KernelCall> clone() const = 0;
  virtual int launch(cudaStream_t stream, void* const* addresses) const = 0;
  virtual int add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, void* const* addresses,
                     cudaGraphNode_t* node) const = 0;
  /// Gives an executable's node this geometry and these arguments.
  virtual int set_in(cudaGraphExec_t exec, cudaGraphNode_t node, void* const* addresses) const = 0;

  virtual const LaunchConfig& config() const noexcept = 0;
  virtual void set_config(const LaunchConfig& config) = 0;
  /// The value of a parameter that is given by a Param, of that type.
  virtual void set_value(int parameter, const void* value) = 0;
  /// Whether the other one is of the same kernel with the same plain values, as far as these can be compared: numbers,
  /// enumerations and pointers, but those that accesses and parameters give.
  virtual bool has_values_of(const KernelCall& other) const = 0;
  /// Whether a bare pointer among the arguments has this address.
  virtual bool has_pointer(const void* address) const noexcept = 0;
  /// Puts another address where the call that this one is a copy of has a bare pointer with this one.
  virtual void replace_pointer(const KernelCall& original, const void* address, void* by) = 0;
};

/// Memory among the arguments.
struct KernelArgument {
  MemoryAccess access;
  std::optional<DType> wanted = std::nullopt;  ///< what the parameter points to; unknown for `void` and no array's type
  int parameter = 0;                           ///< -1: no parameter, but something that the kernel reaches otherwise
};

/// `is_declared`: the arguments say all that the kernel touches.
void submit_launch(const Stream& stream, const LaunchConfig& config, const KernelCall& call,
                   std::span<const KernelArgument> arguments, std::span<const ParameterUse> parameters,
                   bool is_declared);

}  // namespace detail
}  // namespace refrain
