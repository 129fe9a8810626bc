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
class GeneratorCore;
}  // namespace refrain::runtime

namespace refrain::graph {

/// A vector clock over the lanes of one capture: how many commands of each lane come before.
using LaneClock = std::vector<std::uint32_t>;

inline bool covers(const LaneClock& clock, int lane, std::uint32_t position) noexcept {
  return position == 0 ||
         (static_cast<std::size_t>(lane) < clock.size() && clock[static_cast<std::size_t>(lane)] >= position);
}
void merge(LaneClock& into, const LaneClock& other);

class ArenaRoom;
struct Program;

/// Where the next draw from a generator begins: so far after the replay's position or, once a seed was recorded, after
/// that seed's beginning.
struct DrawPosition {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// A generator that a program draws from or sets, and where it stands after the recorded part.
struct GeneratorUse {
  std::shared_ptr<runtime::GeneratorCore> generator;
  DrawPosition at;
};

/// Where a graph in a graph begins to draw from one of its generators.
struct DrawStart {
  int number = 0;  ///< the generator's in the outer program
  DrawPosition at;
};

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
  std::vector<DrawStart> child_draws;  ///< by the child's generators
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
  Device device;                                            ///< of the origin
  std::vector<std::shared_ptr<runtime::EventCore>> events;  ///< recorded by nodes: each replay records them
  /// A recorded `manual_seed`: default generators that the program does not use stand at its beginning after a replay.
  std::optional<std::uint64_t> reseeded;
  std::deque<Node> nodes;
  std::vector<LaneInfo> lanes;
  std::vector<runtime::BufferRef> made;     ///< in the capture
  std::vector<runtime::BufferRef> outside;  ///< in order of first use
  std::vector<runtime::Buffer*> reads;      ///< those of them that must have values before a replay
  std::vector<Diagnostic> diagnostics;
  std::vector<GeneratorUse> generators;
  /// Streams that have waited for what the program, and graphs in it, wait for outside of the capture.
  std::vector<Stream> outside_waits;
  std::shared_ptr<runtime::Executable> live;      ///< of a live capture
  bool is_declared = true;                        ///< all its commands are
  bool is_foreign = false;                        ///< of a live capture: foreign code put work there that is no command
  std::vector<std::shared_ptr<const void>> kept;  ///< what a live capture's nodes point at besides arrays

  /// Guarded by the order lock. Shared with the memory of its temporaries.
  const std::shared_ptr<runtime::ReplayMark> mark = std::make_shared<runtime::ReplayMark>();
  const std::shared_ptr<ArenaRoom> room;  ///< of its executables' temporaries: their replays are in order
};

/// By the program's generators: how far one run moves each.
std::vector<std::uint64_t> draw_increments(const Program& program);

/// "'add' at solver.cpp:12"
std::string place(const runtime::Command& command);

/// What a replay touches besides temporaries, as one write and one read of each buffer at most: outside arrays and
/// outputs with blocks of their own.
std::vector<runtime::Access> boundary_accesses(const Program& program);

/// Bytes of a buffer that a program touches, and those that it writes.
struct Touched {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t written_begin = 0;
  std::int64_t written_end = 0;
};
Touched touched(const Program& program, const runtime::Buffer& buffer);

/// Whether the buffer, made in a capture, keeps a block of its own: it has one, the user holds the array or keeps it,
/// another program uses it, or it is on another kind of device, where there is no arena.
inline bool is_output(const runtime::Buffer& buffer) noexcept {
  return buffer.handles() > 0 || buffer.address() != nullptr || buffer.is_shared() || buffer.crosses_kinds();
}

}  // namespace refrain::graph
