#include "graph/passes/fusion_group.hpp"

#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <utility>

namespace refrain::graph {

using runtime::ElementwiseCommand;
using runtime::RandomCommand;

namespace {

// So that source, parameters and registers stay within what compilers and launches take.
constexpr std::size_t most_steps = 512;
constexpr std::size_t most_parameter_bytes = 16 * 1024;
constexpr std::size_t most_scalars = 256;

WalkStrides first_strides(const kernels::i64* strides, int ndim) { return {strides, strides + ndim}; }

Walked walked(const Step& step, int access, kernels::Type type, WalkStrides strides) {
  const auto k = static_cast<std::size_t>(access);
  return {step.blocks[k], step.command->accesses[k], type, std::move(strides)};
}

}  // namespace

bool Walked::meets(const Walked& other) const noexcept {
  if (access.buffer == other.access.buffer && block != other.block) return false;  // of two occurrences
  if (&access.buffer->history() != &other.access.buffer->history()) return false;
  const std::int64_t origin = access.buffer->history_origin();
  const std::int64_t other_origin = other.access.buffer->history_origin();
  return access.begin + origin < other.access.end + other_origin &&
         other.access.begin + other_origin < access.end + origin;
}

Extents extents_of(const Step& step) {
  if (const auto* draw = std::get_if<RandomCommand>(&step.command->payload)) return {draw->args.size};
  const auto& args = std::get<ElementwiseCommand>(step.command->payload).args;
  if (args.contiguous || args.ndim == 0) return {args.size};
  return {args.extents, args.extents + args.ndim};
}

Walked output_of(const Step& step) {
  if (const auto* draw = std::get_if<RandomCommand>(&step.command->payload))
    return walked(step, 0, draw->args.type, {1});
  const auto& command = std::get<ElementwiseCommand>(step.command->payload);
  const auto& args = command.args;
  const bool has_strides = !args.contiguous && args.ndim > 0;
  return walked(step, command.out_access, args.out_type,
                has_strides ? first_strides(args.out_strides, args.ndim) : WalkStrides{1});
}

Walked input_of(const Step& step, int k) {
  const auto& command = std::get<ElementwiseCommand>(step.command->payload);
  const auto& args = command.args;
  const bool has_strides = !args.contiguous && args.ndim > 0;
  return walked(step, command.in_access[static_cast<std::size_t>(k)], kernels::input_type(args, k),
                has_strides ? first_strides(args.inputs[k].strides, args.ndim) : WalkStrides{1});
}

std::optional<FusionGroup> FusionGroup::of(const Draft& draft, std::size_t number) {
  const Step& step = draft.steps[number];
  if (!step.command->is_declared) return std::nullopt;
  FusionGroup group;
  group.steps_ = {number};
  const auto add = [&](Walked array, bool is_written) {
    group.arrays_.push_back(std::move(array));
    group.is_written_.push_back(is_written);
  };
  if (const auto* elementwise = std::get_if<ElementwiseCommand>(&step.command->payload)) {
    group.extents_ = extents_of(step);
    for (int k = 0; k < elementwise->args.input_count; ++k) {
      if (elementwise->in_access[static_cast<std::size_t>(k)] >= 0) {
        add(input_of(step, k), false);
      } else {
        ++group.scalars_;
      }
    }
    add(output_of(step), true);
    return group;
  }
  if (const auto* draw = std::get_if<RandomCommand>(&step.command->payload)) {
    group.extents_ = extents_of(step);
    group.grid_ = draw->args.grid;
    group.numbers_per_draw_ = kernels::numbers_per_draw(draw->args.distribution, draw->args.type);
    add(output_of(step), true);
    return group;
  }
  return std::nullopt;
}

std::string FusionGroup::take(const FusionGroup& other) {
  if (steps_.size() + other.steps_.size() > most_steps || scalars_ + other.scalars_ > most_scalars) {
    return "they are too many";
  }
  if (grid_ != 0 && other.grid_ != 0 && (grid_ != other.grid_ || numbers_per_draw_ != other.numbers_per_draw_)) {
    return "their draws are laid out otherwise";
  }
  std::optional<Extents> fine = refine(extents_, other.extents_);
  if (!fine) return "they walk along other axes";
  std::vector<Walked> all = arrays_;
  for (Walked& array : all) array.strides = refine_strides(extents_, array.strides, *fine);
  std::vector<bool> written = is_written_;
  for (std::size_t i = 0; i < other.arrays_.size(); ++i) {
    Walked array = other.arrays_[i];
    array.strides = refine_strides(other.extents_, array.strides, *fine);
    bool is_known = false;
    for (std::size_t k = 0; k < arrays_.size(); ++k) {
      if (!all[k].meets(array)) continue;
      if (all[k].is_same(array)) {
        written[k] = written[k] || other.is_written_[i];
        is_known = true;
      } else if (is_written_[k] || other.is_written_[i]) {
        return "one touches what another writes at other positions, or by another name";
      }
    }
    if (is_known) continue;
    all.push_back(std::move(array));
    written.push_back(other.is_written_[i]);
  }
  const std::size_t numbers = all.size() * (1 + fine->size()) + scalars_ + other.scalars_;
  if (numbers * sizeof(std::int64_t) > most_parameter_bytes) return "they have too many arrays";
  arrays_ = std::move(all);
  is_written_ = std::move(written);
  extents_ = std::move(*fine);
  scalars_ += other.scalars_;
  if (grid_ == 0) {
    grid_ = other.grid_;
    numbers_per_draw_ = other.numbers_per_draw_;
  }
  const auto middle = static_cast<std::ptrdiff_t>(steps_.size());
  steps_.insert(steps_.end(), other.steps_.begin(), other.steps_.end());
  std::inplace_merge(steps_.begin(), steps_.begin() + middle, steps_.end());
  return {};
}

}  // namespace refrain::graph
