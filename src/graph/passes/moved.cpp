#include "graph/passes/moved.hpp"

#include <algorithm>

namespace refrain::graph {

using kernels::MoveArgs;
using runtime::MoveCommand;

namespace {

const MoveArgs& args_of(const Step& step) { return std::get<MoveCommand>(step.command->payload).args; }

/// A roll of all elements in row-major order is one of the axis, where there is one only.
std::int64_t shift_of(const MoveArgs& args, int axis) {
  return (args.shifts[axis] + args.flat_shift) % args.extents[axis];
}

}  // namespace

bool reads_elsewhere(const MoveArgs& args) noexcept {
  if (args.op != kernels::MoveOp::gather || (args.flat_shift != 0 && args.ndim > 1)) return false;
  // No op has both.
  return !args.has_indices || std::all_of(args.shifts, args.shifts + args.ndim, [](auto shift) { return shift == 0; });
}

Walked moved_input_of(const Step& step) {
  const MoveArgs& args = args_of(step);
  Walked array = walked(step, 1, args.type, {args.strides, args.strides + args.ndim});
  if (args.has_indices) {
    array.taken.emplace();
    array.taken->size = args.taken_size;
    array.taken->ndim = args.taken_ndim;
    std::copy_n(args.taken_extents, args.taken_ndim, array.taken->extents);
    std::copy_n(args.taken_strides, args.taken_ndim, array.taken->strides);
    array.taken->fill = args.fill;
    return array;
  }
  for (int axis = 0; axis < args.ndim; ++axis) {
    const std::int64_t shift = shift_of(args, axis);
    if (shift == 0) continue;
    std::int64_t& stride = array.strides[static_cast<std::size_t>(axis)];
    array.wraps.push_back({axis, axis, args.extents[axis], shift, stride});
    stride = 0;
  }
  return array;
}

Walked indices_of(const Step& step) {
  const MoveArgs& args = args_of(step);
  return walked(step, 2, args.wide_indices ? kernels::Type::int64 : kernels::Type::int32,
                {args.index_strides, args.index_strides + args.ndim});
}

}  // namespace refrain::graph
