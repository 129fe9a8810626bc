#pragma once

#include "runtime/command.hpp"

#include <refrain/device.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace refrain::runtime {

class Executable;

/// Where a generator stands.
struct GeneratorPosition {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const GeneratorPosition&, const GeneratorPosition&) = default;
};

/// A command with its addresses and exact predecessors, ready to be lowered.
struct PlannedCommand {
  const Command* command = nullptr;
  std::vector<void*> addresses;   ///< one per access
  std::vector<int> dependencies;  ///< earlier commands, transitively reduced
  int lane = 0;
  /// Its kernel may be launched while that of its only dependency still runs: both wait on the device themselves
  /// (kernels/dependency.hpp). Backends that cannot do it take the dependency as any other.
  bool is_programmatic = false;
};

/// A stream of the program or, after planning, a branch.
struct PlannedLane {
  Device device;
  int priority = 0;
  std::uint64_t stream_id = 0;  ///< of the program's stream
};

/// Memory for a plan's temporaries.
struct PlannedArena {
  Device device;
  std::int64_t bytes = 0;
};

/// What a backend makes an executable of. Refers to the program's commands, which outlive the executable.
struct Plan {
  Device device;  ///< the origin's
  std::vector<PlannedLane> lanes;
  std::vector<PlannedCommand> commands;        ///< in an order that respects the dependencies
  std::vector<std::uint64_t> draw_increments;  ///< by the program's generators: how far one run moves each
  std::vector<PlannedArena> arenas;            ///< that it keeps
  std::shared_ptr<const void> keep_alive;      ///< the program and its memory
  /// An executable of the same commands whose runs are in one order with those of this one: both may keep the state of
  /// their draws in one place. Null: there is none.
  std::shared_ptr<const Executable> like;
};

}  // namespace refrain::runtime
