#pragma once

#include "jit/expression.hpp"
#include "jit/host_moves.hpp"
#include "jit/host_windows.hpp"
#include "kernels/elementwise_rows.hpp"
#include "kernels/split.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace refrain::jit {

class HostRows;

/// An expression made ready for the host: for a tile of positions that the cache holds, one vector loop an op. The
/// loops are those of the eager ops, so that the numbers are too.
class HostEngine {
 public:
  explicit HostEngine(std::shared_ptr<const Expression> expression);
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;
  ~HostEngine();

  /// Runs it on the calling thread, in the parts that `split` makes. `addresses`: of the outputs, then the inputs.
  /// `draws`: with seed and offset.
  void run(void* const* addresses, std::span<const kernels::Value> scalars, std::span<const kernels::RandomArgs> draws,
           const kernels::Split& split) const;
  /// The same for another expression of this one's structure, on the calling thread; without draws, without arrays that
  /// are read elsewhere.
  void run_part(const Expression& part, void* const* addresses, std::span<const kernels::Value> scalars) const;

 private:
  /// Where a value is.
  struct Source {
    enum class Kind : unsigned char { memory, output, scalar, drawn, own, single };
    Kind kind = Kind::own;
    int number = 0;  ///< of input, output, scalar, draw, register or instruction of one value
  };
  struct Op {
    kernels::Row row;
    int operand_count;
    Source operands[kernels::max_inputs];
    Source result;
    TakeRow take = nullptr;  ///< in place of `row`
    int taken_from = 0;      ///< of `take`: the input
    int window = -1;         ///< of a choice, whose `row` is a copy
    int part = -1;           ///< the window that the values are needed in; -1: at all positions
    std::int64_t operand_bytes[kernels::max_inputs] = {};  ///< of an element
    std::int64_t bytes = 0;                                ///< of an element of the result
  };
  struct Store {
    kernels::Row row;
    Source from;
    int output;
  };
  /// A part of a run: addresses and registers.
  class Frame;

  void find_rooms();
  void place_values();
  Op make_op(std::size_t instruction, const std::vector<Source>& values) const;
  bool writes_into_choice(std::size_t instruction, const std::vector<std::size_t>& last_use) const;
  std::vector<bool> find_singles() const;
  Source result_of(std::size_t instruction, std::vector<int>& free_registers);
  void run_op(const Frame& frame, const Op& op, std::span<const Segment> segments) const;
  /// What of n positions lies within each window, where that is known already.
  const Segments* known_segments(std::int64_t position, std::int64_t n) const noexcept;
  /// Positions of an expression of this structure that all arrays walk through in one line, or are fetched.
  std::int64_t row_of(const Expression& expression) const noexcept;
  void run_tile(Frame& frame, std::int64_t n) const;
  /// Positions [begin, end) of an expression.
  void run_rows(Frame& frame, const Expression& expression, std::int64_t begin, std::int64_t end) const;
  /// What the draws' blocks [begin, end) draw, those of one round before those of the next.
  void run_drawn(Frame& frame, std::span<const kernels::RandomArgs> draws, std::int64_t begin, std::int64_t end) const;

  std::shared_ptr<const Expression> expression_;
  std::vector<Op> singles_;  ///< whose value is the same at every position, computed once a run
  std::vector<Op> ops_;
  std::vector<Store> stores_;
  std::vector<int> parts_;  ///< by instruction: the only window that its value is needed in; -1: there is none
  int registers_ = 0;
  std::vector<int> rooms_;  ///< by input: the register for elements that do not lie in one line; -1: they always do
  std::vector<Segments> segments_;        ///< by tile
  bool is_one_row_ = false;               ///< all positions are in one line
  std::unique_ptr<const HostRows> rows_;  ///< of an expression with reductions, in place of all that
};

}  // namespace refrain::jit
