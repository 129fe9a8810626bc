#include "graph/passes/within.hpp"

#include "jit/cuda_source.hpp"

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

/// Writes the larger step with the scalar's instructions first, whose values stand for loads of what it wrote.
class Within {
 public:
  Within(const Step& scalar, const Step& larger)
      : scalar_(scalar),
        larger_(larger),
        small_(std::get<FusedCommand>(scalar.command->payload)),
        large_(std::get<FusedCommand>(larger.command->payload)),
        expression_(*large_.expression) {}

  std::optional<Step> build(Draft& draft) {
    if (std::ssize(small_.expression->code) * expression_.size > most_computed_again) return std::nullopt;
    for (std::size_t k = 0; k < outputs(); ++k) add_access(larger_, k);
    if (!add_inputs_of_larger()) return std::nullopt;
    add_inputs_of_scalar();
    add_code();
    if (expression_.code.size() > most_instructions || jit::parameter_bytes(expression_) > most_parameter_bytes) {
      return std::nullopt;
    }
    FusedCommand command = large_;
    command.scalars.insert(command.scalars.end(), small_.scalars.begin(), small_.scalars.end());
    const int first_scalar = static_cast<int>(large_.scalars.size());
    made_.parameters.assign(larger_.command->parameters.begin(), larger_.command->parameters.end());
    for (const detail::ParameterUse& use : scalar_.command->parameters) {
      made_.parameters.push_back({use.state, use.slot + first_scalar});
    }
    command.expression = std::make_shared<const Expression>(std::move(expression_));
    step_.command = keep(draft, std::move(command));
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
    expression_.scalars.insert(expression_.scalars.end(), small_.expression->scalars.begin(),
                               small_.expression->scalars.end());
  }

  void add_code() {
    const int first_scalar = static_cast<int>(large_.scalars.size());
    expression_.code = small_.expression->code;
    for (Instruction& instruction : expression_.code) {
      if (instruction.kind == Instruction::Kind::load) {
        instruction.number = inputs_of_scalar_[static_cast<std::size_t>(instruction.number)];
      }
      if (instruction.kind == Instruction::Kind::scalar) instruction.number += first_scalar;
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

  const runtime::Command* keep(Draft& draft, FusedCommand payload) {
    MadeCommand& kept = draft.made.emplace_back(std::move(made_));
    kept.label = larger_.command->label;
    kept.command.device = larger_.command->device;
    kept.command.where = larger_.command->where;
    kept.command.payload = std::move(payload);
    kept.command.label = kept.label.c_str();
    kept.command.accesses = kept.accesses;
    kept.command.parameters = kept.parameters;
    return &kept.command;
  }

  const Step& scalar_;
  const Step& larger_;
  const FusedCommand& small_;
  const FusedCommand& large_;
  Expression expression_;
  std::vector<int> inputs_;            ///< of the larger one: their numbers now, or -1 - the result that they are
  std::vector<int> inputs_of_scalar_;  ///< their numbers now
  MadeCommand made_;
  Step step_;
};

}  // namespace

bool is_plain(const Expression& expression) {
  return expression.draws.empty() && expression.reductions.empty() && !expression.is_moved();
}

std::optional<Step> computed_within(Draft& draft, const Step& scalar, const Step& larger) {
  return Within(scalar, larger).build(draft);
}

}  // namespace refrain::graph
