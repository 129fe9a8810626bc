#pragma once

#include "graph/draft.hpp"
#include "graph/passes/iteration.hpp"
#include "graph/passes/window.hpp"
#include "jit/expression.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace refrain::graph {

/// An array of a step as the step walks along it.
struct Walked {
  int block = 0;
  runtime::Access access;
  kernels::Type type = kernels::Type::float32;
  WalkStrides strides;
  // Of an array that is read elsewhere than at the position that is computed.
  std::vector<jit::Wrap> wraps = {};
  std::optional<jit::Taken> taken = {};
  std::optional<Window> window = {};  ///< the positions that it is walked at; none: all

  bool is_elsewhere() const noexcept { return !wraps.empty() || taken.has_value() || window.has_value(); }
  /// Whether each position that both are walked at is the same element in both, whatever is bound: two names of other
  /// code's bytes are not.
  bool is_alike(const Walked& other) const noexcept {
    return block == other.block && access.begin + access.first == other.access.begin + other.access.first &&
           type == other.type && strides == other.strides && wraps == other.wraps && taken == other.taken;
  }
  bool is_same(const Walked& other) const noexcept { return is_alike(other) && window == other.window; }
  /// Whether both may have an element in common.
  bool meets(const Walked& other) const noexcept;
};

/// The array along other axes: `fine` is a refinement of `coarse`, or of that with axes more behind it.
Walked refined(Walked array, const Extents& coarse, const Extents& fine);

/// Steps that may become one: elementwise commands, draws and moves over the same positions, in which a value that one
/// step writes is read at the same position only. With reductions the last axes are a row of theirs, and steps with one
/// position a row are among them.
class FusionGroup {
 public:
  /// Of one step; nothing where it is none that can be fused.
  static std::optional<FusionGroup> of(const Draft& draft, std::size_t step);

  /// Takes the other's steps in, if all can be one.
  /// @return why not; empty: they are one now
  std::string take(const FusionGroup& other);

  /// A group of one elementwise step, which updates a part of an array that `whole` writes as a whole before: the same
  /// over all positions of that one, where the step has its place among them.
  std::optional<FusionGroup> placed_in(const Draft& draft, const FusionGroup& whole) const;

  const std::vector<std::size_t>& steps() const noexcept { return steps_; }

  const Extents& extents() const noexcept { return extents_; }
  /// Whether there are reductions, of rows as long as the last `row_ndim` extents.
  bool has_rows() const noexcept { return has_rows_ && grid_ == 0; }
  std::size_t row_ndim() const noexcept { return row_ndim_; }
  /// Beside draws: of sums of integers, so many; else 0.
  std::int64_t parts() const noexcept { return has_rows_ && grid_ != 0 ? parts_ : 0; }
  /// Of a step that is about a part of the positions; null of others.
  const Placement* placement_of(std::size_t step) const noexcept;
  /// Blocks that the draws are laid out over; 0: there are none.
  int grid() const noexcept { return grid_; }

 private:
  std::int64_t row_length() const;
  /// The axes of both together; nothing where there are none.
  std::optional<Extents> joint_extents(const FusionGroup& other) const;
  /// Why arrays and rows are more than multiprocessors have room and time for; empty: they are not.
  std::string why_too_much() const;

  std::vector<std::size_t> steps_;  ///< ascending
  Extents extents_;
  std::vector<Walked> arrays_;    ///< what the steps walk along, each once
  std::vector<bool> is_written_;  ///< by array
  std::vector<Placement> placements_;
  std::size_t scalars_ = 0;
  bool has_rows_ = false;
  std::size_t row_ndim_ = 1;
  bool has_narrow_steps_ = false;  ///< with one position a row
  std::int64_t parts_ = 0;         ///< of the fewest that any of the reductions makes; 0: the order of one counts
  std::size_t draws_ = 0;
  int grid_ = 0;
  int numbers_per_draw_ = 0;
};

/// What a step touches by its access of that number.
Walked walked(const Step& step, int access, kernels::Type type, WalkStrides strides);

/// The axes of a step that can be fused, and its arrays along them.
Extents extents_of(const Step& step);
Walked output_of(const Step& step);
/// `k`: an input of an elementwise step that is an array, or that of a reduction, or its second one.
Walked input_of(const Step& step, int k);

/// In the place of a group's number.
inline constexpr std::size_t several_groups = static_cast<std::size_t>(-1);

/// The step that does what the steps of group `number` do, and its command, which goes to the draft. `only_users`: by
/// block, the number of the only group that uses it.
Step fused_step(Draft& draft, const FusionGroup& group, std::size_t number, const std::vector<std::size_t>& only_users);

}  // namespace refrain::graph
