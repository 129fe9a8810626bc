#pragma once

#include "jit/host_moves.hpp"
#include "jit/rows.hpp"
#include "kernels/elementwise_rows.hpp"
#include "kernels/split.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace refrain::jit {

/// An expression with reductions made ready for the host: so many rows at a time as the cache holds, with the loops of
/// the eager ops and reductions, so that the numbers are theirs.
class HostRows {
 public:
  explicit HostRows(std::shared_ptr<const Expression> expression);

  /// `addresses`: of the outputs, then the inputs.
  void run(void* const* addresses, std::span<const kernels::Value> scalars, const kernels::Split& split) const;

 private:
  /// A command on values: rows of them, or one a row.
  struct Step {
    std::size_t instruction;
    kernels::Row loop;  ///< of an op; of a choice, which copies
    TakeRow take;       ///< of `take`
  };
  /// Registers and where rows are.
  class Frame;

  void place_values();

  std::shared_ptr<const Expression> expression_;
  RowPlan plan_;
  std::vector<Step> steps_;
  std::vector<int> registers_of_;  ///< by instruction; -1: it has none
  int registers_ = 0;
};

}  // namespace refrain::jit
