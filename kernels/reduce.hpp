#pragma once

#include "kernels/elementwise.hpp"
#include "kernels/offsets.hpp"

// The order of every reduction, a function of the number of elements alone, the same on the host and on devices:
//
//   * Elements, in row-major order of the reduced axes, are cut into chunks of reduce_chunk; the results of the chunks
//     are reduced in the same way, until one is left.
//   * In a chunk, element i belongs to lane i % reduce_lanes. A lane starts from the op's identity and takes its
//     elements in order.
//   * Lanes are combined by halves: with s = reduce_lanes / 2, ..., 2, 1, lane l takes lane l + s, for each l < s.
//
// What it computes in (`acc_type`): float64 for float32, float32 for the 16-bit types, int64 for integers. min and max
// keep the type. Host, nvcc and NVRTC take this file; the folds are in reduce_folds.hpp.

namespace refrain::kernels {

inline constexpr i64 reduce_lanes = 1024;
inline constexpr i64 reduce_chunk = 8192;

/// Where a row has more chunks than this, and there are fewer rows than that, each chunk has a result of its own, which
/// another command reduces: one block would take longer than a second launch. One block can do as many chunks as there
/// are lanes.
inline constexpr i64 few_chunks = 16;
inline constexpr i64 many_rows = 512;

/// Neighbouring rows lie side by side, and a row's elements are equally far apart.
REFRAIN_HOST_DEVICE bool are_columns(const ReduceArgs& args) {
  return args.reduced_ndim == 1 && args.reduced_strides[0] != 1 && args.kept_ndim > 0 &&
         args.kept_strides[args.kept_ndim - 1] == 1 && args.kept_extents[args.kept_ndim - 1] > 1;
}

/// Into how many results a command reduces a row.
REFRAIN_HOST_DEVICE i64 results_of_row(const ReduceArgs& args) {
  const i64 chunks = (args.n - 1) / reduce_chunk + 1;
  if (chunks == 1 || are_columns(args)) return chunks;
  const bool is_whole = chunks <= few_chunks || (args.rows >= many_rows && chunks <= reduce_lanes);
  return is_whole ? 1 : chunks;
}

/// Reads an element as it is computed with.
template <class In>
REFRAIN_HOST_DEVICE In read_element(const Stored<In>* x, i64 at) {
  if constexpr (is_same<In, bool>) {
    return x[at] != 0;
  } else {
    return x[at];
  }
}

/// Where a row's first element is.
REFRAIN_HOST_DEVICE i64 row_offset(const ReduceArgs& args, i64 row) {
  return offset_along(args.kept_ndim, args.kept_extents, args.kept_strides, row);
}

/// Where element i of a row is, from the row's first element on.
REFRAIN_HOST_DEVICE i64 element_offset(const ReduceArgs& args, i64 i) {
  if (args.reduced_ndim == 1) return i * args.reduced_strides[0];
  return offset_along(args.reduced_ndim, args.reduced_extents, args.reduced_strides, i);
}

/// Whether a row's elements lie side by side.
REFRAIN_HOST_DEVICE bool are_dense(const ReduceArgs& args) {
  return args.reduced_ndim == 0 || (args.reduced_ndim == 1 && args.reduced_strides[0] == 1);
}

}  // namespace refrain::kernels
