#pragma once

#include "jit/expression.hpp"
#include "kernels/elementwise_rows.hpp"

#include <algorithm>
#include <cstdint>

// Inputs of expressions that are read elsewhere than at the position that is computed, on the host.

namespace refrain::jit {

/// Elements of an array at neighbouring positions that lie in one line.
struct Piece {
  std::int64_t offset = 0;  ///< of the first, in elements
  std::int64_t stride = 0;
  std::int64_t length = 0;
};

/// A position, by its index along each axis.
class Walk {
 public:
  Walk(const Expression& expression, std::int64_t position) : e_(expression), last_(expression.ndim - 1) {
    for (int axis = last_; axis > 0; --axis) {
      const std::int64_t outer = position / e_.extents[axis];
      index_[axis] = position - outer * e_.extents[axis];
      position = outer;
    }
    index_[0] = position;
  }

  /// One entry an axis.
  std::int64_t* index() { return index_; }

  /// The piece of an array that begins here.
  Piece piece_of(const Layout& array) const {
    Piece piece{0, array.strides[last_], e_.extents[last_] - index_[last_]};
    for (int axis = 0; axis <= last_; ++axis) piece.offset += index_[axis] * array.strides[axis];
    for (const Wrap& wrap : array.wraps) {
      std::int64_t at = index_[wrap.first];
      for (int axis = wrap.first + 1; axis <= wrap.last; ++axis) at = at * e_.extents[axis] + index_[axis];
      const bool is_turned = at < wrap.shift;
      piece.offset += (at - wrap.shift + (is_turned ? wrap.extent : 0)) * wrap.stride;
      if (wrap.last != last_) continue;
      piece.stride = wrap.stride;
      piece.length = (is_turned ? wrap.shift : wrap.extent) - at;
    }
    return piece;
  }

  void go_on(std::int64_t positions) {
    index_[last_] += positions;
    for (int axis = last_; axis > 0 && index_[axis] >= e_.extents[axis]; --axis) {
      const std::int64_t rows = index_[axis] / e_.extents[axis];
      index_[axis] -= rows * e_.extents[axis];
      index_[axis - 1] += rows;
    }
  }

 private:
  const Expression& e_;
  int last_;
  std::int64_t index_[kernels::max_ndim];
};

/// Calls visit(done, piece) for each piece of n positions from `position` on, `done` positions further.
template <class Visit>
void over_pieces(const Expression& expression, const Layout& array, std::int64_t position, std::int64_t n,
                 Visit visit) {
  Walk walk(expression, position);
  for (std::int64_t done = 0; done < n;) {
    Piece piece = walk.piece_of(array);
    piece.length = std::min(piece.length, n - done);
    visit(done, piece);
    walk.go_on(piece.length);
    done += piece.length;
  }
}

/// The elements of n positions from `position` on: where they are, if they are in one line, else copied to `room`.
kernels::RowInput fetch(const Expression& expression, const Layout& input, const void* data, std::int64_t position,
                        std::int64_t n, void* room);

/// n elements, each the one that its index leads to from what `from` has at its position.
using TakeRow = void (*)(const Taken& taken, kernels::RowInput from, kernels::RowInput indices, kernels::RowOutput out,
                         std::int64_t n);

TakeRow find_take(kernels::Type type, kernels::Type index_type);

}  // namespace refrain::jit
