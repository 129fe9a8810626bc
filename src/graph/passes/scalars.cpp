// Values of one element that other commands read at every position are computed within those, for a command of its own
// costs a launch.

#include "graph/passes/ancestors.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"
#include "graph/passes/within.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
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
        is_dropped_(draft.steps.size(), false) {
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      note(i);
      if (keeps_order(*draft.steps[i].command)) ordered_with_all_.push_back(i);
    }
  }

  /// What nobody keeps.
  void move_all() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      if (!makes_elements(*draft_.steps[i].command)) continue;
      const std::vector<bool> is_kept = find_kept(i);
      if (std::find(is_kept.begin(), is_kept.end(), true) == is_kept.end()) move_into_readers(i);
    }
    if (has_dropped_) drop_steps(draft_, is_dropped_);
  }

  /// The values of the first command that makes others beside them, which are kept; whether there was one.
  bool split_one() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      if (makes_elements(*draft_.steps[i].command) && split(i)) return true;
    }
    return false;
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

  /// By access: whether it writes what is kept, or what nobody reads.
  std::vector<bool> find_kept(std::size_t number) const {
    const Step& step = draft_.steps[number];
    std::vector<bool> is_kept(step.blocks.size(), false);
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      const auto block = static_cast<std::size_t>(step.blocks[k]);
      is_kept[k] = step.command->accesses[k].mode == AccessMode::write &&
                   (!draft_.blocks[block].is_temporary || writers_[block].size() != 1 || readers_[block].empty());
    }
    return is_kept;
  }

  /// Whether at each of its positions values can be computed that it reads there now.
  bool can_compute(std::size_t reader) const {
    const runtime::Command& command = *draft_.steps[reader].command;
    if (!command.is_declared) return false;
    if (std::holds_alternative<ElementwiseCommand>(command.payload)) return true;
    const auto* fused = std::get_if<FusedCommand>(&command.payload);
    return fused != nullptr && fused->expression->reductions.empty();
  }

  /// Who reads what it makes and nobody keeps.
  std::vector<std::size_t> readers_of(std::size_t number, const std::vector<bool>& is_kept) const {
    std::vector<std::size_t> all;
    const Step& step = draft_.steps[number];
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      if (step.command->accesses[k].mode != AccessMode::write || is_kept[k]) continue;
      const auto& readers = readers_[static_cast<std::size_t>(step.blocks[k])];
      all.insert(all.end(), readers.begin(), readers.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  using Joined = std::vector<std::pair<std::size_t, Step>>;

  /// The readers, with the values computed in them; none where one of them cannot.
  Joined with_values(std::size_t number, const std::vector<std::size_t>& readers) {
    const bool can_all = std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
      return reader != number && can_compute(reader) && are_inputs_kept(number, reader);
    });
    if (!can_all || readers.empty() || !has_fusion()) return {};
    const Step scalar = as_fused(draft_, number);
    Joined all;
    for (const std::size_t reader : readers) {
      std::optional<Step> joined = computed_within(draft_, scalar, as_fused(draft_, reader));
      if (!joined) return {};
      all.emplace_back(reader, std::move(*joined));
    }
    return all;
  }

  void move_into_readers(std::size_t number) {
    Joined with = with_values(number, readers_of(number, find_kept(number)));
    if (with.empty()) return;
    say(number, with.size(), "");
    for (auto& [reader, step] : with) {
      forget(reader);
      draft_.steps[reader] = std::move(step);
      note(reader);
    }
    forget(number);
    is_dropped_[number] = true;
    has_dropped_ = true;
  }

  /// What is kept is written once all readers have read, and can be the last that they do.
  bool split(std::size_t number) {
    const std::vector<bool> is_kept = find_kept(number);
    const std::vector<std::size_t> readers = readers_of(number, is_kept);
    if (readers.empty() || !can_wait_for(number, readers)) return false;
    Joined with = with_values(number, readers);
    if (with.empty()) return false;
    say(number, with.size(), ", and what is kept of it is written afterwards");
    for (auto& [reader, step] : with) draft_.steps[reader] = std::move(step);
    Step rest = with_outputs(draft_, as_fused(draft_, number), is_kept);
    std::vector<int> before = draft_.steps[number].dependencies;
    for (Step& step : draft_.steps) {
      if (std::erase(step.dependencies, static_cast<int>(number)) != 0) {
        step.dependencies.insert(step.dependencies.end(), before.begin(), before.end());
      }
    }
    before.insert(before.end(), readers.begin(), readers.end());
    rest.lane = draft_.steps[number].lane;
    rest.dependencies = std::move(before);
    draft_.steps[number] = std::move(rest);
    std::vector<std::size_t> each(draft_.steps.size());
    std::iota(each.begin(), each.end(), std::size_t{0});
    regroup(draft_, each, [&](std::size_t step, std::span<const std::size_t>) { return draft_.steps[step]; });
    return true;
  }

  /// Whether nothing that comes after it, but its readers, minds when it runs, and those do not write what it touches.
  bool can_wait_for(std::size_t number, const std::vector<std::size_t>& readers) {
    const Step& step = draft_.steps[number];
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      const runtime::Access& access = step.command->accesses[k];
      if (access.buffer->has_other_names()) return false;
      const auto block = static_cast<std::size_t>(step.blocks[k]);
      const auto minds = [&](std::size_t other, bool is_reader_free) {
        if (other == number || !ancestors().holds(other, number)) return false;
        return !is_reader_free || !std::binary_search(readers.begin(), readers.end(), other);
      };
      for (const std::size_t writer : writers_[block]) {
        if (minds(writer, false)) return false;
      }
      if (access.mode != AccessMode::write) continue;
      for (const std::size_t reader : readers_[block]) {
        if (minds(reader, true)) return false;
      }
    }
    return std::none_of(ordered_with_all_.begin(), ordered_with_all_.end(),
                        [&](std::size_t other) { return ancestors().holds(other, number); });
  }

  void say(std::size_t number, std::size_t readers, const char* more) {
    const runtime::Command& command = *draft_.steps[number].command;
    draft_.folded[command.label] = "fused with others";
    if (told_++ >= most_told) return;
    draft_.say("scalars: " + place(command) + " is computed where it is read, in " + std::to_string(readers) +
               (readers == 1 ? " command" : " commands") + more);
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
      if (step.command->accesses[k].buffer->has_other_names()) return false;
      const auto& writers = writers_[static_cast<std::size_t>(step.blocks[k])];
      if (std::any_of(writers.begin(), writers.end(),
                      [&](std::size_t writer) { return writer != number && is_between(writer); })) {
        return false;
      }
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

  static constexpr std::size_t most_told = 16;

  Draft& draft_;
  std::vector<std::vector<std::size_t>> writers_;  ///< by block
  std::vector<std::vector<std::size_t>> readers_;  ///< by block
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
  Scalars(draft).move_all();
  constexpr int most_split = 16;
  for (int i = 0; i < most_split && Scalars(draft).split_one(); ++i) continue;
}

}  // namespace refrain::graph
