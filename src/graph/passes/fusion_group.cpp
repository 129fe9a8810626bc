#include "graph/passes/fusion_group.hpp"

#include "graph/passes/moved.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace refrain::graph {

using runtime::ElementwiseCommand;
using runtime::MoveCommand;
using runtime::RandomCommand;
using runtime::ReduceCommand;

namespace {

// So that source, parameters and registers stay within what compilers and launches take.
constexpr std::size_t most_steps = 512;
constexpr std::size_t most_parameter_bytes = 16 * 1024;
constexpr std::size_t most_scalars = 256;

/// With reductions: arrays of elements that threads have in registers, 32 each, and those that are read elsewhere, one
/// element after another, by code of its own for each. What one block takes for its elements
/// all at once: beyond some microseconds another kernel that uses the whole device is worth its launch.
constexpr int most_row_inputs = 6;
constexpr int most_row_moves = 8;
constexpr std::int64_t most_ops_a_block = 512 * 1024;
constexpr std::int64_t enough_blocks = 66;

bool has_chunks(const kernels::ReduceArgs& args) { return args.chunks > 1; }

std::int64_t row_length(const kernels::ReduceArgs& args) { return has_chunks(args) ? kernels::reduce_chunk : args.n; }

/// Strides along a reduction's axes: `kept`, the first of a row's chunks, and `inner` from one element to the next.
WalkStrides row_strides(const kernels::ReduceArgs& args, const kernels::i64* kept, std::int64_t inner) {
  WalkStrides strides(kept, kept + args.kept_ndim);
  if (has_chunks(args)) strides.push_back(inner * kernels::reduce_chunk);
  strides.push_back(inner);
  return strides;
}

/// Whether a reduction's row, or each chunk of it that has a result, can be what threads have in registers.
bool has_fusable_rows(const Step& step, std::int64_t longest) {
  const auto& [args, has_other] = std::get<ReduceCommand>(step.command->payload);
  switch (args.op) {
    case kernels::ReduceOp::sum:
    case kernels::ReduceOp::prod:
    case kernels::ReduceOp::sum_of_squares:
    case kernels::ReduceOp::min:
    case kernels::ReduceOp::max:
    case kernels::ReduceOp::any:
    case kernels::ReduceOp::all:
    case kernels::ReduceOp::softmax: break;
    case kernels::ReduceOp::dot:
    case kernels::ReduceOp::var:
      if (has_chunks(args) && args.op == kernels::ReduceOp::var) return false;
      break;
    default: return false;
  }
  if (args.n == 1 || args.reduced_ndim != 1 || kernels::are_columns(args)) return false;
  if (has_chunks(args)) return args.n % kernels::reduce_chunk == 0 && args.kept_ndim + 2 <= kernels::max_ndim;
  return args.n <= longest && args.kept_ndim + 1 <= kernels::max_ndim;
}

/// How many parts of a sum a command makes, where their order makes no difference; else 0.
std::int64_t parts_of(const kernels::ReduceArgs& args) {
  const bool is_free = args.op == kernels::ReduceOp::sum && args.out_type == kernels::Type::int64 && args.rows == 1;
  return is_free && has_chunks(args) ? args.chunks : 0;
}

WalkStrides first_strides(const kernels::i64* strides, int ndim) { return {strides, strides + ndim}; }

/// Numbers that a kernel takes for an array.
std::size_t numbers_of(const Walked& array) {
  std::size_t count = 1 + array.strides.size();
  if (!array.wraps.empty()) count += 1 + 3 * array.wraps.size();
  if (array.window) count += 2 * array.strides.size();
  if (array.taken) count += 2 + 2 * static_cast<std::size_t>(array.taken->ndim);
  return count;
}

/// Whether strides along `coarse` are those along `fine`. Of one position no stride counts, and all become 0.
bool are_refined(const Extents& coarse, const Extents& fine) { return coarse == fine && size_of(fine) != 1; }

}  // namespace

Walked walked(const Step& step, int access, kernels::Type type, WalkStrides strides) {
  const auto k = static_cast<std::size_t>(access);
  return {step.blocks[k], step.command->accesses[k], type, std::move(strides)};
}

Walked refined(Walked array, const Extents& coarse, const Extents& fine) {
  if (are_refined(coarse, fine)) return array;
  array.strides = strides_along(coarse, array.strides, fine);
  const Extents own(fine.begin(), fine.end() - static_cast<std::ptrdiff_t>(further_axes(coarse, fine)));
  array.wraps = refine_wraps(coarse, std::move(array.wraps), own);
  if (array.window) array.window = refine_window(coarse, *array.window, fine);
  return array;
}

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
  if (const auto* reduction = std::get_if<ReduceCommand>(&step.command->payload)) {
    const kernels::ReduceArgs& reduced = reduction->args;
    Extents extents(reduced.kept_extents, reduced.kept_extents + reduced.kept_ndim);
    if (has_chunks(reduced)) extents.push_back(reduced.chunks);
    extents.push_back(row_length(reduced));
    return extents;
  }
  if (const auto* move = std::get_if<MoveCommand>(&step.command->payload)) {
    return {move->args.extents, move->args.extents + move->args.ndim};
  }
  const auto& args = std::get<ElementwiseCommand>(step.command->payload).args;
  if (args.contiguous || args.ndim == 0) return {args.size};
  return {args.extents, args.extents + args.ndim};
}

Walked output_of(const Step& step) {
  if (const auto* draw = std::get_if<RandomCommand>(&step.command->payload))
    return walked(step, 0, draw->args.type, {1});
  if (const auto* reduction = std::get_if<ReduceCommand>(&step.command->payload)) {
    const kernels::ReduceArgs& args = reduction->args;
    if (args.op == kernels::ReduceOp::softmax) {
      return walked(step, 0, args.out_type, row_strides(args, args.out_kept_strides, args.out_stride));
    }
    const Extents extents = extents_of(step);
    WalkStrides strides = dense_strides(Extents(extents.begin(), extents.end() - 1));
    strides.push_back(0);
    return walked(step, 0, args.out_type, std::move(strides));
  }
  if (const auto* move = std::get_if<MoveCommand>(&step.command->payload)) {
    return walked(step, 0, move->args.type, dense_strides(extents_of(step)));
  }
  const auto& command = std::get<ElementwiseCommand>(step.command->payload);
  const auto& args = command.args;
  const bool has_strides = !args.contiguous && args.ndim > 0;
  return walked(step, command.out_access, args.out_type,
                has_strides ? first_strides(args.out_strides, args.ndim) : WalkStrides{1});
}

Walked input_of(const Step& step, int k) {
  if (const auto* reduction = std::get_if<ReduceCommand>(&step.command->payload)) {
    const kernels::ReduceArgs& args = reduction->args;
    if (k == 0) return walked(step, 1, args.in_type, row_strides(args, args.kept_strides, args.reduced_strides[0]));
    if (args.op == kernels::ReduceOp::dot) {
      return walked(step, 2, args.in_type, row_strides(args, args.kept_strides, args.other_stride));  // of one row
    }
    WalkStrides strides = output_of(step).strides;  // one value a row
    return walked(step, 2, args.in_type, std::move(strides));
  }
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
  group.arrays_.reserve(step.blocks.size());
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
    group.draws_ = 1;
    group.numbers_per_draw_ = kernels::numbers_per_draw(draw->args.distribution, draw->args.type);
    add(output_of(step), true);
    return group;
  }
  if (const auto* reduction = std::get_if<ReduceCommand>(&step.command->payload)) {
    const Device device = step.command->device;
    const auto limits = runtime::backend(device.kind).fusion_limits(device.index);
    if (!has_fusable_rows(step, limits.longest_row)) return std::nullopt;
    group.extents_ = extents_of(step);
    group.has_rows_ = true;
    if (limits.sums_of_draws) group.parts_ = parts_of(reduction->args);
    add(input_of(step, 0), false);
    if (reduction->has_other) add(input_of(step, 1), false);
    add(output_of(step), true);
    return group;
  }
  const auto* move = std::get_if<MoveCommand>(&step.command->payload);
  if (move != nullptr && reads_elsewhere(move->args)) {
    group.extents_ = extents_of(step);
    add(moved_input_of(step), false);
    if (move->args.has_indices) add(indices_of(step), false);
    add(output_of(step), true);
    return group;
  }
  return std::nullopt;
}

std::int64_t FusionGroup::row_length() const {
  return size_of(Extents(extents_.end() - static_cast<std::ptrdiff_t>(row_ndim_), extents_.end()));
}

std::optional<Extents> FusionGroup::joint_extents(const FusionGroup& other) const {
  const std::int64_t size = size_of(extents_);
  const std::int64_t other_size = size_of(other.extents_);
  if (size == other_size) {
    if (has_rows_ && other.has_rows_ && row_length() != other.row_length()) return std::nullopt;
    return refine(extents_, other.extents_);
  }
  if (grid_ != 0 || other.grid_ != 0) return std::nullopt;
  const FusionGroup& wide = size > other_size ? *this : other;
  const FusionGroup& narrow = size > other_size ? other : *this;
  if (!wide.has_rows_ || narrow.has_rows_) return std::nullopt;
  // One position a row.
  const auto row = wide.extents_.end() - static_cast<std::ptrdiff_t>(wide.row_ndim_);
  const Extents kept(wide.extents_.begin(), row);
  std::optional<Extents> fine = kept;
  if (size_of(kept) != size_of(narrow.extents_)) return std::nullopt;
  if (!kept.empty()) fine = refine(kept, narrow.extents_);
  if (!fine || fine->size() + wide.row_ndim_ > kernels::max_ndim) return std::nullopt;
  fine->insert(fine->end(), row, wide.extents_.end());
  return fine;
}

std::string FusionGroup::why_too_much() const {
  if (!has_rows_) return {};
  if (grid_ != 0) {
    const bool is_sum = grid_ <= parts_ && !has_narrow_steps_;
    return is_sum ? "" : "their draws are laid out over other threads than rows";
  }
  // What is made as a whole, or read so, is not read again where a part of it is updated.
  const auto is_known = [&](const Walked& part) {
    return part.window && std::any_of(arrays_.begin(), arrays_.end(),
                                      [&](const Walked& whole) { return !whole.window && whole.is_alike(part); });
  };
  int inputs = 0;
  int moved = 0;
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    const auto end = arrays_[k].strides.end();
    if (arrays_[k].is_elsewhere()) {
      moved += is_known(arrays_[k]) ? 0 : 1;
    } else if (!is_written_[k] && std::any_of(end - static_cast<std::ptrdiff_t>(row_ndim_), end,
                                              [](std::int64_t stride) { return stride != 0; })) {
      ++inputs;
    }
  }
  if (inputs > most_row_inputs || moved > most_row_moves) return "their rows have too many arrays";
  const std::int64_t size = size_of(extents_);
  const std::int64_t blocks = (size - 1) / kernels::reduce_chunk + 1;
  const std::int64_t ops = static_cast<std::int64_t>(steps_.size()) * size;
  if (blocks < enough_blocks && ops / blocks > most_ops_a_block)
    return "so few rows would keep few multiprocessors busy";
  return {};
}

std::optional<FusionGroup> FusionGroup::placed_in(const Draft& draft, const FusionGroup& whole) const {
  if (steps_.size() != 1 || !placements_.empty() || whole.steps_.back() > steps_[0]) return std::nullopt;
  const Step& step = draft.steps[steps_[0]];
  if (!std::holds_alternative<ElementwiseCommand>(step.command->payload)) return std::nullopt;
  if (size_of(extents_) >= size_of(whole.extents_)) return std::nullopt;
  const Walked part = output_of(step);
  for (std::size_t k = 0; k < whole.arrays_.size(); ++k) {
    // What is written as a whole nobody else reads or writes meanwhile, so that its other elements may be written
    // again.
    if (!whole.is_written_[k] || whole.arrays_[k].window) continue;
    std::optional<Placement> found = find_placement(steps_[0], part, extents_, whole.arrays_[k], whole.extents_);
    if (!found) continue;
    FusionGroup group = *this;
    for (Walked& array : group.arrays_) array = placed(array, *found);
    group.extents_ = found->axes;
    group.placements_ = {std::move(*found)};
    return group;
  }
  return std::nullopt;
}

const Placement* FusionGroup::placement_of(std::size_t step) const noexcept {
  const auto found = std::find_if(placements_.begin(), placements_.end(),
                                  [&](const Placement& placement) { return placement.step == step; });
  return found == placements_.end() ? nullptr : &*found;
}

std::string FusionGroup::take(const FusionGroup& other) {
  if (steps_.size() + other.steps_.size() > most_steps || scalars_ + other.scalars_ > most_scalars) {
    return "they are too many";
  }
  if (grid_ != 0 && other.grid_ != 0 && (grid_ != other.grid_ || numbers_per_draw_ != other.numbers_per_draw_)) {
    return "their draws are laid out otherwise";
  }
  std::optional<Extents> fine = joint_extents(other);
  if (!fine) return "they walk along other axes";
  for (const std::vector<Placement>* placements : {&std::as_const(placements_), &other.placements_}) {
    for (const Placement& placement : *placements) {
      if (!refine_window(placement.axes, placement.window, *fine)) return "they walk along other axes";
    }
  }
  std::vector<Walked> along_fine;  // what is walked along already, if not along these
  if (!are_refined(extents_, *fine)) {
    for (const Walked& array : arrays_) along_fine.push_back(refined(array, extents_, *fine));
  }
  const std::vector<Walked>& all = along_fine.empty() ? arrays_ : along_fine;
  std::vector<Walked> more;
  more.reserve(other.arrays_.size());
  std::vector<bool> is_more_written;
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < other.arrays_.size(); ++i) {
    Walked array = refined(other.arrays_[i], other.extents_, *fine);
    bool is_known = false;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!all[k].meets(array)) continue;
      if (all[k].is_same(array)) {
        if (other.is_written_[i]) written.push_back(k);
        is_known = true;
      } else if (!all[k].is_alike(array) && (is_written_[k] || other.is_written_[i])) {
        return "one touches what another writes at other positions, or by another name";
      }
    }
    if (is_known) continue;
    more.push_back(std::move(array));
    is_more_written.push_back(other.is_written_[i]);
  }
  std::size_t numbers =
      scalars_ + other.scalars_ + (draws_ + other.draws_) * sizeof(kernels::RandomArgs) / sizeof(std::int64_t);
  for (const std::vector<Walked>* arrays : {&all, &std::as_const(more)}) {
    for (const Walked& array : *arrays) numbers += numbers_of(array);
  }
  if (numbers * sizeof(std::int64_t) > most_parameter_bytes) return "they have too many arrays or draws";
  std::optional<FusionGroup> before;
  if (has_rows_ || other.has_rows_) before = *this;  // they may be refused still
  const std::int64_t row = has_rows_ ? row_length() : other.has_rows_ ? other.row_length() : 0;
  if (!along_fine.empty()) arrays_ = std::move(along_fine);
  for (const std::size_t k : written) is_written_[k] = true;
  std::move(more.begin(), more.end(), std::back_inserter(arrays_));
  is_written_.insert(is_written_.end(), is_more_written.begin(), is_more_written.end());
  has_narrow_steps_ = has_narrow_steps_ || other.has_narrow_steps_ || size_of(extents_) != size_of(other.extents_);
  extents_ = std::move(*fine);
  scalars_ += other.scalars_;
  draws_ += other.draws_;
  if (other.has_rows_) parts_ = has_rows_ ? std::min(parts_, other.parts_) : other.parts_;
  has_rows_ = has_rows_ || other.has_rows_;
  if (has_rows_) row_ndim_ = further_axes({size_of(extents_) / row}, extents_);
  placements_.insert(placements_.end(), other.placements_.begin(), other.placements_.end());
  if (grid_ == 0) {
    grid_ = other.grid_;
    numbers_per_draw_ = other.numbers_per_draw_;
  }
  const auto middle = static_cast<std::ptrdiff_t>(steps_.size());
  steps_.insert(steps_.end(), other.steps_.begin(), other.steps_.end());
  if (steps_[steps_.size() - other.steps_.size() - 1] > other.steps_.front()) {
    std::inplace_merge(steps_.begin(), steps_.begin() + middle, steps_.end());
  }
  std::string why_not = why_too_much();
  if (!why_not.empty()) *this = std::move(*before);
  return why_not;
}

}  // namespace refrain::graph
