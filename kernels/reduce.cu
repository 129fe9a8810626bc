#include "kernels/reduce.cuh"

#include "kernels/cuda.cuh"

namespace refrain::kernels {
namespace {

ReduceKernels find_kernels(const ReduceArgs& args) {
  switch (args.op) {
    case ReduceOp::sum: return find_sum_kernels(args);
    case ReduceOp::prod: return find_product_kernels(args);
    case ReduceOp::sum_of_squares:
    case ReduceOp::var:
    case ReduceOp::dot: return find_moment_kernels(args);
    case ReduceOp::min:
    case ReduceOp::max: return find_extreme_kernels(args);
    case ReduceOp::argmin:
    case ReduceOp::argmax:
    case ReduceOp::found:
    case ReduceOp::any:
    case ReduceOp::all: return find_choice_kernels(args);
    case ReduceOp::logsumexp:
    case ReduceOp::log_of_sum: return find_power_kernels(args);
    case ReduceOp::softmax: break;  // launches its own
  }
  return {};
}

cudaError_t launch_lanes(void (*kernel)(LaneParams), i64 blocks, const LaneParams& params, const Target& target) {
  return launch(kernel, blocks, params.rows * params.lanes, params, target);
}

}  // namespace

cudaError_t launch_reduce(const ReduceArgs& args, const Target& target) {
  if (args.op == ReduceOp::softmax) return launch_softmax(args, target);
  const ReduceKernels kernels = find_kernels(args);
  // A few short columns are a few short rows: a block of them would not be filled.
  const bool are_few = are_columns(args) && args.kept_extents[args.kept_ndim - 1] < 32 && args.n <= 32;
  if (are_columns(args) && !are_few) {
    const LaneParams params = column_params(args);
    return launch_lanes(kernels.columns, column_blocks(params), params, target);
  }
  if (args.n <= reduce_lanes) {
    const LaneParams params = row_params(args);
    return launch_lanes(kernels.rows, row_blocks(params), params, target);
  }
  const bool is_dense = kernels.dense_chunks != nullptr && are_dense_chunks(args);
  return launch(is_dense ? kernels.dense_chunks : kernels.blocks, args.rows * args.chunks, chunk_threads, args, target);
}

}  // namespace refrain::kernels
