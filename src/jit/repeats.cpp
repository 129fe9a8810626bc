#include "jit/repeats.hpp"

#include <algorithm>
#include <iterator>

namespace refrain::jit {

namespace {

constexpr std::size_t longest_period = 16;
constexpr std::size_t least_turns = 4;
constexpr std::size_t least_ops = 32;
/// Of several positions side by side a loop's own instructions are to be few beside them; all must fit the smallest
/// instruction cache. `chain_100_64m` on an H200: 278 us by 14 ops, 264 without a loop.
constexpr std::size_t ops_a_loop = 50;
constexpr std::size_t ops_a_loop_alone = 12;

using Code = std::vector<Instruction>;

/// Whether an instruction is that of a turn before, `period` earlier, in the next one.
bool follows(const Code& code, std::size_t earlier, std::size_t period) {
  const Instruction& a = code[earlier];
  const Instruction& b = code[earlier + period];
  if (a.kind != Instruction::Kind::op || b.kind != a.kind || b.op != a.op) return false;
  if (b.type != a.type || b.in_type != a.in_type) return false;
  for (int k = 0; k < kernels::max_inputs; ++k) {
    const bool is_moved = b.operands[k] == a.operands[k] + static_cast<int>(period) && a.operands[k] >= 0;
    if (!is_moved && b.operands[k] != a.operands[k]) return false;
    for (int other = 0; other < k; ++other) {
      if (a.operands[other] == a.operands[k] && b.operands[other] != b.operands[k]) return false;
    }
  }
  return true;
}

/// Whether all turns read what a turn of the repeat may read: from the first turn on, always the same or always what
/// is moved, for what the first two turns read alike may be two turns back in the third.
bool reads_well(const Code& code, const Repeat& repeat) {
  for (std::size_t i = repeat.begin; i + repeat.period < repeat.end(); ++i) {
    const std::size_t first = repeat.in_first_turn(i);
    for (int k = 0; k < kernels::max_inputs; ++k) {
      const int operand = code[i].operands[k];
      if (operand < 0) continue;
      const auto from = static_cast<std::size_t>(operand);
      const bool is_fixed = code[i + repeat.period].operands[k] == operand;
      if (is_fixed != (code[first + repeat.period].operands[k] == code[first].operands[k])) return false;
      if (is_fixed ? from >= repeat.begin : from + repeat.period < repeat.begin) return false;
    }
  }
  return true;
}

/// Whether nothing else reads what turns before the last one have made.
bool is_read_at_its_end(const Expression& expression, const Repeat& repeat) {
  const auto is_fine = [&](int read) {
    return read < 0 || !repeat.holds(static_cast<std::size_t>(read)) ||
           static_cast<std::size_t>(read) + repeat.period >= repeat.end();
  };
  const auto& code = expression.code;
  return std::all_of(expression.results.begin(), expression.results.end(), is_fine) &&
         std::all_of(code.begin() + static_cast<std::ptrdiff_t>(repeat.end()), code.end(),
                     [&](const Instruction& each) {
                       return std::all_of(std::begin(each.operands), std::end(each.operands), is_fine);
                     });
}

/// Leaves the first turns to what comes before, where a loop of all would come out uneven.
void unroll(Repeat& repeat) {
  const std::size_t most = std::clamp<std::size_t>(ops_a_loop / repeat.period, 1, repeat.turns);
  repeat.unrolled = most;
  for (std::size_t turns = most; turns > most / 2; --turns) {
    if (repeat.turns % turns < repeat.turns % repeat.unrolled) repeat.unrolled = turns;
  }
  for (std::size_t turns = 1; turns <= repeat.unrolled && turns * repeat.period <= ops_a_loop_alone; ++turns) {
    if (repeat.unrolled % turns == 0) repeat.unrolled_alone = turns;
  }
  const std::size_t before = repeat.turns % repeat.unrolled;
  repeat.begin += before * repeat.period;
  repeat.turns -= before;
}

}  // namespace

std::optional<Repeat> find_repeat(const Expression& expression) {
  const Code& code = expression.code;
  const auto ops = static_cast<std::size_t>(std::count_if(
      code.begin(), code.end(), [](const Instruction& each) { return each.kind == Instruction::Kind::op; }));
  if (ops < least_ops) return std::nullopt;
  for (std::size_t period = 1; period <= longest_period; ++period) {
    for (std::size_t begin = 0; begin + period < code.size(); ++begin) {
      std::size_t same = 0;
      while (begin + same + period < code.size() && follows(code, begin + same, period)) ++same;
      const std::size_t turns = same / period + 1;
      // Up to the last op, since what that reads of its own turn it may be contracted with. The first turns may be
      // others' too.
      for (std::size_t without = 0; without < 3 && turns >= least_turns + without; ++without) {
        Repeat repeat{begin + same % period + without * period, period, turns - without};
        if (repeat.turns * period * 4 < ops * 3) break;
        if (!reads_well(code, repeat) || !is_read_at_its_end(expression, repeat)) continue;
        unroll(repeat);
        return repeat;
      }
      begin += same;
    }
  }
  return std::nullopt;
}

Loop::Loop(const Expression& expression, const Repeat& repeat)
    : e_(expression), repeat_(repeat), is_kept_(e_.code.size(), false), is_taken_over_(e_.code.size(), false) {
  const auto note = [&](int read, std::size_t reader) {
    if (read < 0) return;
    const std::optional<std::size_t> from = kept(read, reader);
    if (!from) return;
    is_kept_[*from] = true;
    if (takes_over(static_cast<std::size_t>(read), reader)) is_taken_over_[*from] = true;
  };
  for (std::size_t i = 0; i < e_.code.size(); ++i) {
    for (const int operand : e_.code[i].operands) note(operand, i);
  }
  for (const int result : e_.results) note(result, e_.code.size());
}

std::optional<std::size_t> Loop::kept(int read, std::size_t reader) const {
  const auto from = static_cast<std::size_t>(read);
  if (takes_over(from, reader)) return from + repeat_.period;
  const Instruction::Kind kind = e_.code[from].kind;
  const bool is_value =
      kind == Instruction::Kind::op || kind == Instruction::Kind::take || kind == Instruction::Kind::choose;
  if (!is_value || part_of(from) == part_of(reader)) return std::nullopt;
  return part_of(from) == 1 ? repeat_.in_first_turn(from) : from;
}

int Loop::part_of(std::size_t instruction) const noexcept {
  return instruction < repeat_.begin ? 0 : instruction < repeat_.end() ? 1 : 2;
}

/// Whether what an instruction of the first turn reads from before it is, in the next turn, of the turn before.
bool Loop::takes_over(std::size_t from, std::size_t reader) const noexcept {
  if (part_of(reader) != 1 || part_of(from) != 0) return false;
  const std::size_t first = repeat_.in_first_turn(reader);
  for (int k = 0; k < kernels::max_inputs; ++k) {
    if (e_.code[first].operands[k] == static_cast<int>(from)) {
      return e_.code[first + repeat_.period].operands[k] != static_cast<int>(from);
    }
  }
  return false;
}

}  // namespace refrain::jit
