// What makes single elements right after one fused command is done by that command's last block.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"
#include "graph/passes/within.hpp"
#include "jit/cuda_source.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::FusedCommand;

/// Positions up to which a command's blocks are counted, to find out which is the last: of more, counting takes longer
/// than another kernel.
constexpr std::int64_t most_positions = 1 << 19;

class Last {
 public:
  explicit Last(Draft& draft) : draft_(draft), group_of_(draft.steps.size()) {
    std::iota(group_of_.begin(), group_of_.end(), std::size_t{0});
  }

  void run() {
    bool has_joined = false;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const Step& step = draft_.steps[i];
      if (step.dependencies.size() != 1 || !makes_elements(*step.command)) continue;
      const auto before = static_cast<std::size_t>(step.dependencies.front());
      if (group_of_[before] != before || is_taken_.contains(before) || !can_end_with(before, i)) continue;
      group_of_[i] = before;
      is_taken_.insert(before);
      has_joined = true;
    }
    if (!has_joined) return;
    regroup(draft_, group_of_, [&](std::size_t, std::span<const std::size_t> members) {
      return members.size() == 1 ? draft_.steps[members.front()] : joined(members.front(), members.back());
    });
  }

 private:
  bool can_end_with(std::size_t number, std::size_t next) const {
    const runtime::Command& command = *draft_.steps[number].command;
    const auto* fused = std::get_if<FusedCommand>(&command.payload);
    if (fused == nullptr || !command.is_declared || fused->expression->has_rows()) return false;
    const runtime::Command& last = *draft_.steps[next].command;
    if (command.device != last.device) return false;
    // What it takes beside its arrays: a table of the parts, where its blocks are counted.
    constexpr std::int64_t own_bytes = 512;
    std::int64_t bytes = own_bytes + (std::ssize(last.accesses) + most_scalars) * 8;
    std::int64_t positions = 0;
    const auto add = [&](const jit::Expression& part) {
      bytes += jit::parameter_bytes(part);
      positions += part.size;
    };
    add(*fused->expression);
    for (const auto& part : fused->further) add(*part);
    const auto limits = runtime::backend(command.device.kind).fusion_limits(command.device.index);
    return positions <= most_positions && bytes <= limits.most_parameter_bytes && scalars_of(last) <= most_scalars;
  }

  static std::int64_t scalars_of(const runtime::Command& command) {
    const auto* fused = std::get_if<FusedCommand>(&command.payload);
    return fused != nullptr ? std::ssize(fused->scalars) : kernels::max_inputs;
  }

  Step joined(std::size_t number, std::size_t next) {
    const Step& step = draft_.steps[number];
    const Step last = as_fused(draft_, next);
    MadeCommand& made = draft_.made.emplace_back();
    made.command.device = step.command->device;
    made.command.where = step.command->where;
    made.label = std::string(step.command->label) + ", then " + draft_.steps[next].command->label;
    FusedCommand command = std::get<FusedCommand>(step.command->payload);
    const auto& end = std::get<FusedCommand>(last.command->payload);
    const int first_scalar = static_cast<int>(command.scalars.size());
    Step both;
    for (const Step* each : {&step, &last}) {
      made.accesses.insert(made.accesses.end(), each->command->accesses.begin(), each->command->accesses.end());
      both.blocks.insert(both.blocks.end(), each->blocks.begin(), each->blocks.end());
      for (const detail::ParameterUse& use : each->command->parameters) {
        made.parameters.push_back({use.state, use.slot + (each == &last ? first_scalar : 0)});
      }
    }
    command.scalars.insert(command.scalars.end(), end.scalars.begin(), end.scalars.end());
    command.last = end.expression;
    made.command.payload = std::move(command);
    made.command.label = made.label.c_str();
    made.command.accesses = made.accesses;
    made.command.parameters = made.parameters;
    both.command = &made.command;
    both.lane = step.lane;
    for (const std::size_t member : {number, next}) {
      draft_.folded[draft_.steps[member].command->label] = "fused with others";
    }
    draft_.say("last: " + place(*draft_.steps[next].command) + " is what the last block of " + place(*step.command) +
               " does");
    return both;
  }

  static constexpr std::int64_t most_scalars = 32;

  Draft& draft_;
  std::vector<std::size_t> group_of_;
  std::set<std::size_t> is_taken_;
};

}  // namespace

void append_last(Draft& draft) {
  if (draft.steps.size() <= Ancestors::most_steps) Last(draft).run();
}

}  // namespace refrain::graph
