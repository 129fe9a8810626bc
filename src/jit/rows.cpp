#include "jit/rows.hpp"

#include <algorithm>
#include <cstddef>

namespace refrain::jit {

using Kind = Instruction::Kind;

bool has_lines(const Expression& expression, const Layout& layout) {
  for (int axis = expression.row_axis() + 1; axis < expression.ndim; ++axis) {
    if (layout.strides[axis - 1] != layout.strides[axis] * expression.extents[axis]) return false;
  }
  return !layout.taken && std::all_of(layout.wraps.begin(), layout.wraps.end(),
                                      [&](const Wrap& wrap) { return wrap.last < expression.row_axis(); });
}

bool is_line(const Expression& expression, const Layout& layout) {
  return layout.window < 0 && has_lines(expression, layout);
}

RowPlan::RowPlan(const Expression& expression) {
  const auto& code = expression.code;
  const auto operand = [&](std::size_t i, int k) { return static_cast<std::size_t>(code[i].operands[k]); };
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code[i];
    int first = 0;
    bool all_rows = true;
    for (int k = 0; k < instruction.operand_count(); ++k) {
      first = std::max(first, phase[operand(i, k)]);
      all_rows = all_rows && is_of_rows[operand(i, k)];
    }
    const auto number = static_cast<std::size_t>(instruction.number);
    if (instruction.kind == Kind::load || instruction.kind == Kind::take) {
      all_rows = all_rows && expression.is_of_rows(expression.inputs[number]);
    }
    if (instruction.kind == Kind::choose) all_rows = all_rows && expression.has_whole_rows(expression.windows[number]);
    const bool is_reduction = instruction.kind == Kind::reduce;
    is_of_rows.push_back(is_reduction || all_rows);
    phase.push_back(first + (is_reduction ? 1 : 0));
    if (is_reduction) phases = std::max(phases, first + 2);
  }
  computed_in.assign(code.size(), -1);
  is_kept.assign(code.size(), false);
  last_use.assign(code.size(), -1);
  const auto need = [&](std::size_t i, int in) {
    int& at = computed_in[i];
    at = at < 0 ? in : std::min(at, in);
    last_use[i] = std::max(last_use[i], in);
  };
  for (const int result : expression.results) need(static_cast<std::size_t>(result), phases - 1);
  for (std::size_t i = code.size(); i-- > 0;) {
    if (computed_in[i] < 0) continue;
    // One value a row costs nothing to keep.
    if (is_of_rows[i]) computed_in[i] = phase[i];
    is_kept[i] = !is_of_rows[i] && last_use[i] > computed_in[i];
    const int users_phase = code[i].kind == Kind::reduce ? phase[i] - 1 : computed_in[i];
    for (int k = 0; k < code[i].operand_count(); ++k) need(operand(i, k), users_phase);
  }
}

bool is_placed(const Expression& expression, const RowPlan& plan, std::size_t instruction) {
  const Instruction& load = expression.code[instruction];
  if (load.kind != Kind::load || plan.is_of_rows[instruction]) return false;
  return !is_line(expression, expression.inputs[static_cast<std::size_t>(load.number)]);
}

bool is_computed(const Expression& expression, const RowPlan& plan, std::size_t instruction) {
  const Kind kind = expression.code[instruction].kind;
  return kind == Kind::op || kind == Kind::take || kind == Kind::choose || is_placed(expression, plan, instruction);
}

bool is_late(const Expression& expression, const RowPlan& plan, std::size_t instruction) {
  const int kept = expression.row_axis();
  if (kept == 0 || plan.is_of_rows[instruction] || plan.computed_in[instruction] + 1 < plan.phases) return false;
  const Layout& of = expression.inputs[static_cast<std::size_t>(expression.code[instruction].number)];
  return of.wraps.empty() &&
         std::all_of(of.strides, of.strides + kept, [](std::int64_t stride) { return stride == 0; });
}

int rows_kept(const Expression& expression, const RowPlan& plan) {
  int most = 0;
  for (int phase = 0; phase + 1 < plan.phases; ++phase) {
    int kept = 0;
    for (std::size_t i = 0; i < expression.code.size(); ++i) {
      const bool is_loaded = expression.code[i].kind == Kind::load && !is_placed(expression, plan, i) &&
                             !is_late(expression, plan, i) && !plan.is_of_rows[i];
      const bool is_value = is_computed(expression, plan, i) && plan.is_kept[i] && plan.computed_in[i] <= phase;
      if ((is_loaded || is_value) && plan.last_use[i] > phase) ++kept;
    }
    most = std::max(most, kept);
  }
  return most;
}

bool has_read_rows(const Expression& expression, const RowPlan& plan) {
  const std::vector<Instruction>& code = expression.code;
  std::vector<bool> is_used(code.size(), false);
  for (std::size_t i = code.size(); i-- > 0;) {
    const bool is_last = code[i].kind == Instruction::Kind::reduce && plan.computed_in[i] == plan.phases - 1;
    if (!is_last && !is_used[i]) continue;
    for (int k = 0; k < code[i].operand_count(); ++k) is_used[static_cast<std::size_t>(code[i].operands[k])] = true;
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].kind == Instruction::Kind::load && plan.is_of_rows[i] && !is_used[i]) return false;
  }
  return true;
}

}  // namespace refrain::jit
