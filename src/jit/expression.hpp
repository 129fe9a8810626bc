#pragma once

#include "kernels/args.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace refrain::jit {

/// Axes of an expression's, seen as one, along which an input is read `shift` positions before, around their end.
struct Wrap {
  int first = 0;
  int last = 0;
  std::int64_t extent = 1;  ///< the product of theirs
  std::int64_t shift = 0;   ///< 1 to extent - 1
  std::int64_t stride = 0;  ///< in elements; the layout's own strides along these axes are 0

  bool operator==(const Wrap&) const = default;
};

/// Axes of an input's that an index counts along, in row-major order.
struct Taken {
  std::int64_t size = 0;  ///< of all together
  int ndim = 0;
  std::int64_t extents[kernels::max_ndim] = {};
  std::int64_t strides[kernels::max_ndim] = {};
  kernels::u64 fill = 0;  ///< scalar_bits of what stands for an element that is not there

  bool operator==(const Taken&) const = default;
};

/// Positions that a part of an expression is about: [begin, end) along each axis.
struct Window {
  std::int64_t begin[kernels::max_ndim] = {};
  std::int64_t end[kernels::max_ndim] = {};

  bool operator==(const Window&) const = default;
};

/// How an array's elements lie over an expression's positions.
struct Layout {
  kernels::Type type = kernels::Type::float32;
  bool is_dense = true;                          ///< position i is element i
  bool is_single = false;                        ///< every position is the first element
  std::int64_t strides[kernels::max_ndim] = {};  ///< in elements, by the expression's axes
  /// Of an output: an input lies in the same memory, so that nothing is written before all is read.
  bool is_in_place = false;
  // Of inputs that are read elsewhere, which is memory of no output, or at some positions only.
  std::vector<Wrap> wraps;
  int window = -1;             ///< outside of this one nothing is read, and the value is any; -1: there is none
  std::optional<Taken> taken;  ///< what an index leads to comes to what the strides say

  bool operator==(const Layout&) const = default;
};

/// Whether an input is read elsewhere, or at some positions only.
inline bool is_elsewhere(const Layout& layout) { return !layout.wraps.empty() || layout.taken || layout.window >= 0; }

/// One value at each position.
struct Instruction {
  /// `take`: the element of an input that operand 0, an integer, leads to. `choose`: operand 0 within a window, else
  /// operand 1.
  enum class Kind : std::uint8_t { load, scalar, op, draw, take, choose, reduce };

  Kind kind = Kind::op;
  kernels::ElementwiseOp op = kernels::ElementwiseOp::copy;
  kernels::Type type = kernels::Type::float32;     ///< of the value
  kernels::Type in_type = kernels::Type::float32;  ///< of an op: of its operands, but the first of `where`
  int operands[kernels::max_inputs] = {-1, -1, -1};
  int number = 0;  ///< of the input, the scalar, the draw, the window or the reduction

  int operand_count() const noexcept {
    int count = 0;
    while (count < kernels::max_inputs && operands[count] >= 0) ++count;
    return count;
  }
  bool operator==(const Instruction&) const = default;
};

/// What a row's elements are reduced to, in the order of kernels/reduce.hpp. `var`: the sum of squared distances from
/// the instruction's second operand.
struct Reduction {
  kernels::ReduceOp op = kernels::ReduceOp::sum;
  kernels::Type in_type = kernels::Type::float32;
  kernels::Type acc_type = kernels::Type::float64;
  kernels::Type out_type = kernels::Type::float32;
  double divisor = 1;  ///< of the result
  bool root = false;   ///< the result is the square root

  bool operator==(const Reduction&) const = default;
};

/// Random numbers of an expression. All draws of one are laid out over as many threads.
struct Draw {
  kernels::Distribution distribution = kernels::Distribution::uniform;
  kernels::Type type = kernels::Type::float32;
  bool is_counted = false;  ///< in a graph: seed and offset are those of the counters
  int same_as = -1;         ///< an earlier draw of the same generator, whose counters say where both begin
  bool is_unit = false;     ///< uniform from 0 to 1

  bool operator==(const Draw&) const = default;
};

/// Several elementwise commands as one: what is computed at each of `size` positions, as data. Backends make a kernel
/// or a loop of it. Bit for bit what the commands give one after another, for each value is rounded to its type, unless
/// it is contracted.
struct Expression {
  std::int64_t size = 0;  ///< > 0
  int ndim = 1;
  std::int64_t extents[kernels::max_ndim] = {};  ///< of the positions, row-major
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  std::vector<Window> windows;
  std::vector<kernels::Type> scalars;
  std::vector<Draw> draws;
  /// Over the last `row_ndim` axes, which together are as long as their rows. Beside draws: sums of integers over all
  /// positions, in any order, in `parts` parts whose sum they are.
  std::vector<Reduction> reductions;
  int row_ndim = 1;
  std::int64_t parts = 0;
  int grid = 0;                   ///< blocks that the draws are laid out over
  std::vector<Instruction> code;  ///< operands come before their users
  std::vector<int> results;       ///< by output: the instruction whose value it gets
  bool is_contracted = false;     ///< a product and the sum it is added to may be rounded as one

  bool is_dense() const noexcept { return ndim == 1; }
  bool has_rows() const noexcept { return !reductions.empty() && draws.empty(); }
  bool has_sums() const noexcept { return !reductions.empty() && !draws.empty(); }
  /// Whether an output is the parts of a sum.
  bool is_sum(std::size_t output) const noexcept {
    return code[static_cast<std::size_t>(results[output])].kind == Instruction::Kind::reduce && has_sums();
  }
  /// The first of a row's axes.
  int row_axis() const noexcept { return ndim - row_ndim; }
  std::int64_t row_length() const noexcept;
  std::int64_t rows() const noexcept { return size / row_length(); }
  /// Whether an array has one element a row, or for `take` one where an index begins to count.
  bool is_of_rows(const Layout& layout) const noexcept;
  /// Whether each row lies in the window as a whole or not at all.
  bool has_whole_rows(const Window& window) const noexcept;
  /// Whether an input is read elsewhere than at the position, or at some positions only.
  bool is_moved() const noexcept;
  std::size_t arrays() const noexcept { return outputs.size() + inputs.size(); }
  /// Of an array, of the outputs first, then the inputs.
  const Layout& layout(std::size_t array) const noexcept {
    return array < outputs.size() ? outputs[array] : inputs[array - outputs.size()];
  }
  bool operator==(const Expression&) const = default;
};

/// What all expressions that are at their positions have in common that the same kernel, or the same loops, can run:
/// sizes, extents and strides are their parameters, as far as not even the inner stride's kind (0, 1, another) differs.
Expression structure_of(const Expression& expression);

/// Whether both walk along the same axes, or `expression` can: one axis, arrays that are dense or one element.
bool can_walk_along(const Expression& expression, const Expression& axes) noexcept;

/// Both at each position: outputs, inputs, scalars and instructions of one, and after each of them those of the other.
/// Neither has draws, and one of them can walk along the other's axes.
Expression side_by_side(const Expression& a, const Expression& b);

}  // namespace refrain::jit
