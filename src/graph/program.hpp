#pragma once

#include "runtime/access_history.hpp"
#include "runtime/backend.hpp"
#include "runtime/buffer.hpp"
#include "runtime/command.hpp"
#include "runtime/plan.hpp"

#include <refrain/diagnostics.hpp>
#include <refrain/param.hpp>
#include <refrain/stream.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refrain::runtime {
class EventCore;
}

namespace refrain::graph {

/// A vector clock over the lanes of one capture: how many commands of each lane come before.
using LaneClock = std::vector<std::uint32_t>;

inline bool covers(const LaneClock& clock, int lane, std::uint32_t position) noexcept {
  return position == 0 ||
         (static_cast<std::size_t>(lane) < clock.size() && clock[static_cast<std::size_t>(lane)] >= position);
}
void merge(LaneClock& into, const LaneClock& other);

struct Program;

/// One command of a program. Stays where it is, so that plans can point at it.
struct Node {
  std::vector<runtime::Access> accesses;
  runtime::Command command;  ///< its `accesses` and `parameters` are those here
  int lane = 0;
  std::uint32_t position = 0;  ///< in its lane, from 1
  std::vector<detail::ParameterUse> parameters;
  std::vector<std::shared_ptr<const detail::ParameterState>> held_parameters;
  std::vector<int> dependencies;  ///< transitively reduced, ascending
  LaneClock clock;                ///< everything that comes before it, itself included

  /// A graph replayed into the capture: one command of the program, whose own commands are written out by the planner.
  std::shared_ptr<Program> child;
  std::vector<std::uint64_t> child_offsets;  ///< by ordinal: where the child's draws start, relative to the replay
  std::optional<std::uint64_t> child_seed;   ///< after a recorded seed: the offsets count from it
};

/// A stream of a program.
struct LaneInfo {
  std::uint64_t stream_id = 0;
  Device device;
  int priority = 0;
};

/// The program as written, immutable once its capture has ended, and the memory that belongs to it.
struct Program {
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string str() const { return "graph " + std::to_string(id); }

  const std::uint64_t id;
  Device device;  ///< of the origin
  std::deque<Node> nodes;
  std::vector<LaneInfo> lanes;
  std::vector<runtime::BufferRef> made;     ///< in the capture
  std::vector<runtime::BufferRef> outside;  ///< in order of first use
  std::vector<runtime::Buffer*> reads;      ///< those of them that must have values before a replay
  std::vector<Diagnostic> diagnostics;
  std::vector<std::uint64_t> draw_increments;  ///< by ordinal
  /// A recorded `manual_seed`: the generator stands there, by ordinal, after each replay.
  std::optional<std::uint64_t> reseeded;
  /// Streams that have waited for what the program, and graphs in it, wait for outside of the capture.
  std::vector<Stream> outside_waits;
  std::vector<std::shared_ptr<runtime::EventCore>> events;  ///< recorded by nodes: each replay records them
  std::shared_ptr<runtime::Executable> live;                ///< of a live capture
  bool is_declared = true;                                  ///< all its commands are
  bool is_foreign = false;                        ///< of a live capture: foreign code put work there that is no command
  std::vector<std::shared_ptr<const void>> kept;  ///< what a live capture's nodes point at besides arrays

  /// Guarded by the order lock. Shared with the memory of its temporaries.
  const std::shared_ptr<runtime::ReplayMark> mark = std::make_shared<runtime::ReplayMark>();
};

/// "'add' at solver.cpp:12"
std::string place(const runtime::Command& command);

/// What a replay touches besides temporaries, as one write and one read of each buffer at most: outside arrays and
/// outputs with blocks of their own.
std::vector<runtime::Access> boundary_accesses(const Program& program);

/// Whether the buffer, made in a capture, keeps a block of its own: it has one, the user holds the array or keeps it,
/// another program uses it, or it is on another kind of device, where there is no arena.
inline bool is_output(const runtime::Buffer& buffer) noexcept {
  return buffer.handles() > 0 || buffer.address() != nullptr || buffer.is_shared() || buffer.crosses_kinds();
}

}  // namespace refrain::graph
