#pragma once

#include "graph/program.hpp"
#include "runtime/plan.hpp"

#include <refrain/diagnostics.hpp>
#include <refrain/graph.hpp>

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace refrain::graph {

/// A buffer in one appearance of the program that made it: a graph that is in another one twice has two of each of its
/// temporaries.
struct Block {
  runtime::Buffer* buffer = nullptr;
  bool is_temporary = false;  ///< in the arena, and nobody's once the replay is over
  std::int64_t offset = -1;   ///< of a temporary in its device's arena, where a pass has planned it
  int in_place_of = -1;       ///< the block whose memory it takes over, which is none that takes over another's
};

/// A command in the draft.
struct Step {
  const runtime::Command* command = nullptr;
  std::vector<int> blocks;        ///< one an access
  std::vector<int> dependencies;  ///< earlier steps, transitively reduced
  int lane = 0;
  bool is_programmatic = false;  ///< see runtime::PlannedCommand
  /// When it is thought to run, in microseconds from the beginning of a replay; forever where nobody knows.
  double begin_us = 0;
  double end_us = std::numeric_limits<double>::infinity();
};

/// A command that is none of the program's.
struct MadeCommand {
  runtime::Command command;  ///< its accesses, parameters and label are those here
  std::vector<runtime::Access> accesses;
  std::vector<detail::ParameterUse> parameters;
  std::string label;

  /// The command, which says what is here, once all is and it stays where it is.
  const runtime::Command* settled() {
    command.accesses = accesses;
    command.parameters = parameters;
    command.label = label.c_str();
    return &command;
  }
};

/// Whether a command keeps its order with all others: its effects are not all declared, or order is all that it has.
inline bool keeps_order(const runtime::Command& command) noexcept {
  return !command.is_declared || std::holds_alternative<runtime::EmptyCommand>(command.payload);
}

/// What the passes work on: the program's commands with those of graphs inside it written out, their order and memory.
/// A pass may rewrite all of it, as long as the program's results stay, bit for bit.
struct Draft {
  const Program& program;
  std::vector<runtime::PlannedLane> lanes;
  std::vector<Block> blocks;
  std::vector<Step> steps;  ///< in an order that respects the dependencies
  std::deque<MadeCommand>& made;
  std::vector<Diagnostic> diagnostics;
  /// Labels of commands that are no step of their own any more, and what became of them; empty: nobody can tell.
  std::unordered_map<std::string, std::string> folded;
  Math math = Math::exact;

  void say(std::string text, Severity severity = Severity::info) {
    diagnostics.push_back({DiagnosticKind::pass, severity, {}, std::move(text)});
  }
};

}  // namespace refrain::graph
