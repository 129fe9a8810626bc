#include "kernels/elementwise.cuh"

#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

/// So many that nearly every thread has one turn. Adding 2^28 float32 on an H200 takes 783 us with 8 (all that are
/// resident at a time), 760 with 128, 744 with 512, 733 without a limit; blocks of 128 to 1024 threads make no
/// difference.
constexpr int blocks_per_multiprocessor = 4096;

/// Enough blocks for one turn of each thread, up to a limit.
i64 grid_for(i64 turns, int multiprocessors) {
  const i64 needed = (turns - 1) / elementwise_block + 1;
  const i64 most = static_cast<i64>(multiprocessors) * blocks_per_multiprocessor;
  return needed < most ? needed : most;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<u64>(pointer) % access_bytes == 0; }

/// What both kinds of kernels are told.
template <class Params>
Params params_of(const ElementwiseArgs& args) {
  Params params{};
  for (int k = 0; k < args.input_count; ++k) {
    params.inputs[k] = args.inputs[k].data;
    if (args.inputs[k].data == nullptr) params.scalars[k] = scalar_bits(input_type(args, k), args.inputs[k].scalar);
  }
  params.out = args.out;
  params.size = args.size;
  return params;
}

cudaError_t launch_contiguous(const ElementwiseArgs& args, const ElementwiseKernels& kernels, int multiprocessors,
                              const Target& target) {
  auto params = params_of<Contiguous>(args);
  bool aligned = is_aligned(params.out);
  for (const void* input : params.inputs) aligned = aligned && is_aligned(input);
  i64 turns = args.size;
  if (aligned && args.size >= kernels.vector_width) {
    turns = args.size / kernels.vector_width;
    params.vector_end = turns * kernels.vector_width;
  }
  return launch(kernels.contiguous, grid_for(turns, multiprocessors), elementwise_block, params, target);
}

/// Both axes have so many positions or more where tiles are worth their bounds checks.
constexpr i64 least_tiled = 4;

/// The axis along which a copy's input is dense, if its output is along the last one and other neighbours of the input
/// are read together only in tiles; else -1.
int dense_across(const ElementwiseArgs& args) {
  const int last = args.ndim - 1;
  if (last < 1 || args.inputs[0].data == nullptr) return -1;
  const i64* strides = args.inputs[0].strides;
  if (args.out_strides[last] != 1 || strides[last] == 0 || strides[last] == 1) return -1;
  if (args.extents[last] < least_tiled) return -1;
  for (int axis = 0; axis < last; ++axis) {
    if (strides[axis] == 1 && args.extents[axis] >= least_tiled) return axis;
  }
  return -1;
}

bool is_multiple(const void* data, const i64* steps, int count, i64 step, i64 bytes, i64 width) {
  bool all = reinterpret_cast<u64>(data) % static_cast<u64>(bytes) == 0 && step % width == 0;
  for (int axis = 0; axis < count; ++axis) all = all && steps[axis] % width == 0;
  return all;
}

cudaError_t launch_across(const ElementwiseArgs& args, const ElementwiseKernels& kernels, int dense,
                          int multiprocessors, const Target& target) {
  const int last = args.ndim - 1;
  const i64 width = kernels.tile_width;
  const i64 edge = tile_edge * width;
  Across params{};
  params.in = args.inputs[0].data;
  params.out = args.out;
  params.rows = args.extents[dense];
  params.columns = args.extents[last];
  params.in_step = args.inputs[0].strides[last];
  params.out_step = args.out_strides[dense];
  params.row_tiles = (params.rows - 1) / edge + 1;
  params.column_tiles = (params.columns - 1) / edge + 1;
  params.tiles = params.row_tiles * params.column_tiles;
  for (int axis = 0; axis < last; ++axis) {
    if (axis == dense) continue;
    params.outer_extents[params.outer_ndim] = args.extents[axis];
    params.in_steps[params.outer_ndim] = args.inputs[0].strides[axis];
    params.out_steps[params.outer_ndim++] = args.out_strides[axis];
    params.tiles *= args.extents[axis];
  }
  params.in_words = is_multiple(params.in, params.in_steps, params.outer_ndim, params.in_step,
                                element_size(args.in_type) * width, width);
  params.out_words = is_multiple(params.out, params.out_steps, params.outer_ndim, params.out_step,
                                 element_size(args.out_type) * width, width);
  const i64 most = static_cast<i64>(multiprocessors) * blocks_per_multiprocessor;
  return launch(kernels.across, params.tiles < most ? params.tiles : most, dim3(tile_edge, tile_lines), params, target);
}

/// Whether each row of `width` elements or a multiple begins aligned to its vectors and is dense.
bool has_vectors(const void* data, const i64* strides, int ndim, int width) {
  if (!is_aligned(data) || strides[ndim - 1] != 1) return false;
  for (int axis = 0; axis < ndim - 1; ++axis) {
    if (strides[axis] % width != 0) return false;
  }
  return true;
}

cudaError_t launch_strided(const ElementwiseArgs& args, const ElementwiseKernels& kernels, int multiprocessors,
                           const Target& target) {
  const int width = kernels.vector_width;
  auto params = params_of<Strided>(args);
  params.ndim = args.ndim;
  if (args.ndim == 0) {  // one element
    params.ndim = 1;
    params.extents[0] = 1;
  }
  for (int axis = 0; axis < args.ndim; ++axis) {
    params.extents[axis] = args.extents[axis];
    params.out_strides[axis] = args.out_strides[axis];
    for (int k = 0; k < args.input_count; ++k) {
      if (args.inputs[k].data != nullptr) params.strides[k][axis] = args.inputs[k].strides[axis];
    }
  }
  params.vectors =
      params.extents[params.ndim - 1] % width == 0 && has_vectors(args.out, params.out_strides, params.ndim, width);
  for (int k = 0; params.vectors && k < args.input_count; ++k) {
    params.input_vectors[k] =
        args.inputs[k].data != nullptr && has_vectors(args.inputs[k].data, params.strides[k], params.ndim, width);
  }
  const i64 turns = params.vectors ? args.size / width : args.size;
  return launch(kernels.strided, grid_for(turns, multiprocessors), elementwise_block, params, target);
}

}  // namespace

cudaError_t launch_elementwise(const ElementwiseArgs& args, int multiprocessors, const Target& target) {
  const ElementwiseKernels kernels = find_entry<KernelsOf>(args);
  if (kernels.contiguous == nullptr) return cudaErrorInvalidDeviceFunction;
  if (args.contiguous) return launch_contiguous(args, kernels, multiprocessors, target);
  if (kernels.across != nullptr) {
    const int dense = dense_across(args);
    if (dense >= 0) return launch_across(args, kernels, dense, multiprocessors, target);
  }
  return launch_strided(args, kernels, multiprocessors, target);
}

}  // namespace refrain::kernels
