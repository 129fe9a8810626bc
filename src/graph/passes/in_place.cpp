#include "graph/passes/lives.hpp"
#include "graph/passes/passes.hpp"
#include "jit/expression.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace refrain::graph {

namespace {

using runtime::ElementwiseCommand;
using runtime::FusedCommand;

/// An output and an input of a command that meet each element at the same position, so that it may lie in the input's
/// place: whoever computes a position, or a row, reads all that it reads there before writing. What is read elsewhere
/// has another layout. Both are accesses of the command.
struct Pair {
  std::size_t output;
  std::size_t input;
  std::size_t number;  ///< of the output, of a fused command
};

bool same_elements(const runtime::Access& a, const runtime::Access& b) {
  return a.begin == b.begin && a.end == b.end && a.first == b.first;
}

/// Calls `visit` for each such pair until it returns true. Pairs are of one type, so that the compilers know that the
/// one may be the other.
template <class Visit>
void visit_pairs(const ElementwiseCommand& command, Visit visit) {
  const kernels::ElementwiseArgs& args = command.args;
  for (int k = 0; k < args.input_count; ++k) {
    const int input = command.in_access[static_cast<std::size_t>(k)];
    if (input < 0 || kernels::input_type(args, k) != args.out_type) continue;
    const bool is_same = args.contiguous || std::equal(args.out_strides, args.out_strides + args.ndim,
                                                       static_cast<const kernels::i64*>(args.inputs[k].strides));
    if (is_same && visit(Pair{static_cast<std::size_t>(command.out_access), static_cast<std::size_t>(input), 0}))
      return;
  }
}

template <class Visit>
void visit_pairs(const FusedCommand& command, Visit visit) {
  if (!command.further.empty() || command.last != nullptr) return;         // whose accesses are not one expression's
  const std::shared_ptr<const jit::Expression> held = command.expression;  // `visit` may put another in its place
  const jit::Expression& expression = *held;
  if (expression.has_sums()) return;  // of which no position has an element
  const std::size_t outputs = expression.outputs.size();
  for (std::size_t output = 0; output < outputs; ++output) {
    jit::Layout walk = expression.outputs[output];
    walk.is_in_place = false;
    for (std::size_t input = 0; input < expression.inputs.size(); ++input) {
      if (expression.inputs[input] == walk && visit(Pair{output, outputs + input, output})) break;
    }
  }
}

class InPlace {
 public:
  explicit InPlace(Draft& draft)
      : draft_(draft), ancestors_(draft.steps), users_(users_of_temporaries(draft)), is_taken_(draft.blocks.size()) {}

  void run() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const runtime::Command& command = *draft_.steps[i].command;
      if (const auto* elementwise = std::get_if<ElementwiseCommand>(&command.payload)) {
        visit_pairs(*elementwise, [&](const Pair& pair) { return join(i, pair); });
      } else if (const auto* fused = std::get_if<FusedCommand>(&command.payload)) {
        visit_pairs(*fused, [&](const Pair& pair) {
          if (!join(i, pair)) return false;
          mark_in_place(command, pair.number);
          return true;
        });
      }
    }
    for (std::string& text : told_) draft_.say(std::move(text));
    if (joined_ > told_.size()) {
      draft_.say("in place: so do " + std::to_string(joined_ - told_.size()) + " commands more");
    }
  }

 private:
  static constexpr std::size_t most_told = 16;

  /// Whether all other users come before the step, or after it.
  bool all_before(const std::vector<std::size_t>& users, std::size_t step) const {
    return std::all_of(users.begin(), users.end(),
                       [&](std::size_t user) { return user == step || ancestors_.holds(step, user); });
  }
  bool all_after(const std::vector<std::size_t>& users, std::size_t step) const {
    return std::all_of(users.begin(), users.end(),
                       [&](std::size_t user) { return user == step || ancestors_.holds(user, step); });
  }

  /// Whether the step does nothing with the block but what this access says.
  bool is_only_use(const Step& step, std::size_t access) const {
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      if (step.blocks[k] != step.blocks[access]) continue;
      if (step.command->accesses[k].mode != step.command->accesses[access].mode) return false;
      if (!same_elements(step.command->accesses[k], step.command->accesses[access])) return false;
      if (k != access && !is_same_walk(step, k, access)) return false;
    }
    return true;
  }

  /// Of two inputs of one array.
  static bool is_same_walk(const Step& step, std::size_t a, std::size_t b) {
    if (const auto* fused = std::get_if<FusedCommand>(&step.command->payload)) {
      const std::size_t outputs = fused->expression->outputs.size();
      if (a < outputs || b < outputs) return false;
      return fused->expression->inputs[a - outputs] == fused->expression->inputs[b - outputs];
    }
    const auto& command = std::get<ElementwiseCommand>(step.command->payload);
    const auto input = [&](std::size_t access) {
      const auto at = std::find(command.in_access.begin(), command.in_access.end(), static_cast<int>(access));
      return static_cast<int>(at - command.in_access.begin());
    };
    const int x = input(a);
    const int y = input(b);
    if (x >= kernels::max_inputs || y >= kernels::max_inputs) return false;
    if (command.args.contiguous) return true;
    const auto& strides = command.args.inputs[x].strides;
    return std::equal(strides, strides + command.args.ndim,
                      static_cast<const kernels::i64*>(command.args.inputs[y].strides));
  }

  bool join(std::size_t number, const Pair& pair) {
    const Step& step = draft_.steps[number];
    const auto output = static_cast<std::size_t>(step.blocks[pair.output]);
    const auto input = static_cast<std::size_t>(step.blocks[pair.input]);
    Block& to = draft_.blocks[output];
    const Block& from = draft_.blocks[input];
    if (users_[output].empty() || users_[input].empty() || output == input) return false;  // not both are temporaries
    if (is_taken_[input] || to.in_place_of >= 0 || arena_bytes(to) != arena_bytes(from)) return false;
    if (to.buffer->device() != from.buffer->device()) return false;
    if (!same_elements(step.command->accesses[pair.output], step.command->accesses[pair.input])) return false;
    if (users_[output].front() != number || users_[input].back() != number) return false;
    if (!all_after(users_[output], number) || !all_before(users_[input], number)) return false;
    if (!is_only_use(step, pair.output) || !is_only_use(step, pair.input)) return false;
    // Whatever the input has taken over is over for longer still.
    to.in_place_of = from.in_place_of >= 0 ? from.in_place_of : static_cast<int>(input);
    is_taken_[input] = true;
    if (joined_++ < most_told) {
      told_.push_back("in place: " + place(*step.command) + " writes " + std::to_string(to.buffer->size_bytes()) +
                      " bytes where it reads them for the last time");
    }
    return true;
  }

  void mark_in_place(const runtime::Command& command, std::size_t output) {
    if (made_.empty()) {
      for (MadeCommand& made : draft_.made) made_.emplace(&made.command, &made);
    }
    auto& fused = std::get<FusedCommand>(made_.at(&command)->command.payload);
    auto expression = std::make_shared<jit::Expression>(*fused.expression);
    expression->outputs[output].is_in_place = true;
    fused.expression = std::move(expression);
  }

  Draft& draft_;
  const Ancestors ancestors_;
  const std::vector<std::vector<std::size_t>> users_;
  std::vector<bool> is_taken_;  ///< by block: another one lies in its place afterwards
  std::unordered_map<const runtime::Command*, MadeCommand*> made_;
  std::vector<std::string> told_;
  std::size_t joined_ = 0;
};

}  // namespace

void work_in_place(Draft& draft) {
  if (!Ancestors::can_hold(draft.steps)) {
    draft.say("in place: nothing is, for there are too many commands to compare");
    return;
  }
  InPlace(draft).run();
}

}  // namespace refrain::graph
