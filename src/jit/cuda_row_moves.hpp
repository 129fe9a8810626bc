#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <ostream>
#include <string>

// Elements of rows that are read one after another, each where it lies, in CUDA source: those that are read elsewhere
// than at the position that is computed, at some positions only, or along axes that are no line. The names that the
// text uses: `args`, `Index`, `Bound`, `begin` and `at` (the element of the row where the block's part of it begins,
// and the one from there on), `i0`, `i1`, ... (its index along each axis), `o5` (where that part of the row of array 5
// begins, or the row itself where it is no line).

namespace refrain::jit {

/// Whether an element of a row needs its index along the row's axes.
bool has_row_positions(const Expression& expression);

/// What the texts below use: types and functions.
void write_row_positions(std::ostream& text, const Expression& expression);

/// The index of element `begin + at` of a row along each of the row's axes. Their extents are in the text, so that the
/// same index need not be computed again for elements of a thread that lie below each other.
void write_row_index(std::ostream& text, const Expression& expression);

/// What wraps along axes before the row's add to where a row of an input begins; empty: nothing. `input`: its number.
std::string outer_wraps_text(const Expression& expression, const Layout& layout, std::size_t input);

/// Where an element lies from `o5` on. `array`: its number among outputs and inputs; `input`: among
/// inputs, whose wraps have that number.
std::string in_row_text(const Expression& expression, const Layout& layout, std::size_t array, std::size_t input);

}  // namespace refrain::jit
