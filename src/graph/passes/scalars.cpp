// Values of one element that other commands read at every position are computed within those, for a command of its own
// costs a launch.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/cost.hpp"
#include "graph/passes/fusion_group.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"
#include "graph/passes/within.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::AccessMode;
using runtime::ElementwiseCommand;
using runtime::FusedCommand;

class Scalars {
 public:
  explicit Scalars(Draft& draft)
      : draft_(draft),
        writers_(draft.blocks.size()),
        readers_(draft.blocks.size()),
        all_written_(draft.blocks.size(), several_groups),
        is_dropped_(draft.steps.size(), false) {
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      note(i);
      if (keeps_order(*draft.steps[i].command)) ordered_with_all_.push_back(i);
    }
  }

  void run() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      if (is_scalar(i)) move_into_readers(i);
    }
    if (has_dropped_) drop_steps(draft_, is_dropped_);
  }

 private:
  void note(std::size_t number) {
    const Step& step = draft_.steps[number];
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      auto& users = step.command->accesses[k].mode == AccessMode::write ? writers_ : readers_;
      users[static_cast<std::size_t>(step.blocks[k])].push_back(number);
    }
  }
  void forget(std::size_t number) {
    for (const int block : draft_.steps[number].blocks) {
      std::erase(writers_[static_cast<std::size_t>(block)], number);
      std::erase(readers_[static_cast<std::size_t>(block)], number);
    }
  }

  /// Whether it writes temporaries of one element each, of single elements.
  bool is_scalar(std::size_t number) const {
    const runtime::Command& command = *draft_.steps[number].command;
    if (!command.is_declared) return false;
    if (const auto* fused = std::get_if<FusedCommand>(&command.payload)) {
      const jit::Expression& expression = *fused->expression;
      if (expression.size != 1 || !is_plain(expression)) return false;
    } else {
      const auto* elementwise = std::get_if<ElementwiseCommand>(&command.payload);
      if (elementwise == nullptr || elementwise->args.size != 1) return false;
    }
    for (std::size_t k = 0; k < command.accesses.size(); ++k) {
      if (command.accesses[k].mode != AccessMode::write) continue;
      const auto block = static_cast<std::size_t>(draft_.steps[number].blocks[k]);
      if (!draft_.blocks[block].is_temporary || writers_[block].size() != 1) return false;
    }
    return true;
  }

  /// Whether at each of its positions values can be computed that it reads there now.
  bool can_compute(std::size_t reader) const {
    const runtime::Command& command = *draft_.steps[reader].command;
    if (!command.is_declared) return false;
    if (std::holds_alternative<ElementwiseCommand>(command.payload)) return true;
    const auto* fused = std::get_if<FusedCommand>(&command.payload);
    return fused != nullptr && fused->expression->reductions.empty();
  }

  std::vector<std::size_t> readers_of(std::size_t number) const {
    std::vector<std::size_t> all;
    const Step& step = draft_.steps[number];
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      if (step.command->accesses[k].mode != AccessMode::write) continue;
      const auto& readers = readers_[static_cast<std::size_t>(step.blocks[k])];
      all.insert(all.end(), readers.begin(), readers.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void move_into_readers(std::size_t number) {
    const std::vector<std::size_t> readers = readers_of(number);
    const bool can_all = !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
      return reader != number && can_compute(reader) && are_inputs_kept(number, reader);
    });
    if (!can_all || !has_fusion()) return;
    const Step scalar = as_fused(number);
    std::vector<std::pair<std::size_t, Step>> with;
    for (const std::size_t reader : readers) {
      std::optional<Step> joined = computed_within(draft_, scalar, as_fused(reader));
      if (!joined) return;
      with.emplace_back(reader, std::move(*joined));
    }
    for (auto& [reader, step] : with) {
      forget(reader);
      draft_.steps[reader] = std::move(step);
      note(reader);
    }
    forget(number);
    is_dropped_[number] = true;
    has_dropped_ = true;
    const runtime::Command& command = *draft_.steps[number].command;
    draft_.folded[command.label] = "fused with others";
    if (told_++ >= most_told) return;
    draft_.say("scalars: " + place(command) + " is computed where it is read, in " + std::to_string(with.size()) +
               (with.size() == 1 ? " command" : " commands"));
  }

  /// Whether what the scalar reads is still there while the reader runs: blocks of a kernel are not ordered, so that
  /// the reader itself must not write it either.
  bool are_inputs_kept(std::size_t number, std::size_t reader) {
    if (draft_.steps[number].command->device != draft_.steps[reader].command->device) return false;
    const auto is_between = [&](std::size_t other) {
      return !ancestors().holds(number, other) && !ancestors().holds(other, reader);
    };
    if (std::any_of(ordered_with_all_.begin(), ordered_with_all_.end(), is_between)) return false;
    const Step& step = draft_.steps[number];
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      if (step.command->accesses[k].mode == AccessMode::write) continue;
      if (step.command->accesses[k].buffer->is_foreign()) return false;  // others may be the same memory
      const auto& writers = writers_[static_cast<std::size_t>(step.blocks[k])];
      if (std::any_of(writers.begin(), writers.end(), is_between)) return false;
    }
    return true;
  }

  /// Asked last, for the answer may take the loading of a library.
  bool has_fusion() {
    if (has_fusion_) return *has_fusion_;
    const std::string why_not = runtime::backend(draft_.program.device.kind).why_no_fusion();
    if (!why_not.empty()) draft_.say("scalars: none, for " + why_not, Severity::warning);
    has_fusion_ = why_not.empty();
    return *has_fusion_;
  }

  const Ancestors& ancestors() {  // of the steps as they were: what is computed elsewhere adds no order
    if (!ancestors_) ancestors_.emplace(draft_.steps);
    return *ancestors_;
  }

  Step as_fused(std::size_t number) {
    const Step& step = draft_.steps[number];
    if (std::holds_alternative<FusedCommand>(step.command->payload)) return step;
    Step fused = fused_step(draft_, *FusionGroup::of(draft_, number), number, all_written_);
    MadeCommand& made = draft_.made.back();
    made.label = step.command->label;
    made.command.label = made.label.c_str();
    fused.dependencies = step.dependencies;
    return fused;
  }

  static constexpr std::size_t most_told = 16;

  Draft& draft_;
  std::vector<std::vector<std::size_t>> writers_;  ///< by block
  std::vector<std::vector<std::size_t>> readers_;  ///< by block
  const std::vector<std::size_t> all_written_;     ///< by block
  std::vector<std::size_t> ordered_with_all_;      ///< what may touch anything
  std::vector<bool> is_dropped_;
  bool has_dropped_ = false;
  std::size_t told_ = 0;
  std::optional<bool> has_fusion_;
  std::optional<Ancestors> ancestors_;
};

}  // namespace

void compute_scalars_where_read(Draft& draft) {
  if (draft.steps.size() > Ancestors::most_steps) {
    draft.say("scalars: none, for there are too many commands to compare");
    return;
  }
  Scalars(draft).run();
}

}  // namespace refrain::graph
