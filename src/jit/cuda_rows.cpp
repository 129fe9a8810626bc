#include "jit/cuda_rows.hpp"

#include "jit/cuda_folds.hpp"
#include "jit/cuda_moves.hpp"
#include "jit/cuda_row_shape.hpp"
#include "jit/cuda_text.hpp"
#include "jit/rows.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::jit {

using kernels::element_size;

namespace {

constexpr int access_bytes = 16;
/// Rows that a warp each are enough for: fewer are done by a block each, as long as a block has something to do.
constexpr std::int64_t many_rows = 256;
constexpr std::int64_t short_row = 128;
/// 4096 rows of 1024 float32 normalised: 12.4 us by blocks of 4 rows, 13.1 by blocks of 8.
constexpr int most_rows_a_block = 4;
/// So many blocks that no multiprocessor is idle, of the devices there are.
constexpr std::int64_t enough_blocks = 264;

/// A row of several chunks is cut finer than a block a chunk while the device has multiprocessors that do nothing, for
/// what a block does alone is most of its time: a multiprocessor makes float64 of 16 float32 a cycle. A thread then has
/// one lane of its chunk, and no block fewer threads than hide the latency of their loads.
constexpr std::int64_t idle_blocks = 66;
constexpr int fewest_threads = 256;

/// Whether vectors of an array's elements can be read or written wherever a row begins.
bool has_vectors(const Expression& expression, const Layout& layout, const void* address) {
  if (layout.strides[expression.ndim - 1] != 1 || !is_line(expression, layout)) return true;  // none are tried
  const auto aligned_to = static_cast<std::uintptr_t>(
      std::min<std::int64_t>(RowShape::elements_a_turn * element_size(layout.type), access_bytes));
  bool all = reinterpret_cast<std::uintptr_t>(address) % aligned_to == 0;
  for (int axis = 0; axis < expression.row_axis(); ++axis)
    all = all && layout.strides[axis] % RowShape::elements_a_turn == 0;
  for (const Wrap& wrap : layout.wraps) all = all && wrap.stride % RowShape::elements_a_turn == 0;
  return all;
}

bool has_vectors(const Expression& expression, std::span<void* const> addresses) {
  bool all = expression.row_length() % RowShape::elements_a_turn == 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    all = all && has_vectors(expression, expression.layout(i), addresses[i]);
  }
  return all;
}

}  // namespace

bool may_have_vectors(const Expression& expression) {
  const std::vector<void*> aligned(expression.arrays(), nullptr);
  return has_vectors(expression, aligned);
}

RowShape::RowShape(const Expression& expression, int most_blocks) {
  const std::int64_t n = expression.row_length();
  const std::int64_t rows = expression.rows();
  if (n <= kernels::reduce_lanes && (rows >= many_rows || n <= short_row)) {
    threads = warp;
    while (rows_a_block < most_rows_a_block && rows / rows_a_block > enough_blocks) rows_a_block *= 2;
  } else {
    while (blocks * kernels::reduce_chunk < n) blocks *= 2;
    if (blocks > 1) cut_chunks(rows, most_blocks);
  }
  step = threads * width * cut;
  turns = static_cast<int>((std::min<std::int64_t>(n, kernels::reduce_chunk) - 1) / step + 1);
  is_whole = n == std::int64_t{turns} * step * (blocks / cut);
}

void RowShape::cut_chunks(std::int64_t rows, int most_blocks) {
  while (blocks * 2 <= most_blocks && rows * blocks <= idle_blocks &&
         kernels::reduce_lanes / (cut * 2) >= fewest_threads) {
    blocks *= 2;
    cut *= 2;
  }
  if (cut == 1) return;
  width = 1;
  threads = static_cast<int>(kernels::reduce_lanes) / cut;
}

CudaLaunch rows_launch(const Expression& expression, int most_blocks, void* const* addresses,
                       std::span<const kernels::Value> scalars) {
  const std::size_t arrays = expression.arrays();
  const bool vectors = has_vectors(expression, std::span(addresses, arrays));
  ParameterBlock parameters;
  parameters.add(expression.rows());
  parameters.add(std::int64_t{vectors});
  for (std::size_t i = 0; i < arrays; ++i) parameters.add(addresses[i]);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    parameters.add(kernels::scalar_bits(expression.scalars[i], scalars[i]));
  }
  for (const Reduction& reduction : expression.reductions) parameters.add(divisor_parameter(reduction));
  for (int axis = 0; axis < expression.ndim; ++axis) parameters.add(expression.extents[axis]);
  for (std::size_t i = 0; i < arrays; ++i) {
    for (int axis = 0; axis < expression.ndim; ++axis) parameters.add(expression.layout(i).strides[axis]);
  }
  for (const std::int64_t number : move_members(expression, addresses + expression.outputs.size(), 1))
    parameters.add(number);
  const RowShape shape(expression, most_blocks);
  CudaLaunch launch;
  launch.grid = ((expression.rows() - 1) / shape.rows_a_block + 1) * shape.blocks;
  launch.block = shape.block_size();
  launch.parameters = std::move(parameters.all);
  return launch;
}

}  // namespace refrain::jit
