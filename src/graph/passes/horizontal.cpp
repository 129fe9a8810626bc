// Horizontal fusion: small commands of one structure that nothing orders become parts of one command.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/cost.hpp"
#include "graph/passes/fusion_group.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"
#include "jit/cuda_source.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::ElementwiseCommand;
using runtime::FusedCommand;

/// Bytes of parameters that say which blocks are whose; more than it takes.
constexpr std::int64_t table_bytes = 256;

/// A small command that may be one of several in a kernel.
struct Part {
  Step step;  ///< as a fused command
  std::size_t kind = 0;
  std::int64_t parameter_bytes = 0;
};

/// Devices and structures that parts of one command have in common, numbered.
class Kinds {
 public:
  std::size_t number_of(Device device, const jit::Expression& expression) {
    jit::Expression structure = jit::structure_of(expression);
    auto& alike = by_hash_[hash_of(structure)];
    for (const auto& [number, kind] : alike) {
      if (kind.first == device && kind.second == structure) return number;
    }
    alike.emplace_back(count_, Kind{device, std::move(structure)});
    return count_++;
  }

 private:
  using Kind = std::pair<Device, jit::Expression>;

  static std::size_t hash_of(const jit::Expression& structure) {
    std::size_t hash = structure.inputs.size() * 31 + structure.outputs.size();
    for (const jit::Instruction& instruction : structure.code) {
      const auto first = static_cast<std::size_t>(instruction.operands[0] + 1);
      hash = hash * 1099511628211U + static_cast<std::size_t>(instruction.op) * 4096 + first * 16 +
             static_cast<std::size_t>(instruction.type);
    }
    return hash;
  }

  std::map<std::size_t, std::vector<std::pair<std::size_t, Kind>>> by_hash_;
  std::size_t count_ = 0;
};

/// What an elementwise command can only be a part with others of.
using Likeness = std::tuple<kernels::ElementwiseOp, kernels::Type, kernels::Type, int>;

std::optional<Likeness> likeness_of(const Step& step) {
  const auto* elementwise = std::get_if<ElementwiseCommand>(&step.command->payload);
  if (elementwise == nullptr || !step.command->is_declared) return std::nullopt;
  const kernels::ElementwiseArgs& args = elementwise->args;
  if (args.size > few_positions) return std::nullopt;
  return Likeness{args.op, args.in_type, args.out_type, args.input_count};
}

/// What is read elsewhere, and reductions, have parameters and a text of their own.
bool can_be_part(const FusedCommand& command) {
  const jit::Expression& expression = *command.expression;
  return command.draws.empty() && expression.size <= few_positions && expression.reductions.empty() &&
         !expression.is_moved();
}

/// By step: the part that it can be.
std::vector<std::optional<Part>> parts_of(Draft& draft) {
  std::map<Likeness, int> alike;
  for (const Step& step : draft.steps) {
    if (const auto likeness = likeness_of(step)) ++alike[*likeness];
  }
  const std::vector<std::size_t> users(draft.blocks.size(), several_groups);  // all that it writes is written
  Kinds kinds;
  std::vector<std::optional<Part>> parts(draft.steps.size());
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    const auto* fused = std::get_if<FusedCommand>(&draft.steps[i].command->payload);
    const auto likeness = likeness_of(draft.steps[i]);
    if (likeness && alike[*likeness] > 1) {
      parts[i] = Part{fused_step(draft, *FusionGroup::of(draft, i), i, users)};
    } else if (fused != nullptr && can_be_part(*fused)) {
      parts[i] = Part{draft.steps[i]};
    } else {
      continue;
    }
    const jit::Expression& expression = *std::get<FusedCommand>(parts[i]->step.command->payload).expression;
    parts[i]->kind = kinds.number_of(draft.steps[i].command->device, expression);
    parts[i]->parameter_bytes = jit::parameter_bytes(expression);
  }
  return parts;
}

/// Goes through the steps as they could be issued: what is no part as soon as it can be, parts when nothing else is
/// left, so that many have come together. What is ready at once has no order, and since groups are issued one after
/// another, none waits for itself.
class Agenda {
 public:
  Agenda(const Draft& draft, const std::vector<std::optional<Part>>& parts)
      : draft_(draft), parts_(parts), count_(draft.steps.size()), after_(count_), missing_(count_), begin_(count_, 0) {
    for (std::size_t i = 0; i < count_; ++i) {
      missing_[i] = draft.steps[i].dependencies.size();
      for (const int before : draft.steps[i].dependencies) after_[static_cast<std::size_t>(before)].push_back(i);
    }
    for (const auto& part : parts) {
      if (part && part->kind >= waiting_.size()) waiting_.resize(part->kind + 1);
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (missing_[i] == 0) is_ready(i);
    }
  }

  /// By step, one of those that it is a part with.
  std::vector<std::size_t> groups() && {
    std::vector<std::size_t> group_of(count_);
    for (;;) {
      const std::vector<std::size_t> group = next();
      if (group.empty()) return group_of;
      double begin = 0;
      double longest = 0;
      for (const std::size_t step : group) {
        group_of[step] = group.front();
        begin = std::max(begin, begin_[step]);
        longest = std::max(longest, estimate_us(*draft_.steps[step].command));
      }
      for (const std::size_t step : group) issue(step, begin + longest);
    }
  }

 private:
  using Waiting = std::pair<double, std::size_t>;  // when it could begin, and what: a step, or a kind's first
  using Earliest = std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>;

  void is_ready(std::size_t step) {
    if (!parts_[step]) {
      ready_.push_back(step);
      return;
    }
    const std::size_t kind = parts_[step]->kind;
    Earliest& others = waiting_[kind];
    if (!others.empty()) kinds_.erase({others.top().first, kind});
    others.emplace(begin_[step], step);
    kinds_.emplace(others.top().first, kind);
  }

  std::vector<std::size_t> next() {
    std::vector<std::size_t> group;
    if (!ready_.empty()) {
      group = {ready_.back()};
      ready_.pop_back();
      return group;
    }
    if (kinds_.empty()) return group;
    const std::size_t kind = kinds_.begin()->second;
    kinds_.erase(kinds_.begin());
    Earliest& all = waiting_[kind];
    const double latest = all.top().first + most_delay_us();
    const Device device = draft_.steps[all.top().second].command->device;
    std::int64_t room = runtime::backend(device.kind).fusion_limits(device.index).most_parameter_bytes - table_bytes;
    while (!all.empty() && all.top().first <= latest) {
      const std::size_t step = all.top().second;
      room -= parts_[step]->parameter_bytes;
      if (room < 0 && !group.empty()) break;
      group.push_back(step);
      all.pop();
    }
    if (!all.empty()) kinds_.emplace(all.top().first, kind);
    return group;
  }

  void issue(std::size_t step, double end) {
    for (const std::size_t next : after_[step]) {
      begin_[next] = std::max(begin_[next], end);
      if (--missing_[next] == 0) is_ready(next);
    }
  }

  const Draft& draft_;
  const std::vector<std::optional<Part>>& parts_;
  const std::size_t count_;
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::size_t> missing_;
  std::vector<double> begin_;       ///< in microseconds, with as many at once as there are
  std::vector<std::size_t> ready_;  ///< what is no part
  std::vector<Earliest> waiting_;   ///< by kind
  std::set<Waiting> kinds_;         ///< that have parts waiting
};

/// The parts of these steps as one step.
Step joined(Draft& draft, const std::vector<std::optional<Part>>& parts, std::span<const std::size_t> members) {
  MadeCommand& made = draft.made.emplace_back();
  const runtime::Command& last = *draft.steps[members.back()].command;
  made.command.device = last.device;
  made.command.where = last.where;
  FusedCommand all;
  Step step;
  for (const std::size_t member : members) {
    const Step& part = parts[member]->step;
    const auto& own = std::get<FusedCommand>(part.command->payload);
    const int scalars = static_cast<int>(all.scalars.size());
    for (const detail::ParameterUse& use : part.command->parameters) {
      made.parameters.push_back({use.state, use.slot + scalars});
    }
    if (all.expression == nullptr) {
      all.expression = own.expression;
    } else {
      all.further.push_back(own.expression);
    }
    all.scalars.insert(all.scalars.end(), own.scalars.begin(), own.scalars.end());
    made.accesses.insert(made.accesses.end(), part.command->accesses.begin(), part.command->accesses.end());
    step.blocks.insert(step.blocks.end(), part.blocks.begin(), part.blocks.end());
  }
  made.command.payload = std::move(all);
  made.label =
      std::string(parts[members.front()]->step.command->label) + ", " + std::to_string(members.size()) + " times";
  made.command.label = made.label.c_str();
  made.command.accesses = made.accesses;
  made.command.parameters = made.parameters;
  step.command = &made.command;
  step.lane = most_urgent_lane(draft, members);
  return step;
}

}  // namespace

void fuse_horizontally(Draft& draft) {
  if (draft.steps.size() > Ancestors::most_steps) {
    draft.say("horizontal: none, for there are too many commands to compare");
    return;
  }
  const std::vector<std::optional<Part>> parts = parts_of(draft);
  if (std::count_if(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); }) < 2) return;
  const std::vector<std::size_t> group_of = Agenda(draft, parts).groups();
  const auto is_with_another = [&](std::size_t step) { return group_of[step] != step; };
  bool has_joined = false;
  for (std::size_t i = 0; i < group_of.size(); ++i) has_joined = has_joined || is_with_another(i);
  if (!has_joined) return;
  // Asked last, for the answer may take the loading of a library.
  if (const std::string why_not = runtime::backend(draft.program.device.kind).why_no_fusion(); !why_not.empty()) {
    draft.say("horizontal: none, for " + why_not, Severity::warning);
    return;
  }
  regroup(draft, group_of, [&](std::size_t, std::span<const std::size_t> members) {
    if (members.size() == 1) return draft.steps[members.front()];
    std::string names;
    for (const std::size_t member : members) {
      const runtime::Command& command = *draft.steps[member].command;
      draft.folded[command.label] = "fused with others";
      if (names.size() < 400) names += (names.empty() ? "" : ", ") + place(command);
    }
    draft.say("horizontal: " + std::to_string(members.size()) + " commands are one: " + names);
    return joined(draft, parts, members);
  });
}

}  // namespace refrain::graph
