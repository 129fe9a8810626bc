// What makes single elements right after one fused command is done by that command's last block.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/fusion_group.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"
#include "graph/passes/within.hpp"
#include "jit/cuda_last.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::FusedCommand;

/// Positions up to which a command's blocks are counted, to find out which is the last: of many more, counting is
/// thought to take longer than another kernel, which has not been measured.
constexpr std::int64_t most_positions = 1 << 19;

/// Positions of threads, of draws those that they are laid out over.
std::int64_t positions_of(const jit::Expression& expression) {
  return expression.draws.empty() ? expression.size : std::int64_t{expression.grid} * kernels::random_block;
}

class Last {
 public:
  explicit Last(Draft& draft) : draft_(draft), group_of_(draft.steps.size()) {
    std::iota(group_of_.begin(), group_of_.end(), std::size_t{0});
  }

  void run() {
    bool has_joined = false;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const Step& step = draft_.steps[i];
      if (step.dependencies.size() != 1) continue;
      const auto before = static_cast<std::size_t>(step.dependencies.front());
      if (group_of_[before] != before || ends_.contains(before)) continue;
      std::optional<Step> end = end_of(before, i);
      if (!end || !can_end_with(before, *end)) continue;
      group_of_[i] = before;
      ends_.emplace(before, std::move(*end));
      has_joined = true;
    }
    if (!has_joined) return;
    regroup(draft_, group_of_, [&](std::size_t, std::span<const std::size_t> members) {
      return members.size() == 1 ? draft_.steps[members.front()] : joined(members.front(), members.back());
    });
  }

 private:
  /// The step as what another one's last block does, where it can be. Rows only where their numbers are sums that
  /// blocks have drawn: else a kernel of theirs has more than a block.
  std::optional<Step> end_of(std::size_t before, std::size_t number) const {
    const Step& step = draft_.steps[number];
    const auto* first = std::get_if<FusedCommand>(&draft_.steps[before].command->payload);
    if (first == nullptr || first->expression->has_rows() || !step.command->is_declared) return std::nullopt;
    if (makes_elements(*step.command)) return as_fused(draft_, number);
    const bool is_reduction = std::holds_alternative<runtime::ReduceCommand>(step.command->payload);
    const auto* fused = std::get_if<FusedCommand>(&step.command->payload);
    if (!first->expression->has_sums() || (fused == nullptr && !is_reduction)) return std::nullopt;
    if (is_reduction && !FusionGroup::of(draft_, number)) return std::nullopt;
    Step end = as_fused(draft_, number);
    const auto& as_end = std::get<FusedCommand>(end.command->payload);
    if (!as_end.further.empty() || as_end.last != nullptr || !jit::can_be_last(*as_end.expression)) return std::nullopt;
    return end;
  }

  bool can_end_with(std::size_t number, const Step& end) const {
    const runtime::Command& command = *draft_.steps[number].command;
    const auto& fused = std::get<FusedCommand>(command.payload);
    const runtime::Command& last = *end.command;
    if (!command.is_declared || command.device != last.device) return false;
    // What it takes beside its arrays: a table of the parts, where its blocks are counted.
    constexpr std::int64_t own_bytes = 512;
    std::int64_t bytes =
        own_bytes + 2 * std::ssize(last.accesses) * 8 + std::ssize(std::get<FusedCommand>(last.payload).scalars) * 8;
    std::int64_t positions = 0;
    const auto add = [&](const jit::Expression& part) {
      bytes += jit::parameter_bytes(part);
      positions += positions_of(part);
    };
    add(*fused.expression);
    for (const auto& part : fused.further) add(*part);
    const auto limits = runtime::backend(command.device.kind).fusion_limits(command.device.index);
    return positions <= most_positions && bytes <= limits.most_parameter_bytes;
  }

  /// Whether the end touches nothing that the step does, but single elements that the step reads and the end writes.
  static bool is_early(const Step& step, const Step& last) {
    using runtime::AccessMode;
    const auto& fused = std::get<FusedCommand>(step.command->payload);
    const std::size_t arrays = fused.expression->arrays();
    for (std::size_t i = 0; i < step.blocks.size(); ++i) {
      const jit::Expression& part = i < arrays ? *fused.expression : *fused.further[i / arrays - 1];
      const jit::Layout& layout = part.layout(i % arrays);
      const Walked own = walked(step, static_cast<int>(i), layout.type, {});
      const bool is_single = own.access.mode == AccessMode::read && jit::is_read_first(layout);
      for (std::size_t k = 0; k < last.blocks.size(); ++k) {
        const Walked other = walked(last, static_cast<int>(k), layout.type, {});
        const bool reads_both = own.access.mode == AccessMode::read && other.access.mode == AccessMode::read;
        if (own.meets(other) && !reads_both && !is_single) return false;
      }
    }
    return true;
  }

  Step joined(std::size_t number, std::size_t next) {
    const Step& step = draft_.steps[number];
    const Step& last = ends_.at(number);
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
    command.is_last_early = is_early(step, last);
    made.command.payload = std::move(command);
    both.command = made.settled();
    const std::size_t members[] = {number, next};
    both.lane = most_urgent_lane(draft_, members);
    for (const std::size_t member : members) {
      draft_.folded[draft_.steps[member].command->label] = "fused with others";
    }
    draft_.say("last: " + place(*draft_.steps[next].command) + " is what the last block of " + place(*step.command) +
               " does");
    return both;
  }

  Draft& draft_;
  std::vector<std::size_t> group_of_;
  std::map<std::size_t, Step> ends_;  ///< by the step that each is the end of
};

}  // namespace

void append_last(Draft& draft) {
  if (draft.steps.size() <= Ancestors::most_steps) Last(draft).run();
}

}  // namespace refrain::graph
