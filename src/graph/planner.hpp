#pragma once

#include "graph/arena.hpp"
#include "graph/program.hpp"
#include "runtime/plan.hpp"

#include <refrain/diagnostics.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace refrain::graph {

/// A draw of a graph in a graph, as one of the outer program that begins to draw from that graph's generators at
/// `starts`. Nothing for commands that stay as they are.
std::optional<runtime::Command> moved_draw(const runtime::Command& command, const std::vector<DrawStart>& starts);

/// Writes a program out as a plan: gives every array an address and puts the commands of graphs inside it in their
/// place, each occurrence with memory and random offsets of its own.
class Planner {
 public:
  /// Takes the memory. `mark`: of the program whose replays use it, this one or a live one that it is nested in.
  /// @throws Error(Errc::out_of_memory)
  Planner(const std::shared_ptr<Program>& program, const std::shared_ptr<runtime::ReplayMark>& mark,
          SourceLocation where);

  runtime::Plan plan() &&;
  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }

 private:
  /// One appearance of a program: the outermost, or a child.
  struct Occurrence {
    const Program* program = nullptr;
    std::unordered_map<const runtime::Buffer*, void*> addresses;
    std::deque<Occurrence> children;  ///< in order of their nodes
  };
  /// Where the commands of an occurrence go.
  struct Place {
    std::vector<int> before;        ///< commands that come before all of its own
    int origin = 0;                 ///< the plan's lane that its origin runs on
    std::vector<DrawStart> starts;  ///< of its draws, by its generators; empty: as recorded
  };
  struct Memory {
    std::shared_ptr<Program> program;
    std::shared_ptr<Arena> arena;
    std::deque<runtime::Command> moved;  ///< draws that start elsewhere than recorded
  };

  void place(const Program& program, Occurrence& occurrence);
  /// Returns the commands that nothing else of the occurrence waits for.
  std::vector<int> write(const Occurrence& occurrence, const Place& place);
  std::vector<int> write_child(const Node& node, const Occurrence& child, const Place& place, std::vector<int> before,
                               int lane);
  void write_command(const Node& node, const Occurrence& occurrence, const Place& place, std::vector<int> before,
                     int lane);

  std::shared_ptr<Memory> memory_;
  Occurrence outermost_;
  struct Temporary {
    Occurrence* occurrence;
    const runtime::Buffer* buffer;
    std::int64_t offset;
  };
  std::vector<Temporary> temporaries_;
  bool materialized_ = false;
  runtime::Plan plan_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace refrain::graph
