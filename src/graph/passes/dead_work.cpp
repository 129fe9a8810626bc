#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"

#include <algorithm>
#include <string>

namespace refrain::graph {

namespace {

using runtime::AccessMode;

/// Whether the command does nothing but write what its accesses say.
bool is_pure(const runtime::Command& command) {
  const auto& payload = command.payload;
  return command.is_declared && (std::holds_alternative<runtime::ElementwiseCommand>(payload) ||
                                 std::holds_alternative<runtime::ReduceCommand>(payload) ||
                                 std::holds_alternative<runtime::MatmulCommand>(payload) ||
                                 std::holds_alternative<runtime::MoveCommand>(payload) ||
                                 std::holds_alternative<runtime::RandomCommand>(payload) ||
                                 std::holds_alternative<runtime::UploadCommand>(payload));
}

/// Steps whose results nothing reads, found from the last one on.
std::vector<bool> find_dead(const Draft& draft) {
  std::vector<bool> is_read(draft.blocks.size(), false);
  std::vector<bool> is_dead(draft.steps.size(), false);
  for (std::size_t i = draft.steps.size(); i-- > 0;) {
    const Step& step = draft.steps[i];
    const auto& accesses = step.command->accesses;
    bool is_seen = !is_pure(*step.command);
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      const auto block = static_cast<std::size_t>(step.blocks[k]);
      if (accesses[k].mode == AccessMode::write && (is_read[block] || !draft.blocks[block].is_temporary))
        is_seen = true;
    }
    is_dead[i] = !is_seen;
    if (!is_seen) continue;
    // What a command with undeclared effects writes, it may read too.
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      if (accesses[k].mode == AccessMode::read || !is_pure(*step.command)) {
        is_read[static_cast<std::size_t>(step.blocks[k])] = true;
      }
    }
  }
  return is_dead;
}

}  // namespace

void drop_dead_work(Draft& draft) {
  const std::vector<bool> is_dead = find_dead(draft);
  if (std::none_of(is_dead.begin(), is_dead.end(), [](bool dead) { return dead; })) return;
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    if (!is_dead[i]) continue;
    const runtime::Command& command = *draft.steps[i].command;
    draft.say("dead work: " + place(command) + " is left out, for nothing reads what it writes");
    draft.folded.emplace(command.label, "");
  }
  drop_steps(draft, is_dead);
}

}  // namespace refrain::graph
