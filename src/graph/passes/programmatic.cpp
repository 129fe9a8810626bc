#include "graph/passes/cost.hpp"
#include "graph/passes/passes.hpp"

#include <string>
#include <vector>

namespace refrain::graph {

void mark_programmatic(Draft& draft) {
  if (draft.program.device.kind != DeviceKind::cuda) return;
  std::vector<int> followers(draft.steps.size(), 0);
  for (const Step& step : draft.steps) {
    for (const int before : step.dependencies) ++followers[static_cast<std::size_t>(before)];
  }
  int marked = 0;
  int large = 0;
  const int multiprocessors = device_properties(draft.program.device).multiprocessors;
  const std::int64_t most = most_waiting_blocks(multiprocessors);
  for (Step& step : draft.steps) {
    if (step.dependencies.size() != 1) continue;
    const auto number = static_cast<std::size_t>(step.dependencies[0]);
    const Step& before = draft.steps[number];
    if (followers[number] != 1 || before.command->device != step.command->device) continue;
    const std::int64_t blocks = waiting_blocks(*step.command, multiprocessors);
    const std::int64_t blocks_before = waiting_blocks(*before.command, multiprocessors);
    if (blocks == 0 || blocks_before == 0) continue;
    if (blocks > most || blocks_before > most) {
      ++large;
      continue;
    }
    step.is_programmatic = true;
    ++marked;
  }
  if (marked > 0) {
    draft.say("programmatic: " + std::to_string(marked) +
              " small kernels are launched while the one before still runs");
  }
  if (large > 0) {
    draft.say("programmatic: " + std::to_string(large) +
              " kernels are not launched before the one before has ended, "
              "for those of more than " +
              std::to_string(most) + " blocks lose by it");
  }
}

}  // namespace refrain::graph
