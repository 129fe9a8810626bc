#pragma once

#include <algorithm>

#include "kernels/host_loops.hpp"
#include "kernels/reduce_choices.hpp"
#include "kernels/split.hpp"

// The host's loops of one row: chunks, and what they are combined from. `first` is the row's first element; a fold is
// passed by value so that the loops know what it is.

namespace refrain::kernels {

/// Combines lanes [0, width) of a chunk whose other lanes are empty; what is added to a lane by an empty one is
/// nothing.
template <class F>
REFRAIN_CLONES typename F::Acc combine_lanes(F fold, typename F::Acc* lanes, i64 width) {
  i64 half = 1;
  while (half < width) half *= 2;
  for (i64 lane = width; lane < half; ++lane) lanes[lane] = F::identity();
  for (half /= 2; half > 0; half /= 2) {
    REFRAIN_INDEPENDENT
    for (i64 lane = 0; lane < half; ++lane) lanes[lane] = fold.combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

/// `count` elements that lie side by side, the first of which is at `position` in its row.
template <class F>
REFRAIN_CLONES typename F::Acc dense_chunk(F fold, const Stored<typename F::In>* x, i64 count, i64 position) {
  alignas(64) typename F::Acc lanes[reduce_lanes];
  const i64 width = count < reduce_lanes ? count : reduce_lanes;
  for (i64 lane = 0; lane < width; ++lane) lanes[lane] = F::identity();
  for (i64 begin = 0; begin < count; begin += reduce_lanes) {
    const i64 n = count - begin < reduce_lanes ? count - begin : reduce_lanes;
    REFRAIN_INDEPENDENT
    for (i64 lane = 0; lane < n; ++lane) {
      const i64 i = begin + lane;
      lanes[lane] = fold.take(lanes[lane], fold.load_dense(x, i, position + i), position + i);
    }
  }
  return combine_lanes(fold, lanes, width);
}

/// The largest rank, then where it is: which is the first one does not depend on the order.
template <class In>
REFRAIN_CLONES Found dense_chunk(Position<In> fold, const Stored<In>* x, i64 count, i64 position) {
  u64 largest = 0;
  for (i64 i = 0; i < count; ++i) largest = std::max(largest, fold.rank(x[i]));
  constexpr i64 step = 256;
  for (i64 begin = 0; begin < count; begin += step) {
    const i64 end = std::min(begin + step, count);
    u64 others = ~u64{0};
    for (i64 i = begin; i < end; ++i) others = std::min(others, largest - fold.rank(x[i]));
    if (others != 0) continue;
    for (i64 i = begin; i < end; ++i) {
      if (fold.rank(x[i]) == largest) return {largest, position + i};
    }
  }
  return fold.identity();
}

/// Elements anywhere: `at(i)` is where element i of the row is.
template <class F, class At>
typename F::Acc scattered_chunk(F fold, const Stored<typename F::In>* first, i64 count, i64 position, At at) {
  typename F::Acc lanes[reduce_lanes];
  const i64 width = count < reduce_lanes ? count : reduce_lanes;
  for (i64 lane = 0; lane < width; ++lane) lanes[lane] = F::identity();
  for (i64 i = position; i < position + count; ++i) {
    auto& lane = lanes[(i - position) % reduce_lanes];
    lane = fold.take(lane, fold.load(first, at(i), i), i);
  }
  return combine_lanes(fold, lanes, width);
}

/// One chunk of a row.
template <class F>
typename F::Acc reduce_chunk_of(const ReduceArgs& args, F fold, const Stored<typename F::In>* first, i64 position,
                                i64 count) {
  if (are_dense(args) && fold.is_dense()) return dense_chunk(fold, first + position, count, position);
  if (args.reduced_ndim == 1) {
    const i64 step = args.reduced_strides[0];
    return scattered_chunk(fold, first, count, position, [=](i64 i) { return i * step; });
  }
  return scattered_chunk(fold, first, count, position, [&](i64 i) { return element_offset(args, i); });
}

/// Elements [begin, end) of a row, of as many chunks as there are lanes at most; a part is some of the chunks.
template <class F>
typename F::Acc reduce_row(const ReduceArgs& args, F fold, const Stored<typename F::In>* first, i64 begin, i64 end,
                           const Split& split) {
  typename F::Acc results[reduce_lanes];
  const i64 chunks = (end - begin - 1) / reduce_chunk + 1;
  split(chunks, 1, [&](i64 chunk, i64 last) {
    for (; chunk < last; ++chunk) {
      const i64 position = begin + chunk * reduce_chunk;
      results[chunk] = reduce_chunk_of(args, fold, first, position, std::min(end - position, reduce_chunk));
    }
  });
  return combine_lanes(fold, results, chunks);
}

/// Whether parts are of one row: there are not enough rows, but chunks in them.
inline bool are_rows_split(const ReduceArgs& args, const Split& split) {
  return args.rows < split.parts() && args.n > reduce_chunk;
}

/// One chunk of a row, or the whole row where that has one result.
template <class P>
void reduce_result(const ReduceArgs& args, i64 row, i64 chunk, const Split& split) {
  const auto* first = static_cast<const Stored<typename P::In>*>(args.in) + row_offset(args, row);
  const i64 step = args.chunks == 1 ? args.n : reduce_chunk;
  const i64 begin = chunk * step;
  const i64 end = std::min(args.n, begin + step);
  const i64 at = row * args.chunks + chunk;
  if constexpr (P::passes == 1) {
    const P fold(args);
    fold.store(args, at, reduce_row(args, fold, first, begin, end, split));
  } else {
    const auto fold = args.other != nullptr
                          ? P::known(args, row)
                          : P::second(args, reduce_row(args, typename P::First(args), first, 0, args.n, split));
    fold.store(args, at, reduce_row(args, fold, first, begin, end, split));
  }
}

/// Chunks of all rows.
template <class P>
void reduce_rows(const ReduceArgs& args, const Split& split) {
  if (args.chunks > 1) {
    return split(args.rows * args.chunks, 1, [&](i64 at, i64 end) {
      for (; at < end; ++at) reduce_result<P>(args, at / args.chunks, at % args.chunks, {});
    });
  }
  if (are_rows_split(args, split)) {
    for (i64 row = 0; row < args.rows; ++row) reduce_result<P>(args, row, 0, split);
    return;
  }
  split(args.rows, 1, [&](i64 row, i64 end) {
    for (; row < end; ++row) reduce_result<P>(args, row, 0, {});
  });
}

}  // namespace refrain::kernels
