#include "jit/host_moves.hpp"

#include "kernels/indices.hpp"

#include <algorithm>

namespace refrain::jit {

using kernels::element_size;
using kernels::i64;
using kernels::Row;
using kernels::RowInput;
using kernels::RowOutput;
using kernels::Type;

namespace {

template <class Bits, class Index>
void take_row(const Taken& taken, RowInput from, RowInput indices, RowOutput out, std::int64_t n) {
  const auto* const in = static_cast<const Bits*>(from.data);
  const auto* const index = static_cast<const Index*>(indices.data);
  auto* const to = static_cast<Bits*>(out.data);
  i64 extents[kernels::max_ndim];
  i64 strides[kernels::max_ndim];
  std::copy_n(taken.extents, kernels::max_ndim, extents);
  std::copy_n(taken.strides, kernels::max_ndim, strides);
  for (std::int64_t i = 0; i < n; ++i) {
    i64 place = 0;
    to[i * out.stride] = kernels::find_index(index[i * indices.stride], taken.size, taken.ndim, extents, strides, place)
                             ? in[i * from.stride + place]
                             : kernels::from_bits<Bits>(taken.fill);
  }
}

template <class Index>
TakeRow take_of(Type type) {
  constexpr TakeRow rows[] = {take_row<kernels::u8, Index>, take_row<kernels::u16, Index>,
                              take_row<kernels::u32, Index>, take_row<kernels::u64, Index>};
  return rows[kernels::size_exponent(type)];
}

}  // namespace

Piece piece_at(const Expression& expression, const Layout& input, std::int64_t position) {
  const int last = expression.ndim - 1;
  std::int64_t index[kernels::max_ndim];
  std::int64_t rest = position;
  for (int axis = last; axis > 0; --axis) {
    const std::int64_t outer = rest / expression.extents[axis];
    index[axis] = rest - outer * expression.extents[axis];
    rest = outer;
  }
  index[0] = rest;
  Piece piece{0, input.strides[last], expression.extents[last] - index[last]};
  for (int axis = 0; axis <= last; ++axis) piece.offset += index[axis] * input.strides[axis];
  for (const Wrap& wrap : input.wraps) {
    std::int64_t at = 0;
    for (int axis = wrap.first; axis <= wrap.last; ++axis) at = at * expression.extents[axis] + index[axis];
    const bool is_turned = at < wrap.shift;
    const std::int64_t from = at - wrap.shift + (is_turned ? wrap.extent : 0);
    piece.offset += from * wrap.stride;
    if (wrap.last != last) continue;
    piece.stride = wrap.stride;
    piece.length = (is_turned ? wrap.shift : wrap.extent) - at;
  }
  return piece;
}

RowInput fetch(const Expression& expression, const Layout& input, const void* data, std::int64_t position,
               std::int64_t n, void* room) {
  const std::int64_t bytes = element_size(input.type);
  const auto from = [&](const Piece& piece) {
    return RowInput{static_cast<const std::byte*>(data) + piece.offset * bytes, piece.stride};
  };
  Piece piece = piece_at(expression, input, position);
  if (piece.length >= n) return from(piece);
  const Row copy = kernels::Finders<kernels::RowOf>::copy(input.type, input.type);
  for (std::int64_t done = 0;;) {
    const std::int64_t length = std::min(piece.length, n - done);
    const RowInput row = from(piece);
    copy(&row, {static_cast<std::byte*>(room) + done * bytes, 1}, length);
    done += length;
    if (done == n) return {room, 1};
    piece = piece_at(expression, input, position + done);
  }
}

TakeRow find_take(Type type, Type index_type) {
  return index_type == Type::int64 ? take_of<kernels::i64>(type) : take_of<kernels::i32>(type);
}

}  // namespace refrain::jit
