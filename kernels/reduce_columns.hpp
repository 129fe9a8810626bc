#pragma once

#include <algorithm>
#include <memory>

#include "kernels/host_loops.hpp"
#include "kernels/reduce.hpp"

// The host's loops of rows that lie side by side: so many at a time that a cache line is used whole.

namespace refrain::kernels {

constexpr i64 tile = 256;

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

  REFRAIN_CLONES void take(Acc* acc, i64 i) const {
    const Stored<typename F::In>* elements = x + i * stride;
    const F common = folds[0];
    REFRAIN_INDEPENDENT
    for (i64 row = 0; row < rows; ++row) {
      const F& fold = own_folds ? folds[row] : common;
      acc[row] = fold.take(acc[row], fold.load(elements, row, position + i), position + i);
    }
  }
  REFRAIN_CLONES void combine(Acc* acc, const Acc* other) const {
    REFRAIN_INDEPENDENT
    for (i64 row = 0; row < rows; ++row) acc[row] = F::combine(acc[row], other[row]);
  }

  void reduce(Acc* acc, i64 first = 0, i64 step = 1) const {
    if (step == reduce_lanes || first + step >= count) {
      for (i64 row = 0; row < rows; ++row) acc[row] = F::identity();
      for (i64 i = first; i < count; i += reduce_lanes) take(acc, i);
      return;
    }
    reduce(acc, first, 2 * step);
    Acc other[tile];
    reduce(other, first + step, 2 * step);
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

/// Calls visit(x, row, rows) for tiles of all rows: `rows` from `row` on, the first of which starts at `x`.
template <class In, class Visit>
void for_each_tile(const ReduceArgs& args, Visit visit) {
  const i64 extent = args.kept_extents[args.kept_ndim - 1];
  for (i64 begin = 0; begin < args.rows; begin += extent) {
    const auto* line = static_cast<const Stored<In>*>(args.in) + row_offset(args, begin);
    for (i64 row = 0; row < extent; row += tile) visit(line + row, begin + row, std::min(extent - row, tile));
  }
}

/// As reduce_rows, where are_columns.
template <class P>
void reduce_columns(const ReduceArgs& args) {
  for_each_tile<typename P::In>(args, [&](const auto* x, i64 row, i64 rows) {
    for (i64 chunk = 0; chunk < args.chunks; ++chunk) {
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
  });
}

}  // namespace refrain::kernels
