#include "graph/passes/passes.hpp"

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
  std::vector<Step> kept;
  std::vector<std::vector<int>> stands_for(draft.steps.size());  // the kept steps that come before what comes after
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    Step& step = draft.steps[i];
    std::vector<int> before;
    for (const int dependency : step.dependencies) {
      const auto& of = stands_for[static_cast<std::size_t>(dependency)];
      before.insert(before.end(), of.begin(), of.end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (is_dead[i]) {
      draft.say("dead work: " + place(*step.command) + " is left out, for nothing reads what it writes");
      draft.folded.emplace(step.command->label, "");
      stands_for[i] = std::move(before);
    } else {
      stands_for[i] = {static_cast<int>(kept.size())};
      step.dependencies = std::move(before);
      kept.push_back(std::move(step));
    }
  }
  draft.steps = std::move(kept);
}

}  // namespace refrain::graph
