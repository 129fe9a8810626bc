#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace refrain::jit {

/// Instructions of an expression that are the same ops over and over: `turns` times `period` from `begin` on. A turn
/// reads values from before the first one, of its own, and of the turn before it; what stands in the place of those
/// before the first turn is `period` instructions before them. What comes later reads values of the last turn alone.
struct Repeat {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t turns = 0;
  std::size_t unrolled = 1;  ///< so many turns after one another in each of a loop: a divisor of `turns`
  /// Likewise where a thread has one position: a divisor of `unrolled`. Compiled sooner, and a thread that waits for
  /// each result has time for a loop's own instructions.
  std::size_t unrolled_alone = 1;

  std::size_t end() const noexcept { return begin + period * turns; }
  bool holds(std::size_t instruction) const noexcept { return begin <= instruction && instruction < end(); }
  /// The same instruction of the first turn.
  std::size_t in_first_turn(std::size_t instruction) const noexcept { return begin + (instruction - begin) % period; }
};

/// The repeat that an expression's ops mostly are, which as a loop takes less time to compile and less of a
/// multiprocessor's instruction cache. Nothing where there is none, or where other ops would wait for it that could run
/// beside it.
std::optional<Repeat> find_repeat(const Expression& expression);

/// An expression in three parts: what comes before a repeat, its first turn as a loop, and what comes behind it. Which
/// values one part keeps for a later one, or a turn for the next.
class Loop {
 public:
  Loop(const Expression& expression, const Repeat& repeat);

  const Repeat& repeat() const noexcept { return repeat_; }
  /// Whether an instruction's value is kept.
  bool is_kept(std::size_t instruction) const { return is_kept_[instruction]; }
  /// Whether a kept value of the first turn is read by the next one; what is read in its place before that is the value
  /// of the instruction `period` before.
  bool is_taken_over(std::size_t instruction) const { return is_taken_over_[instruction]; }
  /// Where an instruction, or behind all a result, reads what was kept: the instruction whose value that is. Nothing
  /// where it reads a value of its own part, or one that is at hand in all: an element that was loaded, a scalar, a
  /// draw.
  std::optional<std::size_t> kept(int read, std::size_t reader) const;

 private:
  /// Before the repeat, in it, or behind it.
  int part_of(std::size_t instruction) const noexcept;
  bool takes_over(std::size_t from, std::size_t reader) const noexcept;

  const Expression& e_;
  const Repeat repeat_;
  std::vector<bool> is_kept_;
  std::vector<bool> is_taken_over_;
};

}  // namespace refrain::jit
