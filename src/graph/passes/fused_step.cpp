#include "graph/passes/fusion_group.hpp"
#include "graph/passes/moved.hpp"
#include "graph/passes/regroup.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace refrain::graph {

using jit::Expression;
using jit::Instruction;
using runtime::ElementwiseCommand;
using runtime::FusedCommand;
using runtime::MoveCommand;
using runtime::RandomCommand;
using runtime::ReduceCommand;

namespace {

/// Runs through a group's steps and writes down what becomes of each value.
class Builder {
 public:
  Builder(const Draft& draft, const FusionGroup& group, std::size_t number, const std::vector<std::size_t>& only_users)
      : draft_(draft), group_(group), number_(number), only_users_(only_users) {}

  /// Fills in the command; its blocks are returned.
  std::vector<int> build(MadeCommand& made) {
    for (const std::size_t number : group_.steps()) {
      const Step& step = draft_.steps[number];
      if (const auto* draw = std::get_if<RandomCommand>(&step.command->payload)) {
        write(step, add_draw(*draw));
      } else if (const auto* reduction = std::get_if<ReduceCommand>(&step.command->payload)) {
        write(step, add_reduction(step, *reduction));
      } else if (std::holds_alternative<MoveCommand>(step.command->payload)) {
        write(step, add_move(step));
      } else {
        write(step, add_op(step, made));
      }
    }
    return finish(made);
  }

 private:
  /// An array whose value at each position is known.
  struct Known {
    Walked array;
    int value;
    bool is_loaded;
    bool is_written;
  };

  Walked along_group(Walked array, const Step& step) const {
    if (const Placement* placement = group_.placement_of(static_cast<std::size_t>(&step - draft_.steps.data()))) {
      return refined(placed(std::move(array), *placement), placement->axes, group_.extents());
    }
    return refined(std::move(array), extents_of(step), group_.extents());
  }

  Known* find(const Walked& array) {
    const auto known =
        std::find_if(known_.begin(), known_.end(), [&](const Known& each) { return each.array.is_same(array); });
    return known == known_.end() ? nullptr : &*known;
  }

  /// The array as all positions have it, if they have it, of one that is walked at some of them.
  Known* find_whole(const Walked& array) {
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& each) {
      return !each.array.window && each.array.is_alike(array);
    });
    return known == known_.end() ? nullptr : &*known;
  }

  int number_of(const Window& window) {
    const auto known = std::find(windows_.begin(), windows_.end(), window);
    if (known != windows_.end()) return static_cast<int>(known - windows_.begin());
    windows_.push_back(window);
    return static_cast<int>(windows_.size()) - 1;
  }

  /// The number of an instruction: of an equal one, if there is one already.
  int add(const Instruction& instruction) {
    const auto [first, last] = by_operands_.equal_range(key_of(instruction));
    const auto same = std::find_if(
        first, last, [&](const auto& entry) { return code_[static_cast<std::size_t>(entry.second)] == instruction; });
    if (same != last) return same->second;
    const int number = static_cast<int>(code_.size());
    code_.push_back(instruction);
    by_operands_.emplace(key_of(instruction), number);
    return number;
  }

  /// Few instructions have the same.
  static std::uint64_t key_of(const Instruction& instruction) {
    std::uint64_t key =
        static_cast<std::uint64_t>(instruction.number) * 8 + static_cast<std::uint64_t>(instruction.kind);
    for (const int operand : instruction.operands)
      key = key * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(operand);
    return key;
  }

  int add_draw(const RandomCommand& draw) {
    Instruction instruction;
    instruction.kind = Instruction::Kind::draw;
    instruction.type = draw.args.type;
    instruction.number = static_cast<int>(fused_.draws.size());
    fused_.draws.push_back(draw);
    fused_.draws.back().args.out = nullptr;
    return add(instruction);
  }

  int load(const Walked& array) {
    if (const Known* whole = find_whole(array)) return whole->value;
    if (const Known* known = find(array)) return known->value;
    Instruction instruction;
    instruction.kind = Instruction::Kind::load;
    instruction.type = array.type;
    instruction.number = static_cast<int>(known_.size());  // until the inputs are numbered
    const int value = add(instruction);
    known_.push_back({array, value, true, false});
    if (array.window) number_of(*array.window);
    return value;
  }

  int add_move(const Step& step) {
    const Walked from = along_group(moved_input_of(step), step);
    if (!from.taken) return load(from);
    const Walked indices = along_group(indices_of(step), step);
    Instruction instruction;
    instruction.kind = Instruction::Kind::take;
    instruction.type = from.type;
    instruction.in_type = indices.type;
    instruction.operands[0] = load(indices);
    if (find(from) == nullptr) known_.push_back({from, -1, true, false});
    instruction.number = static_cast<int>(find(from) - known_.data());  // until the inputs are numbered
    return add(instruction);
  }

  int add_scalar(kernels::Type type, kernels::Value value, const detail::ParameterState* parameter, MadeCommand& made) {
    const kernels::u64 bits = kernels::scalar_bits(type, value);
    for (std::size_t i = 0; parameter == nullptr && i < scalars_.size(); ++i) {
      const auto& other = scalars_[i];
      if (other.type == type && other.bits == bits && !other.is_parameter) return other.value;
    }
    Instruction instruction;
    instruction.kind = Instruction::Kind::scalar;
    instruction.type = type;
    instruction.number = static_cast<int>(fused_.scalars.size());
    if (parameter != nullptr) made.parameters.push_back({parameter, instruction.number});
    fused_.scalars.push_back(value);
    scalars_.push_back({type, bits, parameter != nullptr, add(instruction)});
    return scalars_.back().value;
  }

  int add_op(const Step& step, MadeCommand& made) {
    const auto& command = std::get<ElementwiseCommand>(step.command->payload);
    const auto& args = command.args;
    Instruction instruction;
    instruction.op = args.op;
    instruction.type = args.out_type;
    instruction.in_type = args.in_type;
    for (int k = 0; k < args.input_count; ++k) {
      if (command.in_access[static_cast<std::size_t>(k)] >= 0) {
        instruction.operands[k] = load(along_group(input_of(step, k), step));
        continue;
      }
      const detail::ParameterState* parameter = nullptr;
      for (const detail::ParameterUse& use : step.command->parameters) {
        if (use.slot == k) parameter = use.state;
      }
      instruction.operands[k] = add_scalar(kernels::input_type(args, k), args.inputs[k].scalar, parameter, made);
    }
    const bool is_same = args.op == kernels::ElementwiseOp::copy && args.in_type == args.out_type;
    return is_same ? instruction.operands[0] : add(instruction);
  }

  int add_reduction(const Step& step, const ReduceCommand& command) {
    const kernels::ReduceArgs& args = command.args;
    int value = load(along_group(input_of(step, 0), step));
    if (args.op == kernels::ReduceOp::softmax) return add_softmax(value, args.in_type);
    jit::Reduction reduction{args.op, args.in_type, args.acc_type, args.out_type, args.divisor, args.root};
    if (args.op == kernels::ReduceOp::dot) {  // a sum of products, each rounded
      Instruction product;
      product.op = kernels::ElementwiseOp::mul;
      product.type = product.in_type = args.in_type;
      product.operands[0] = value;
      product.operands[1] = load(along_group(input_of(step, 1), step));
      value = add(product);
      reduction.op = kernels::ReduceOp::sum;
    }
    if (args.op != kernels::ReduceOp::var) return add_reduction(reduction, value, -1);
    const jit::Reduction mean{kernels::ReduceOp::sum,      args.in_type, args.acc_type, args.in_type,
                              static_cast<double>(args.n), false};
    const int center = command.has_other ? load(along_group(input_of(step, 1), step)) : add_reduction(mean, value, -1);
    return add_reduction(reduction, value, center);
  }

  /// Powers by their sum: of 16-bit types in float32, as the command has them.
  int add_softmax(int value, kernels::Type type) {
    using kernels::ElementwiseOp;
    using kernels::Type;
    const Type wide = type == Type::float64 ? Type::float64 : Type::float32;
    const auto op = [&](ElementwiseOp of, Type out, Type in, int a, int b) {
      Instruction instruction;
      instruction.op = of;
      instruction.type = out;
      instruction.in_type = in;
      instruction.operands[0] = a;
      instruction.operands[1] = b;
      return of == ElementwiseOp::copy && out == in ? a : add(instruction);
    };
    const int largest = add_reduction({kernels::ReduceOp::max, type, type, type}, value, -1);
    const int distance = op(ElementwiseOp::sub, wide, wide, op(ElementwiseOp::copy, wide, type, value, -1),
                            op(ElementwiseOp::copy, wide, type, largest, -1));
    const int power = op(ElementwiseOp::exp, wide, wide, distance, -1);
    const int total = add_reduction({kernels::ReduceOp::sum, wide, Type::float64, wide}, power, -1);
    return op(ElementwiseOp::copy, type, wide, op(ElementwiseOp::div, wide, wide, power, total), -1);
  }

  int add_reduction(const jit::Reduction& reduction, int value, int center) {
    const auto known = std::find(reductions_.begin(), reductions_.end(), reduction);
    Instruction instruction;
    instruction.kind = Instruction::Kind::reduce;
    instruction.type = reduction.out_type;
    instruction.in_type = reduction.in_type;
    instruction.operands[0] = value;
    instruction.operands[1] = center;
    instruction.number = static_cast<int>(known - reductions_.begin());
    if (known == reductions_.end()) reductions_.push_back(reduction);
    return add(instruction);
  }

  void write(const Step& step, int value) {
    const Walked array = along_group(output_of(step), step);
    if (array.window) {
      Known& whole = *find_whole(array);  // the group has been joined by it
      Instruction choose;
      choose.kind = Instruction::Kind::choose;
      choose.type = array.type;
      choose.operands[0] = value;
      choose.operands[1] = whole.value;
      choose.number = number_of(*array.window);
      whole.value = add(choose);
    } else if (Known* known = find(array)) {
      known->value = value;
      known->is_written = true;
    } else {
      known_.push_back({array, value, false, true});
    }
  }

  bool is_stored(const Known& known) const {
    const auto block = static_cast<std::size_t>(known.array.block);
    return known.is_written && (!draft_.blocks[block].is_temporary || only_users_[block] != number_);
  }

  std::vector<int> finish(MadeCommand& made) {
    auto expression = std::make_shared<Expression>();
    std::vector<const Known*> arrays;
    std::vector<int> blocks;
    std::vector<int> input_numbers(known_.size(), -1);
    const auto add_array = [&](const Known& known, runtime::AccessMode mode) {
      arrays.push_back(&known);
      blocks.push_back(known.array.block);
      made.accesses.push_back(known.array.access);
      made.accesses.back().mode = mode;
    };
    for (const Known& known : known_) {
      if (!is_stored(known)) continue;
      expression->results.push_back(known.value);
      add_array(known, runtime::AccessMode::write);
    }
    const std::size_t outputs = arrays.size();
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (!known_[i].is_loaded) continue;
      input_numbers[i] = static_cast<int>(arrays.size() - outputs);
      add_array(known_[i], runtime::AccessMode::read);
    }
    for (Instruction& instruction : code_) {
      if (instruction.kind == Instruction::Kind::load || instruction.kind == Instruction::Kind::take) {
        instruction.number = input_numbers[static_cast<std::size_t>(instruction.number)];
      }
    }
    expression->code = std::move(code_);
    expression->reductions = std::move(reductions_);
    expression->parts = group_.parts();
    expression->grid = group_.grid();
    expression->is_contracted = draft_.math == Math::fast;
    for (const RandomCommand& draw : fused_.draws) {
      jit::Draw made_draw{draw.args.distribution, draw.args.type, !draw.absolute};
      made_draw.is_unit = draw.args.distribution == kernels::Distribution::uniform && draw.args.first == 0 &&
                          !std::signbit(draw.args.first) && draw.args.second == 1;
      for (std::size_t i = expression->draws.size(); made_draw.is_counted && i-- > 0;) {
        const RandomCommand& other = fused_.draws[i];
        if (!other.absolute && other.number == draw.number) made_draw.same_as = static_cast<int>(i);
      }
      expression->draws.push_back(made_draw);
    }
    for (const Scalar& scalar : scalars_) expression->scalars.push_back(scalar.type);
    lay_out(*expression, arrays, outputs);
    fused_.expression = std::move(expression);
    made.command.payload = std::move(fused_);
    return blocks;
  }

  /// Whether an axis and the one before it are one to the array.
  bool walks_on(const Walked& array, std::size_t axis, std::int64_t extent) const {
    for (const Window& window : windows_) {
      if (window.begin[axis] != 0 || window.end[axis] != extent) return false;
    }
    const int i = static_cast<int>(axis);
    for (const jit::Wrap& wrap : array.wraps) {
      if (wrap.first == i || wrap.last == i - 1) return false;
    }
    return array.strides[axis - 1] == array.strides[axis] * extent;
  }

  /// Axes and strides, neighbours that every array walks through as one merged.
  void lay_out(Expression& expression, const std::vector<const Known*>& arrays, std::size_t outputs) const {
    const Extents& extents = group_.extents();
    const auto is_sum = [&](const Known& known) {  // its parts are no array of positions
      return expression.parts > 0 && known.is_written &&
             expression.code[static_cast<std::size_t>(known.value)].kind == Instruction::Kind::reduce;
    };
    std::vector<std::size_t> last;  // of the axes that are one, the last
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const bool is_row = group_.has_rows() && axis + group_.row_ndim() == extents.size();
      const bool is_one = axis > 0 && !is_row && std::all_of(arrays.begin(), arrays.end(), [&](const Known* known) {
                            return is_sum(*known) || walks_on(known->array, axis, extents[axis]);
                          });
      if (is_one) {
        last.back() = axis;
      } else {
        last.push_back(axis);
      }
    }
    expression.size = 1;
    expression.ndim = static_cast<int>(last.size());
    std::size_t axis = 0;
    for (std::size_t i = 0; i < last.size(); ++i) {
      std::int64_t extent = 1;
      for (; axis <= last[i]; ++axis) extent *= extents[axis];
      expression.extents[i] = extent;
      expression.size *= extent;
    }
    if (group_.has_rows()) {
      expression.row_ndim = static_cast<int>(std::count_if(
          last.begin(), last.end(), [&](std::size_t each) { return each + group_.row_ndim() >= extents.size(); }));
    }
    for (const Window& window : windows_) add_window(expression, window, last);
    const WalkStrides dense = dense_strides(extents);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const Walked& array = arrays[k]->array;
      jit::Layout layout;
      layout.type = array.type;
      if (is_sum(*arrays[k])) {
        expression.outputs.push_back(layout);
        continue;
      }
      const bool is_here = array.wraps.empty() && !array.taken && !array.window;
      layout.is_dense = is_here && (array.strides == dense || expression.size == 1);
      layout.is_single = is_here && std::all_of(array.strides.begin(), array.strides.end(),
                                                [](std::int64_t stride) { return stride == 0; });
      if (array.window)
        layout.window = static_cast<int>(std::find(windows_.begin(), windows_.end(), *array.window) - windows_.begin());
      for (std::size_t i = 0; i < last.size(); ++i) layout.strides[i] = array.strides[last[i]];
      layout.taken = array.taken;
      layout.wraps = array.wraps;
      for (jit::Wrap& wrap : layout.wraps) {
        const auto now = [&](int one) {
          return static_cast<int>(std::lower_bound(last.begin(), last.end(), static_cast<std::size_t>(one)) -
                                  last.begin());
        };
        wrap.first = now(wrap.first);
        wrap.last = now(wrap.last);
      }
      for (std::size_t i = outputs; k < outputs && i < arrays.size(); ++i) {
        layout.is_in_place = layout.is_in_place || arrays[i]->array.meets(array);
      }
      (k < outputs ? expression.outputs : expression.inputs).push_back(layout);
    }
  }

  /// A window along merged axes: of those that are one, all but the first are whole.
  void add_window(Expression& expression, const Window& window, const std::vector<std::size_t>& last) const {
    jit::Window& merged = expression.windows.emplace_back();
    std::size_t first = 0;
    for (std::size_t i = 0; i < last.size(); ++i) {
      std::int64_t inner = 1;
      for (std::size_t axis = first + 1; axis <= last[i]; ++axis) inner *= group_.extents()[axis];
      merged.begin[i] = window.begin[first] * inner;
      merged.end[i] = window.end[first] * inner;
      first = last[i] + 1;
    }
  }

  struct Scalar {
    kernels::Type type;
    kernels::u64 bits;
    bool is_parameter;
    int value;
  };

  const Draft& draft_;
  const FusionGroup& group_;
  const std::size_t number_;
  const std::vector<std::size_t>& only_users_;
  FusedCommand fused_;
  std::vector<Instruction> code_;
  std::vector<jit::Reduction> reductions_;
  std::unordered_multimap<std::uint64_t, int> by_operands_;  ///< instructions by key_of
  std::vector<Known> known_;
  std::vector<Window> windows_;
  std::vector<Scalar> scalars_;
};

/// "fused rand, mul, add", of many the first and how many.
std::string label_of(const Draft& draft, const FusionGroup& group) {
  constexpr std::size_t most_named = 4;
  std::string label = "fused";
  std::size_t named = 0;
  for (const std::size_t step : group.steps()) {
    if (named == most_named) return label + ", ... " + std::to_string(group.steps().size());
    label += (named == 0 ? " " : ", ") + std::string(draft.steps[step].command->label);
    ++named;
  }
  return label;
}

}  // namespace

Step fused_step(Draft& draft, const FusionGroup& group, std::size_t number,
                const std::vector<std::size_t>& only_users) {
  MadeCommand& made = draft.made.emplace_back();
  const Step& last = draft.steps[group.steps().back()];
  made.command.device = last.command->device;
  made.command.where = last.command->where;
  Step step;
  step.blocks = Builder(draft, group, number, only_users).build(made);
  made.label = label_of(draft, group);
  step.command = made.settled();
  step.lane = most_urgent_lane(draft, group.steps());
  return step;
}

}  // namespace refrain::graph
