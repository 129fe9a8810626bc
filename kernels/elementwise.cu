#include "kernels/elementwise.cuh"

#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

/// So many that nearly every thread has one turn. Adding 2^28 float32 on an H200 takes 783 us with 8 (all that are
/// resident at a time), 760 with 128, 744 with 512, 733 without a limit; blocks of 128 to 1024 threads make no
/// difference.
constexpr int blocks_per_multiprocessor = 4096;

ElementwiseKernels find_kernels(const ElementwiseArgs& args) {
  if (args.op == ElementwiseOp::copy) return find_copy_kernels(args.out_type, args.in_type);
  if (args.input_count == 1) return find_unary_kernels(args.op, args.in_type);
  if (args.input_count == 2) return find_binary_kernels(args.op, args.in_type);
  return find_ternary_kernels(args.op, args.in_type);
}

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
  const ElementwiseKernels kernels = find_kernels(args);
  if (kernels.contiguous == nullptr) return cudaErrorInvalidDeviceFunction;
  return args.contiguous ? launch_contiguous(args, kernels, multiprocessors, target)
                         : launch_strided(args, kernels, multiprocessors, target);
}

}  // namespace refrain::kernels
