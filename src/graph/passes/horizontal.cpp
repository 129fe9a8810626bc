// Horizontal fusion: small commands that nothing orders become one, if they are of one structure or go over the same
// positions.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/cost.hpp"
#include "graph/passes/fusion_group.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"
#include "graph/passes/within.hpp"
#include "jit/cuda_source.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
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

/// So that kernels stay within what compilers take, and the pass within its time.
constexpr std::size_t most_instructions = 512;
constexpr std::size_t most_looked_at = 16;

/// A small command that may be one of several in a kernel.
struct Part {
  Step step;  ///< as a fused command
  std::size_t kind = 0;
  std::int64_t parameter_bytes = 0;

  const FusedCommand& command() const { return std::get<FusedCommand>(step.command->payload); }
  const jit::Expression& expression() const { return *command().expression; }
};

using Parts = std::vector<std::optional<Part>>;  ///< by step

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

bool is_small_elementwise(const Step& step) {
  const auto* elementwise = std::get_if<ElementwiseCommand>(&step.command->payload);
  return elementwise != nullptr && step.command->is_declared && elementwise->args.size <= few_positions;
}

/// What is read elsewhere, and reductions, have parameters and a text of their own.
bool can_be_part(const FusedCommand& command) {
  return command.expression->size <= few_positions && is_plain(*command.expression);
}

/// By step: the part that it can be.
Parts parts_of(Draft& draft) {
  const std::vector<std::size_t> users(draft.blocks.size(), several_groups);  // all that it writes is written
  Kinds kinds;
  Parts parts(draft.steps.size());
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    const auto* fused = std::get_if<FusedCommand>(&draft.steps[i].command->payload);
    if (is_small_elementwise(draft.steps[i])) {
      parts[i] = Part{fused_step(draft, *FusionGroup::of(draft, i), i, users)};
    } else if (fused != nullptr && can_be_part(*fused)) {
      parts[i] = Part{draft.steps[i]};
    } else {
      continue;
    }
    parts[i]->kind = kinds.number_of(draft.steps[i].command->device, parts[i]->expression());
    parts[i]->parameter_bytes = jit::parameter_bytes(parts[i]->expression());
  }
  return parts;
}

/// Goes through the steps as they could be issued: what is no part as soon as it can be, parts when nothing else is
/// left, so that many have come together. What is ready at once has no order, and since groups are issued one after
/// another, none waits for itself.
class Agenda {
 public:
  Agenda(const Draft& draft, const Parts& parts)
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
    if (group.size() == 1) add_alike(group, latest, room);
    return group;
  }

  /// Parts of other structures, alone of theirs, at the same positions: together they are one expression.
  void add_alike(std::vector<std::size_t>& group, double latest, std::int64_t room) {
    const Part* axes = &*parts_[group.front()];
    const Device device = draft_.steps[group.front()].command->device;
    std::size_t code = axes->expression().code.size();
    std::size_t looked_at = 0;
    for (auto kind = kinds_.begin(); kind != kinds_.end() && kind->first <= latest && looked_at < most_looked_at;) {
      ++looked_at;
      Earliest& others = waiting_[kind->second];
      const std::size_t step = others.top().second;
      const Part& part = *parts_[step];
      const bool can_along = jit::can_walk_along(part.expression(), axes->expression());
      const bool fits = others.size() == 1 && draft_.steps[step].command->device == device &&
                        (can_along || jit::can_walk_along(axes->expression(), part.expression())) &&
                        code + part.expression().code.size() <= most_instructions && part.parameter_bytes <= room;
      if (!fits) {
        ++kind;
        continue;
      }
      if (!can_along) axes = &part;
      code += part.expression().code.size();
      room -= part.parameter_bytes;
      group.push_back(step);
      others.pop();
      kind = kinds_.erase(kind);
    }
  }

  void issue(std::size_t step, double end) {
    for (const std::size_t next : after_[step]) {
      begin_[next] = std::max(begin_[next], end);
      if (--missing_[next] == 0) is_ready(next);
    }
  }

  const Draft& draft_;
  const Parts& parts_;
  const std::size_t count_;
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::size_t> missing_;
  std::vector<double> begin_;       ///< in microseconds, with as many at once as there are
  std::vector<std::size_t> ready_;  ///< what is no part
  std::vector<Earliest> waiting_;   ///< by kind
  std::set<Waiting> kinds_;         ///< that have parts waiting
};

void add_accesses(const Part& part, runtime::AccessMode mode, MadeCommand& made, Step& step) {
  for (std::size_t k = 0; k < part.step.blocks.size(); ++k) {
    const runtime::Access& access = part.step.command->accesses[k];
    if (access.mode != mode) continue;
    made.accesses.push_back(access);
    step.blocks.push_back(part.step.blocks[k]);
  }
}

/// Whether they stay parts: of one structure, but for few instructions at a single position, which one thread runs.
bool stay_parts(const Parts& parts, std::span<const std::size_t> members) {
  const Part& first = *parts[members.front()];
  if (parts[members.back()]->kind != first.kind) return false;
  const auto is_single = [&](std::size_t member) { return parts[member]->expression().size == 1; };
  return members.size() * first.expression().code.size() > most_instructions ||
         !std::all_of(members.begin(), members.end(), is_single);
}

/// The parts of these steps as one step: of one structure, or at the same positions.
Step joined(Draft& draft, const Parts& parts, std::span<const std::size_t> members) {
  using runtime::AccessMode;
  MadeCommand& made = draft.made.emplace_back();
  const runtime::Command& last = *draft.steps[members.back()].command;
  made.command.device = last.device;
  made.command.where = last.where;
  const Part& first = *parts[members.front()];
  const bool are_parts = stay_parts(parts, members);
  FusedCommand all;
  Step step;
  jit::Expression together;
  for (const std::size_t member : members) {
    const Part& part = *parts[member];
    const int scalars = static_cast<int>(all.scalars.size());
    for (const detail::ParameterUse& use : part.step.command->parameters) {
      made.parameters.push_back({use.state, use.slot + scalars});
    }
    all.scalars.insert(all.scalars.end(), part.command().scalars.begin(), part.command().scalars.end());
    add_accesses(part, AccessMode::write, made, step);
    if (are_parts) {
      add_accesses(part, AccessMode::read, made, step);
      if (all.expression != nullptr) all.further.push_back(part.command().expression);
    } else {
      together = &part == &first ? part.expression() : jit::side_by_side(together, part.expression());
    }
    if (all.expression == nullptr) all.expression = part.command().expression;
  }
  if (!are_parts) {
    for (const std::size_t member : members) add_accesses(*parts[member], AccessMode::read, made, step);
    all.expression = std::make_shared<const jit::Expression>(std::move(together));
  }
  const bool is_of_one_kind = parts[members.back()]->kind == first.kind;
  made.label = std::string(first.step.command->label) +
               (is_of_one_kind ? ", " + std::to_string(members.size()) + " times"
                               : " and " + std::to_string(members.size() - 1) + " others");
  made.command.payload = std::move(all);
  step.command = made.settled();
  step.lane = most_urgent_lane(draft, members);
  return step;
}

}  // namespace

void fuse_horizontally(Draft& draft) {
  if (draft.steps.size() > Ancestors::most_steps) {
    draft.say("horizontal: none, for there are too many commands to compare");
    return;
  }
  const Parts parts = parts_of(draft);
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
    say_are_one(draft, "horizontal", members);
    return joined(draft, parts, members);
  });
}

}  // namespace refrain::graph
