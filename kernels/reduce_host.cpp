#include "kernels/reduce.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/host.hpp"
#include "kernels/host_loops.hpp"

namespace refrain::kernels {
namespace {

/// Reads elements as they are computed with.
template <class In>
In read(const Stored<In>* x, i64 at) {
  if constexpr (is_same<In, bool>) {
    return x[at] != 0;
  } else {
    return x[at];
  }
}

/// Combines lanes [0, width) of a chunk whose other lanes are empty; what is added to a lane by an empty one is
/// nothing.
template <class R>
REFRAIN_CLONES typename R::Acc combine_lanes(typename R::Acc* lanes, i64 width) {
  i64 half = 1;
  while (half < width) half *= 2;
  for (i64 lane = width; lane < half; ++lane) lanes[lane] = R::identity();
  for (half /= 2; half > 0; half /= 2) {
    REFRAIN_INDEPENDENT
    for (i64 lane = 0; lane < half; ++lane) lanes[lane] = R::combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

/// `count` elements that lie side by side, the first of which is at `position` in its row.
template <class R>
REFRAIN_CLONES typename R::Acc dense_chunk(const Stored<typename R::In>* x, i64 count, i64 position) {
  alignas(64) typename R::Acc lanes[reduce_lanes];
  const i64 width = count < reduce_lanes ? count : reduce_lanes;
  for (i64 lane = 0; lane < width; ++lane) lanes[lane] = R::identity();
  for (i64 begin = 0; begin < count; begin += reduce_lanes) {
    const i64 n = count - begin < reduce_lanes ? count - begin : reduce_lanes;
    REFRAIN_INDEPENDENT
    for (i64 lane = 0; lane < n; ++lane) {
      lanes[lane] = R::take(lanes[lane], read<typename R::In>(x, begin + lane), position + begin + lane);
    }
  }
  return combine_lanes<R>(lanes, width);
}

/// Elements anywhere: `at(i)` is where element i of the row is.
template <class R, class At>
typename R::Acc scattered_chunk(const Stored<typename R::In>* x, i64 count, i64 position, At at) {
  typename R::Acc lanes[reduce_lanes];
  const i64 width = count < reduce_lanes ? count : reduce_lanes;
  for (i64 lane = 0; lane < width; ++lane) lanes[lane] = R::identity();
  for (i64 i = 0; i < count; ++i) {
    auto& lane = lanes[i % reduce_lanes];
    lane = R::take(lane, read<typename R::In>(x, at(position + i)), position + i);
  }
  return combine_lanes<R>(lanes, width);
}

/// Rows side by side are reduced together, so many at a time.
constexpr i64 tile = 256;

/// The combined lanes first, first + step, ... of `tile` rows or fewer: the order of combine_lanes, depth first.
template <class R>
struct Columns {
  using Acc = typename R::Acc;
  const Stored<typename R::In>* x;  ///< of the first row, at `position`
  i64 stride;                       ///< from one element of a row to the next
  i64 rows;
  i64 count;
  i64 position;

  REFRAIN_CLONES void take(Acc* acc, i64 i) const {
    const Stored<typename R::In>* elements = x + i * stride;
    REFRAIN_INDEPENDENT
    for (i64 row = 0; row < rows; ++row) {
      acc[row] = R::take(acc[row], read<typename R::In>(elements, row), position + i);
    }
  }
  REFRAIN_CLONES void combine(Acc* acc, const Acc* other) const {
    REFRAIN_INDEPENDENT
    for (i64 row = 0; row < rows; ++row) acc[row] = R::combine(acc[row], other[row]);
  }

  void reduce(Acc* acc, i64 first, i64 step) const {
    if (step == reduce_lanes || first + step >= count) {
      for (i64 row = 0; row < rows; ++row) acc[row] = R::identity();
      for (i64 i = first; i < count; i += reduce_lanes) take(acc, i);
      return;
    }
    reduce(acc, first, 2 * step);
    Acc other[tile];
    reduce(other, first + step, 2 * step);
    combine(acc, other);
  }
};

/// Chunks of all rows, one after another.
template <class R>
void reduce_rows(const ReduceArgs& args) {
  using In = typename R::In;
  const auto* x = static_cast<const Stored<In>*>(args.in);
  const bool is_line = args.reduced_ndim <= 1;
  const i64 step = args.reduced_ndim == 0 ? 0 : args.reduced_strides[args.reduced_ndim - 1];
  for (i64 row = 0; row < args.rows; ++row) {
    const auto* first = x + offset_along(args.kept_ndim, args.kept_extents, args.kept_strides, row);
    for (i64 chunk = 0; chunk < args.chunks; ++chunk) {
      const i64 position = chunk * reduce_chunk;
      const i64 count = std::min(args.n - position, reduce_chunk);
      typename R::Acc acc;
      if (is_line && step == 1) {
        acc = dense_chunk<R>(first + position, count, position);
      } else if (is_line) {
        acc = scattered_chunk<R>(first, count, position, [=](i64 i) { return i * step; });
      } else {
        acc = scattered_chunk<R>(first, count, position, [&](i64 i) {
          return offset_along(args.reduced_ndim, args.reduced_extents, args.reduced_strides, i);
        });
      }
      store_result(args, row * args.chunks + chunk, acc);
    }
  }
}

/// As reduce_rows, where neighbouring rows lie side by side and a row's elements are equally far apart.
template <class R>
void reduce_columns(const ReduceArgs& args) {
  using In = typename R::In;
  const auto* x = static_cast<const Stored<In>*>(args.in);
  const i64 extent = args.kept_extents[args.kept_ndim - 1];
  for (i64 begin = 0; begin < args.rows; begin += extent) {
    const auto* line = x + offset_along(args.kept_ndim, args.kept_extents, args.kept_strides, begin);
    for (i64 chunk = 0; chunk < args.chunks; ++chunk) {
      const i64 position = chunk * reduce_chunk;
      for (i64 row = 0; row < extent; row += tile) {
        Columns<R> columns{line + position * args.reduced_strides[0] + row, args.reduced_strides[0],
                           std::min(extent - row, tile), std::min(args.n - position, reduce_chunk), position};
        typename R::Acc acc[tile];
        columns.reduce(acc, 0, 1);
        for (i64 k = 0; k < columns.rows; ++k) store_result(args, (begin + row + k) * args.chunks + chunk, acc[k]);
      }
    }
  }
}

template <class R>
struct HostReduction {
  static constexpr auto make() {
    return +[](const ReduceArgs& args) {
      const bool columns = args.reduced_ndim == 1 && args.reduced_strides[0] != 1 && args.kept_ndim > 0 &&
                           args.kept_strides[args.kept_ndim - 1] == 1 && args.kept_extents[args.kept_ndim - 1] > 1;
      columns ? reduce_columns<R>(args) : reduce_rows<R>(args);
    };
  }
};

}  // namespace

void reduce_host(const ReduceArgs& args) { find_reduction<HostReduction>(args.op, args.in_type, args.acc_type)(args); }

}  // namespace refrain::kernels
