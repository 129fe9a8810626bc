#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

// Inputs that are read elsewhere than at the position that is computed, and windows, in CUDA source. The names that the
// text uses: `args`, `Index`, `at` (the first of n positions), `i0`, `i1`, ... (its index along each axis), `o5` (what
// the strides of array 5 make of them).

namespace refrain::jit {

/// Whether indices and offsets fit 32 bits.
bool is_narrow(const Expression& expression);

/// The types of what kernels are given for such inputs, and functions; none where there are no such inputs.
void write_move_types(std::ostream& text, const Expression& expression);
/// The members of `args`, one for each such input and window.
void write_move_members(std::ostream& text, const Expression& expression);
/// Their values, as the kernel has them. `addresses`: of the inputs. `width`: positions of a vector access.
std::vector<std::int64_t> move_members(const Expression& expression, void* const* addresses, std::int64_t width);

/// The load of an input with wraps to the vector `x3`; `array`: its number among outputs and inputs.
void write_moved_load(std::ostream& text, const Expression& expression, std::size_t input, std::size_t array,
                      const std::string& type);
/// The load of an input with a window.
void write_windowed_load(std::ostream& text, const Expression& expression, std::size_t input, std::size_t array,
                         const std::string& type);
/// Whether a position is within a window: position `i` of n, or by `further` in place of " + i" another one.
std::string window_text(const Expression& expression, int window, const char* further = " + i");
/// A member of `args` as an index.
std::string as_index(const std::string& member);
/// The value of `take`: an expression of position `i` of n and the index's name.
std::string take_text(const Expression& expression, std::size_t input, std::size_t array, const std::string& type,
                      const std::string& index);

/// What divides 0 <= x < 2^31 by `by` > 0: (high 32 bits of x * factor, and x) >> shift.
struct Divisor {
  std::uint32_t factor;
  std::uint32_t shift;
};
Divisor divisor(std::int64_t by);

}  // namespace refrain::jit
