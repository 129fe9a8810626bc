#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <vector>

namespace refrain::jit {

/// Whether the elements of each row of an array lie in one line: as far apart as the stride of the last axis says.
bool has_lines(const Expression& expression, const Layout& layout);
/// And are read at all positions.
bool is_line(const Expression& expression, const Layout& layout);

/// In which order the values of an expression with reductions can be had: elements first, of which rows are reduced,
/// with whose results elements go on, and so forth.
struct RowPlan {
  explicit RowPlan(const Expression& expression);

  std::vector<bool> is_of_rows;  ///< by instruction: one value a row
  std::vector<int> phase;        ///< by instruction: the first one in which it can be computed
  /// By instruction: the phase in which it is computed, because it is needed; -1: nobody needs it. Results of
  /// reductions are there from the next phase on.
  std::vector<int> computed_in;
  std::vector<int> last_use;  ///< by instruction: the last phase that needs it; -1: nobody does
  std::vector<bool> is_kept;  ///< by instruction: an element's value that a later phase needs too
  int phases = 1;
};

/// Whether what a load reads is no line, so that each element has code of its own.
bool is_placed(const Expression& expression, const RowPlan& plan, std::size_t instruction);
/// Whether a value is computed, and not at hand.
bool is_computed(const Expression& expression, const RowPlan& plan, std::size_t instruction);
/// Whether a load is put off until the last phase, which alone needs it: all rows have the same elements, which are
/// near, and would take up registers until then.
bool is_late(const Expression& expression, const RowPlan& plan, std::size_t instruction);
/// Arrays and values whose elements are in registers from one phase to the next, at most.
int rows_kept(const Expression& expression, const RowPlan& plan);

/// Whether what is read of each row, one value for all threads, has been read when the last results are there, because
/// they were computed with it.
bool has_read_rows(const Expression& expression, const RowPlan& plan);

}  // namespace refrain::jit
