#include "jit/host_moves.hpp"

#include "kernels/indices.hpp"

#include <algorithm>
#include <cstddef>

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
  const i64 size = taken.size;
  const auto fill = kernels::from_bits<Bits>(taken.fill);
  const auto take = [&](int ndim) {
    for (std::int64_t i = 0; i < n; ++i) {
      i64 place = 0;
      const bool is_there = kernels::find_index(index[i * indices.stride], size, ndim, extents, strides, place);
      to[i * out.stride] = is_there ? in[i * from.stride + place] : fill;
    }
  };
  taken.ndim == 1 ? take(1) : take(taken.ndim);
}

template <class Index>
TakeRow take_of(Type type) {
  constexpr TakeRow rows[] = {take_row<kernels::u8, Index>, take_row<kernels::u16, Index>,
                              take_row<kernels::u32, Index>, take_row<kernels::u64, Index>};
  return rows[kernels::size_exponent(type)];
}

}  // namespace

RowInput fetch(const Expression& expression, const Layout& input, const void* data, std::int64_t position,
               std::int64_t n, void* room) {
  const std::int64_t bytes = element_size(input.type);
  const auto from = [&](const Piece& piece) {
    return RowInput{static_cast<const std::byte*>(data) + piece.offset * bytes, piece.stride};
  };
  Walk walk(expression, position);
  Piece piece = walk.piece_of(input);
  if (piece.length >= n) return from(piece);
  const Row copy = kernels::Finders<kernels::RowOf>::copy(input.type, input.type);
  for (std::int64_t done = 0;;) {
    const std::int64_t length = std::min(piece.length, n - done);
    const RowInput row = from(piece);
    copy(&row, {static_cast<std::byte*>(room) + done * bytes, 1}, length);
    done += length;
    if (done == n) return {room, 1};
    walk.go_on(length);
    piece = walk.piece_of(input);
  }
}

TakeRow find_take(Type type, Type index_type) {
  return index_type == Type::int64 ? take_of<kernels::i64>(type) : take_of<kernels::i32>(type);
}

}  // namespace refrain::jit
