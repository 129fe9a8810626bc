#include "graph/passes/within.hpp"

#include "graph/passes/fusion_group.hpp"
#include "jit/cuda_source.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace refrain::graph {

using jit::Expression;
using jit::Instruction;
using jit::Layout;
using runtime::FusedCommand;

namespace {

// So that source and parameters stay within what compilers and launches take.
constexpr std::size_t most_instructions = 512;
constexpr std::int64_t most_parameter_bytes = 16 * 1024;

/// Ops times positions up to which a value of one element is computed at each position that reads it: with 20
/// instructions an op, of which the device issues 3e7 a microsecond, 0.7 us in place of a kernel.
constexpr std::int64_t most_computed_again = 1 << 20;

const runtime::Command* keep(Draft& draft, MadeCommand made, FusedCommand payload, const runtime::Command& like) {
  MadeCommand& kept = draft.made.emplace_back(std::move(made));
  kept.label = like.label;
  kept.command.device = like.device;
  kept.command.where = like.where;
  kept.command.payload = std::move(payload);
  return kept.settled();
}

/// Writes the larger step with the scalar's instructions first, whose values stand for loads of what it wrote.
class Within {
 public:
  Within(const Step& scalar, const Step& larger)
      : scalar_(scalar),
        larger_(larger),
        small_(std::get<FusedCommand>(scalar.command->payload)),
        large_(std::get<FusedCommand>(larger.command->payload)),
        expression_(*large_.expression),
        scalars_(large_.scalars) {}

  std::optional<Step> build(Draft& draft) {
    if (std::ssize(small_.expression->code) * expression_.size > most_computed_again) return std::nullopt;
    for (std::size_t k = 0; k < outputs(); ++k) add_access(larger_, k);
    if (!add_inputs_of_larger()) return std::nullopt;
    add_inputs_of_scalar();
    for (std::size_t i = 0; i < small_.scalars.size(); ++i) add_scalar(i);
    add_code();
    if (expression_.code.size() > most_instructions || jit::parameter_bytes(expression_) > most_parameter_bytes) {
      return std::nullopt;
    }
    FusedCommand command = large_;
    command.scalars = std::move(scalars_);
    made_.parameters.assign(larger_.command->parameters.begin(), larger_.command->parameters.end());
    for (const detail::ParameterUse& use : scalar_.command->parameters) {
      made_.parameters.push_back({use.state, scalars_of_scalar_[static_cast<std::size_t>(use.slot)]});
    }
    command.expression = std::make_shared<const Expression>(std::move(expression_));
    step_.command = keep(draft, std::move(made_), std::move(command), *larger_.command);
    step_.dependencies = larger_.dependencies;
    step_.lane = larger_.lane;
    return std::move(step_);
  }

 private:
  std::size_t outputs() const { return large_.expression->outputs.size(); }
  std::size_t results() const { return small_.expression->outputs.size(); }

  void add_access(const Step& from, std::size_t access) {
    made_.accesses.push_back(from.command->accesses[access]);
    step_.blocks.push_back(from.blocks[access]);
  }

  /// The scalar's output that an access of the larger step reads from; none: `results()`.
  std::size_t result_of(std::size_t access) const {
    std::size_t k = 0;
    while (k < results() && scalar_.blocks[k] != larger_.blocks[access]) ++k;
    return k;
  }

  /// Keeps those that are no results; whether the others read just the results.
  bool add_inputs_of_larger() {
    expression_.inputs.clear();
    for (std::size_t i = 0; i < large_.expression->inputs.size(); ++i) {
      const Layout& layout = large_.expression->inputs[i];
      const std::size_t access = outputs() + i;
      const std::size_t result = result_of(access);
      if (result == results()) {
        inputs_.push_back(static_cast<int>(expression_.inputs.size()));
        expression_.inputs.push_back(layout);
        add_access(larger_, access);
        continue;
      }
      const runtime::Access& written = scalar_.command->accesses[result];
      const runtime::Access& read = larger_.command->accesses[access];
      const bool is_here = layout.wraps.empty() && !layout.taken && layout.window < 0;
      if (written.begin != read.begin || written.end != read.end || !is_here ||
          layout.type != small_.expression->outputs[result].type || (!layout.is_single && expression_.size != 1)) {
        return false;
      }
      inputs_.push_back(-1 - static_cast<int>(result));
    }
    return true;
  }

  void add_inputs_of_scalar() {
    for (std::size_t i = 0; i < small_.expression->inputs.size(); ++i) {
      Layout layout;
      layout.type = small_.expression->inputs[i].type;
      layout.is_dense = false;
      layout.is_single = true;
      inputs_of_scalar_.push_back(static_cast<int>(expression_.inputs.size()));
      expression_.inputs.push_back(layout);
      add_access(scalar_, results() + i);
    }
  }

  static bool is_parameter(const Step& step, std::size_t scalar) {
    const auto& uses = step.command->parameters;
    return std::any_of(uses.begin(), uses.end(),
                       [&](const detail::ParameterUse& use) { return use.slot == static_cast<int>(scalar); });
  }

  /// The larger one's scalar that is the same constant; a new one if there is none.
  void add_scalar(std::size_t number) {
    const kernels::Type type = small_.expression->scalars[number];
    const kernels::u64 bits = kernels::scalar_bits(type, small_.scalars[number]);
    std::size_t same = is_parameter(scalar_, number) ? large_.scalars.size() : 0;
    while (same < large_.scalars.size() && (large_.expression->scalars[same] != type || is_parameter(larger_, same) ||
                                            kernels::scalar_bits(type, large_.scalars[same]) != bits)) {
      ++same;
    }
    if (same == large_.scalars.size()) {
      same = scalars_.size();
      expression_.scalars.push_back(type);
      scalars_.push_back(small_.scalars[number]);
    }
    scalars_of_scalar_.push_back(static_cast<int>(same));
  }

  void add_code() {
    expression_.code = small_.expression->code;
    for (Instruction& instruction : expression_.code) {
      if (instruction.kind == Instruction::Kind::load) {
        instruction.number = inputs_of_scalar_[static_cast<std::size_t>(instruction.number)];
      }
      if (instruction.kind == Instruction::Kind::scalar) {
        instruction.number = scalars_of_scalar_[static_cast<std::size_t>(instruction.number)];
      }
    }
    std::vector<int> became;
    for (Instruction instruction : large_.expression->code) {
      for (int& operand : instruction.operands) {
        if (operand >= 0) operand = became[static_cast<std::size_t>(operand)];
      }
      if (instruction.kind == Instruction::Kind::load || instruction.kind == Instruction::Kind::take) {
        instruction.number = inputs_[static_cast<std::size_t>(instruction.number)];
        if (instruction.number < 0) {
          became.push_back(small_.expression->results[static_cast<std::size_t>(-1 - instruction.number)]);
          continue;
        }
      }
      became.push_back(static_cast<int>(expression_.code.size()));
      expression_.code.push_back(instruction);
    }
    for (int& result : expression_.results) result = became[static_cast<std::size_t>(result)];
  }

  const Step& scalar_;
  const Step& larger_;
  const FusedCommand& small_;
  const FusedCommand& large_;
  Expression expression_;
  std::vector<int> inputs_;            ///< of the larger one: their numbers now, or -1 - the result that they are
  std::vector<int> inputs_of_scalar_;  ///< their numbers now
  std::vector<kernels::Value> scalars_;
  std::vector<int> scalars_of_scalar_;  ///< their numbers now
  MadeCommand made_;
  Step step_;
};

}  // namespace

bool is_plain(const Expression& expression) {
  return expression.draws.empty() && expression.reductions.empty() && !expression.is_moved();
}

bool makes_elements(const runtime::Command& command) {
  if (!command.is_declared) return false;
  if (const auto* fused = std::get_if<FusedCommand>(&command.payload)) {
    return fused->expression->size == 1 && is_plain(*fused->expression) && fused->further.empty() &&
           fused->last == nullptr;
  }
  const auto* elementwise = std::get_if<runtime::ElementwiseCommand>(&command.payload);
  return elementwise != nullptr && elementwise->args.size == 1;
}

Step as_fused(Draft& draft, std::size_t number) {
  const Step& step = draft.steps[number];
  if (std::holds_alternative<FusedCommand>(step.command->payload)) return step;
  const std::vector<std::size_t> users(draft.blocks.size(), several_groups);  // all that it writes is written
  Step fused = fused_step(draft, *FusionGroup::of(draft, number), number, users);
  MadeCommand& made = draft.made.back();
  made.label = step.command->label;
  made.settled();
  fused.dependencies = step.dependencies;
  return fused;
}

std::optional<Step> computed_within(Draft& draft, const Step& scalar, const Step& larger) {
  return Within(scalar, larger).build(draft);
}

Step with_outputs(Draft& draft, const Step& step, const std::vector<bool>& is_kept) {
  FusedCommand command = std::get<FusedCommand>(step.command->payload);
  Expression expression = *command.expression;
  const std::size_t outputs = expression.outputs.size();
  expression.outputs.clear();
  expression.results.clear();
  MadeCommand made;
  Step rest;
  for (std::size_t k = 0; k < step.blocks.size(); ++k) {
    if (k < outputs && !is_kept[k]) continue;
    made.accesses.push_back(step.command->accesses[k]);
    rest.blocks.push_back(step.blocks[k]);
    if (k >= outputs) continue;
    expression.outputs.push_back(command.expression->outputs[k]);
    expression.results.push_back(command.expression->results[k]);
  }
  command.expression = std::make_shared<const Expression>(std::move(expression));
  made.parameters.assign(step.command->parameters.begin(), step.command->parameters.end());
  rest.command = keep(draft, std::move(made), std::move(command), *step.command);
  rest.lane = step.lane;
  return rest;
}

}  // namespace refrain::graph
