#pragma once

#include "graph/arena.hpp"
#include "graph/draft.hpp"
#include "graph/program.hpp"
#include "runtime/plan.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace refrain::graph {

/// A draw of a graph in a graph, as one of the outer program that begins to draw from that graph's generators at
/// `starts`. Nothing for commands that stay as they are.
std::optional<runtime::Command> moved_draw(const runtime::Command& command, const std::vector<DrawStart>& starts);

/// Writes a program out as a draft, the commands of graphs inside it in their place, each occurrence with memory and
/// random offsets of its own; and a draft as a plan, in which every array has an address.
class Planner {
 public:
  /// `room`: for the memory of its temporaries. `passed`: outputs and arrays from outside that get no address.
  Planner(const std::shared_ptr<Program>& program, std::shared_ptr<ArenaRoom> room,
          std::span<runtime::Buffer* const> passed = {});

  Draft& draft() noexcept { return draft_; }
  /// Takes the memory.
  /// @throws Error(Errc::out_of_memory)
  runtime::Plan plan(SourceLocation where) &&;

 private:
  /// One appearance of a program: the outermost, or a child.
  struct Occurrence {
    const Program* program = nullptr;
    std::unordered_map<const runtime::Buffer*, int> blocks;
    std::deque<Occurrence> children;  ///< in order of their nodes
  };
  /// Where the commands of an occurrence go.
  struct Place {
    std::vector<int> before;        ///< steps that come before all of its own
    int origin = 0;                 ///< the draft's lane that its origin runs on
    std::vector<DrawStart> starts;  ///< of its draws, by its generators; empty: as recorded
  };
  /// What a plan keeps.
  struct Kept {
    std::shared_ptr<Program> program;
    std::shared_ptr<Arena> arena;
    std::deque<runtime::Command> moved;  ///< draws that start elsewhere than recorded
    std::deque<MadeCommand> made;        ///< by passes
  };

  void place(const Program& program, Occurrence& occurrence);
  int add_block(runtime::Buffer& buffer, bool is_temporary);
  /// Returns the steps that nothing else of the occurrence waits for.
  std::vector<int> write(const Occurrence& occurrence, const Place& place);
  std::vector<int> write_child(const Node& node, const Occurrence& child, const Place& place, std::vector<int> before,
                               int lane);
  void write_command(const Node& node, const Occurrence& occurrence, const Place& place, std::vector<int> before,
                     int lane);
  /// By block: whether a step uses it, or one that takes over its memory.
  std::vector<bool> used_blocks() const;
  /// By block.
  std::vector<void*> addresses(SourceLocation where);

  std::shared_ptr<Kept> kept_;
  std::vector<const runtime::Buffer*> passed_;
  std::unordered_map<const runtime::Buffer*, int> lasting_;  ///< blocks that are no temporaries
  Draft draft_;
};

}  // namespace refrain::graph
