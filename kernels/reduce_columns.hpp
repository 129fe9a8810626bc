#pragma once

#include <algorithm>
#include <memory>

#include "kernels/host_loops.hpp"
#include "kernels/reduce.hpp"
#include "kernels/split.hpp"

// The host's loops of rows that lie side by side: so many at a time that a cache line is used whole.

namespace refrain::kernels {

/// 8192^2 float32 on two cores take 9.5 ms so, in tiles of 1024 rows 12, of 512 14, of 256 20: memory wants runs.
constexpr i64 tile = 2048;

/// The folds of a tile's rows, where each has its own.
template <class F>
class TileOf {
 public:
  F* begin() { return reinterpret_cast<F*>(bytes_); }
  void set(i64 row, const F& fold) { std::construct_at(begin() + row, fold); }

 private:
  alignas(64) unsigned char bytes_[tile * sizeof(F)];
};

/// Chunks of `tile` rows or fewer: their lanes first, first + step, ..., in the order of combine_lanes, depth first.
/// `own_folds`: each row has a fold, else the first is that of all.
template <class F, bool own_folds>
struct Columns {
  using Acc = typename F::Acc;
  const F* folds;
  const Stored<typename F::In>* x;  ///< of the first row, at `position`
  i64 stride;                       ///< from one element of a row to the next
  i64 rows;
  i64 count;
  i64 position;

  /// Elements i, i + reduce_lanes, ..., `terms` of them, so that `acc` is read and written once for all.
  template <int terms>
  REFRAIN_CLONES void take(Acc* acc, i64 i) const {
    const Stored<typename F::In>* elements = x + i * stride;
    const F common = folds[0];
    REFRAIN_INDEPENDENT
    for (i64 row = 0; row < rows; ++row) {
      const F& fold = own_folds ? folds[row] : common;
      Acc taken = acc[row];
      for (i64 at = 0; at < terms * reduce_lanes; at += reduce_lanes) {
        taken = fold.take(taken, fold.load(elements + at * stride, row, position + i + at), position + i + at);
      }
      acc[row] = taken;
    }
  }
  /// Elements i, i + reduce_lanes, ...
  void take_lane(Acc* acc, i64 i) const {
    for (; i + 7 * reduce_lanes < count; i += 8 * reduce_lanes) take<8>(acc, i);
    for (; i + 3 * reduce_lanes < count; i += 4 * reduce_lanes) take<4>(acc, i);
    for (; i < count; i += reduce_lanes) take<1>(acc, i);
  }
  REFRAIN_CLONES void combine(Acc* acc, const Acc* other) const {
    REFRAIN_INDEPENDENT
    for (i64 row = 0; row < rows; ++row) acc[row] = F::combine(acc[row], other[row]);
  }

  /// The elements of a lane.
  void prefetch(i64 first) const {
    constexpr i64 line = 64 / sizeof(*x);
    for (i64 i = first; i < count; i += reduce_lanes) {
      for (i64 row = 0; row < rows; row += line) __builtin_prefetch(x + i * stride + row);
    }
  }

  /// `next`: the lane that comes after these. Where runs are too short for the processor to foresee, its elements are
  /// asked for while this one's are added: tiles of 128 rows take 32 ms so on one core, and 43 without.
  void reduce(Acc* acc, i64 first = 0, i64 step = 1, i64 next = reduce_chunk) const {
    if (step == reduce_lanes || first + step >= count) {
      for (i64 row = 0; row < rows; ++row) acc[row] = F::identity();
      constexpr i64 short_run = 256;
      if (rows <= short_run) prefetch(next);
      take_lane(acc, first);
      return;
    }
    reduce(acc, first, 2 * step, first + step);
    Acc other[tile];
    reduce(other, first + step, 2 * step, next);
    combine(acc, other);
  }
};

/// Elements [begin, begin + count) of the rows from `row` on, `rows` of them, the first of which starts at `x`.
template <bool own_folds, class F>
Columns<F, own_folds> columns_of(const ReduceArgs& args, const F* folds, const Stored<typename F::In>* x, i64 rows,
                                 i64 begin, i64 count) {
  const i64 stride = args.reduced_strides[0];
  return {folds, x + begin * stride, stride, rows, count, begin};
}

/// The results of a tile, by the second of two folds: each row has its own. All rows' maxima, or means, are of one
/// chunk or known.
template <class P>
void second_folds(const ReduceArgs& args, const Stored<typename P::In>* x, i64 row, i64 rows,
                  TileOf<typename P::Second>& folds) {
  if (args.other != nullptr) {
    for (i64 k = 0; k < rows; ++k) folds.set(k, P::known(args, row + k));
    return;
  }
  const typename P::First first(args);
  typename P::First::Acc results[tile];
  columns_of<false>(args, &first, x, rows, 0, args.n).reduce(results);
  for (i64 k = 0; k < rows; ++k) folds.set(k, P::second(args, results[k]));
}

/// All rows in tiles of neighbours. Narrower ones than a whole tile where that gives each thread something to do, and
/// something to take from one that is late.
class Tiles {
 public:
  Tiles(const ReduceArgs& args, const Split& split)
      : args_(args), extent_(args.kept_extents[args.kept_ndim - 1]), lines_(args.rows / extent_) {
    const i64 wanted = std::min(split.parts(), tiles_a_thread * split.threads());
    while (width_ > narrowest && count() * args.chunks < wanted) width_ /= 2;
  }

  i64 count() const { return lines_ * in_line(); }

  /// visit(x, row, rows) for tile `number`: `rows` from `row` on, the first of which starts at `x`.
  template <class In, class Visit>
  void visit(i64 number, Visit visit) const {
    const i64 begin = number / in_line() * extent_;
    const i64 row = number % in_line() * width_;
    const auto* line = static_cast<const Stored<In>*>(args_.in) + row_offset(args_, begin);
    visit(line + row, begin + row, std::min(extent_ - row, width_));
  }

 private:
  static constexpr i64 tiles_a_thread = 4;
  /// 8192^2 float32 on one core in tiles of 64 rows take 42 ms, of 32 51, of 16 84.
  static constexpr i64 narrowest = 32;
  i64 in_line() const { return (extent_ - 1) / width_ + 1; }

  const ReduceArgs& args_;
  i64 extent_;
  i64 lines_;
  i64 width_ = tile;
};

/// Chunk `chunk` of a tile.
template <class P>
void reduce_tile(const ReduceArgs& args, const Stored<typename P::In>* x, i64 row, i64 rows, i64 chunk) {
  const i64 begin = chunk * reduce_chunk;
  const i64 count = std::min(args.n - begin, reduce_chunk);
  if constexpr (P::passes == 1) {
    const P fold(args);
    typename P::Acc acc[tile];
    columns_of<false>(args, &fold, x, rows, begin, count).reduce(acc);
    for (i64 k = 0; k < rows; ++k) fold.store(args, (row + k) * args.chunks + chunk, acc[k]);
  } else {
    TileOf<typename P::Second> folds;
    second_folds<P>(args, x, row, rows, folds);
    typename P::Second::Acc acc[tile];
    columns_of<true>(args, folds.begin(), x, rows, begin, count).reduce(acc);
    for (i64 k = 0; k < rows; ++k) folds.begin()[k].store(args, (row + k) * args.chunks + chunk, acc[k]);
  }
}

/// As reduce_rows, where are_columns.
template <class P>
void reduce_columns(const ReduceArgs& args, const Split& split) {
  using In = typename P::In;
  const Tiles tiles(args, split);
  split(tiles.count() * args.chunks, 1, [&](i64 at, i64 end) {
    for (; at < end; ++at) {
      tiles.visit<In>(at / args.chunks,
                      [&](const auto* x, i64 row, i64 rows) { reduce_tile<P>(args, x, row, rows, at % args.chunks); });
    }
  });
}

}  // namespace refrain::kernels
