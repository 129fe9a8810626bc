#pragma once

#include "kernels/args.hpp"
#include "runtime/matmul.hpp"

#include <refrain/device.hpp>
#include <refrain/event.hpp>
#include <refrain/source_location.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace refrain::jit {
struct Expression;
}  // namespace refrain::jit

namespace refrain::detail {
class KernelCall;
struct ParameterUse;
}  // namespace refrain::detail

namespace refrain::runtime {

class BackendEvent;
class Buffer;
class GeneratorCore;
class HostFunction;

enum class AccessMode : std::uint8_t { read, write };

/// Bytes [begin, end) of a buffer that a command touches.
struct Access {
  Buffer* buffer = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  AccessMode mode = AccessMode::read;
  std::int64_t first = 0;  ///< bytes from `begin` to the first element: not 0 where an axis runs backwards
  bool has_gaps = false;   ///< bytes of the range that are touched by no element

  /// Where its first element is in a block at `base`; null where there is no block.
  void* address(void* base) const noexcept {
    return base == nullptr ? nullptr : static_cast<std::byte*>(base) + begin + first;
  }
};

// One struct per kind of command. Access k of the command is named by index; its address is handed to the backend
// when the command runs or is lowered: addresses[k] is where access k begins.

/// Nothing at all, ordered: an empty kernel on CUDA.
struct EmptyCommand {};

/// An elementwise op; `out_access` and `in_access[i]` (-1: scalar) say which access each pointer is.
struct ElementwiseCommand {
  kernels::ElementwiseArgs args;
  int out_access = 0;
  std::array<int, kernels::max_inputs> in_access{-1, -1, -1};
};

/// A reduction of access 1 into access 0; access 2, if there is one, is `args.other`.
struct ReduceCommand {
  kernels::ReduceArgs args;
  bool has_other = false;
};

/// A matrix product of accesses 1 and 2 into access 0.
struct MatmulCommand {
  std::shared_ptr<const MatmulPlan> plan;
  int bias_access = -1;
  int workspace_access = -1;
};

/// Numbers that are counted, or elements of access 1 from other places, into access 0. Access 2: indices, if it has
/// them.
struct MoveCommand {
  kernels::MoveArgs args;
};

/// Random numbers into access 0. While recording `args.offset` is relative to the generator's position at the replay.
struct RandomCommand {
  kernels::RandomArgs args;
  GeneratorCore* generator = nullptr;  ///< valid while submitting; a recording holds its own
  std::uint64_t increment = 0;         ///< how far the draw advances the generator
  int number = 0;                      ///< the generator's in the program
  bool absolute = false;               ///< after a recorded `manual_seed`: the offset is the same in every replay
};

/// Several commands as one, elementwise and such. Its accesses are those of the expression's outputs, then its inputs;
/// after them, and after its scalars, come those of each further part.
struct FusedCommand {
  std::shared_ptr<const jit::Expression> expression;
  std::vector<kernels::Value> scalars;
  std::vector<RandomCommand> draws;  ///< as they were, without addresses
  /// Parts of the same structure that nothing orders with it or with each other, over positions of their own; without
  /// draws.
  std::vector<std::shared_ptr<const jit::Expression>> further;
  /// Of one position, computed once all others have been; its accesses and scalars come after theirs. Null: there is
  /// none.
  std::shared_ptr<const jit::Expression> last;
  /// Whether the last one reads nothing that the others write, and writes nothing that they touch but single elements
  /// that they read: it may come as soon as they have read those.
  bool is_last_early = false;
};

/// Up to so many bytes an upload is taken at once, without waiting for the stream.
inline constexpr std::int64_t small_upload = 32 * 1024;

/// Bytes of the program (literals, host arrays) into access 0.
struct UploadCommand {
  std::span<const std::byte> bytes;                     ///< valid while submitting
  std::shared_ptr<const std::vector<std::byte>> owned;  ///< a recording's copy of them
};

/// Copies bytes from one block to another, of any devices. A side that is no access is memory of the caller's.
struct CopyCommand {
  std::int64_t bytes = 0;
  int out_access = -1;
  int in_access = -1;
  void* target = nullptr;        ///< where there is no out_access
  const void* source = nullptr;  ///< where there is no in_access
};

/// A kernel of the program's. Access k is that of its k-th argument of memory.
struct KernelCommand {
  const detail::KernelCall* call = nullptr;         ///< valid while submitting
  std::shared_ptr<const detail::KernelCall> owned;  ///< a recording's copy of it

  const detail::KernelCall& get() const noexcept { return owned != nullptr ? *owned : *call; }
};

/// Records an external or timing event, in graphs only: each replay records it anew.
struct EventRecordCommand {
  std::shared_ptr<BackendEvent> native;
};

/// Waits for an external event, in graphs only: each replay waits for the record that is the newest when it is issued.
struct EventWaitCommand {
  std::shared_ptr<BackendEvent> native;
};

/// Work of foreign code, as a backend has captured or copied it.
class ForeignWork {
 public:
  ForeignWork() = default;
  ForeignWork(const ForeignWork&) = delete;
  ForeignWork& operator=(const ForeignWork&) = delete;
  virtual ~ForeignWork() = default;
  /// Whether the device takes it as a whole, so that no part of it can be left out.
  virtual bool is_whole() const noexcept = 0;
  /// Whether it takes memory in stream order, so that the device can have it in one executable only.
  virtual bool has_memory() const noexcept = 0;
};

/// Runs foreign work. The addresses of the accesses are part of it.
struct ForeignCommand {
  std::shared_ptr<ForeignWork> work;  ///< null in a live capture, where the foreign code puts it itself
};

/// A callable of the user's, called with the addresses.
struct HostFunctionCommand {
  std::shared_ptr<const HostFunction> function;
};

using Payload = std::variant<EmptyCommand, ElementwiseCommand, ReduceCommand, MatmulCommand, MoveCommand, RandomCommand,
                             FusedCommand, UploadCommand, CopyCommand, KernelCommand, ForeignCommand,
                             EventRecordCommand, EventWaitCommand, HostFunctionCommand>;

/// Work as data. Built on the stack by every op, run at once or kept by a recording; an op cannot tell which.
struct Command {
  Device device;  ///< the stream's; what the command touches is there
  Payload payload;
  std::span<const Access> accesses;
  const char* label = "";  ///< static text
  SourceLocation where;
  std::span<const detail::ParameterUse> parameters = {};
  /// Whether the accesses say all that it touches; else it keeps its place among all commands.
  bool is_declared = true;
};

/// The name of a payload's kind, e.g. "elementwise".
const char* kind_name(const Payload& payload) noexcept;

}  // namespace refrain::runtime
