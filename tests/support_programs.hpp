#pragma once

#include "support.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

// Random programs over a few arrays: on several streams that fork and join, with writes in place, views, moves, draws,
// reductions, host functions and commands of other code's.

namespace refrain::test {

/// A program over arrays of many sizes, issued in one line; the same seed gives the same one.
Array program_of_many_sizes(unsigned seed);

/// One step: what it does, on which stream, and to which values.
struct Step {
  int kind;
  std::size_t stream;
  std::size_t target;
  std::size_t left;
  std::size_t right;
  unsigned choice;
};

/// A program; the same numbers give the same one.
std::vector<Step> make_program(std::mt19937& random);

std::ostream& operator<<(std::ostream& out, const Step& step);

/// Whether the program uses ProgramMachine::factor.
bool has_factor(const std::vector<Step>& program);

/// Runs programs on arrays that it keeps from run to run.
class ProgramMachine {
 public:
  ProgramMachine(std::int64_t rows, std::int64_t columns);

  /// Arrays and random numbers as they were at the beginning.
  void reset();

  /// What the programs multiply with; its value is that of the program's run of that number.
  Param<float>& factor() { return factor_; }
  static float factor_at(int run) { return 0.5F + static_cast<float>(run) * 0.25F; }

  /// All that can be read afterwards, all of it float32.
  std::vector<Array> run(const std::vector<Step>& program);

 private:
  void execute(const Step& step);
  void wait_for_undeclared(const Step& step);
  void blend_undeclared(const Step& step);
  void write_view(Array& target, const Array& source, unsigned choice) const;
  Array reduced(const Array& a, unsigned choice) const;
  Array drawn(unsigned choice) const;
  static Array moved(const Array& a, unsigned choice);
  /// The small ones of the choice; what they are assigned is kept in their memory.
  template <class Fn>
  void each_small(const Step& step, Fn change);
  void add(const Array& value) { values_.push_back(value); }

  Shape shape() const { return {rows_, columns_}; }
  Array initial(std::size_t number) const;
  static Array initial_small(std::size_t number);

  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<Stream> streams_;
  std::vector<Array> states_;
  std::vector<Array> smalls_;
  std::vector<Array> first_states_, first_smalls_;  ///< what they hold at the beginning
  std::vector<Array> values_;                       ///< the states, and what steps have made
  std::vector<Event> events_;
  /// Of a state, what an undeclared command needs to know, whose memory is the program's to order.
  struct Order {
    std::vector<bool> is_used_on;  ///< by stream: since the last undeclared one
    std::optional<Event> undeclared;
  };
  std::vector<Order> orders_;
  Param<float> factor_{1, "factor"};
};

}  // namespace refrain::test
