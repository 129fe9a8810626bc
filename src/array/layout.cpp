#include "array/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace refrain {

namespace {

/// One axis of a walk.
struct Axis {
  std::int64_t extent;
  std::int64_t stride;
};

/// The axes with more than one position; neighbours that are one walk are one.
struct Walk {
  std::array<Axis, Shape::max_ndim> axes;
  int ndim = 0;

  Walk(const Shape& shape, const Strides& strides) noexcept {
    for (int i = 0; i < shape.ndim(); ++i) {
      const Axis axis{shape[i], strides[static_cast<std::size_t>(i)]};
      if (axis.extent == 1) continue;
      if (ndim > 0 && last().stride == axis.stride * axis.extent) {
        last() = {last().extent * axis.extent, axis.stride};
      } else {
        axes[static_cast<std::size_t>(ndim++)] = axis;
      }
    }
  }
  Axis& last() noexcept { return axes[static_cast<std::size_t>(ndim - 1)]; }
};

}  // namespace

bool repeats_elements(const Shape& shape, const Strides& strides) noexcept {
  if (shape.size() == 0) return false;
  std::array<Axis, Shape::max_ndim> axes;  // the shortest steps first
  std::size_t ndim = 0;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (shape[i] == 1) continue;
    const Axis axis{shape[i], std::abs(strides[static_cast<std::size_t>(i)])};
    std::size_t at = ndim++;
    for (; at > 0 && axes[at - 1].stride > axis.stride; --at) axes[at] = axes[at - 1];
    axes[at] = axis;
  }
  std::int64_t reach = 0;  // of the axes so far
  for (std::size_t i = 0; i < ndim; ++i) {
    if (axes[i].stride <= reach) return true;
    reach += (axes[i].extent - 1) * axes[i].stride;
  }
  return false;
}

std::optional<Strides> reshaped(const Shape& shape, const Strides& strides, const Shape& as) noexcept {
  if (shape.size() == 0) return row_major(as);
  Walk walk(shape, strides);
  Strides result{};
  Axis rest{1, 1};  // what is left of an axis of the walk
  for (int axis = as.ndim() - 1; axis >= 0; --axis) {
    std::int64_t& stride = result[static_cast<std::size_t>(axis)];
    if (rest.extent == 1 && as[axis] != 1) rest = walk.axes[static_cast<std::size_t>(--walk.ndim)];
    if (rest.extent % as[axis] != 0) return std::nullopt;
    stride = rest.stride;
    rest = {rest.extent / as[axis], rest.stride * as[axis]};
  }
  return result;
}

void broadcast_strides(const Shape& from, const Strides& strides, const Shape& to, kernels::i64* broadcast) noexcept {
  for (int i = 0; i < to.ndim(); ++i) {  // from the last axis
    const int axis = from.ndim() - 1 - i;
    const bool repeats = axis < 0 || from[axis] == 1;
    broadcast[to.ndim() - 1 - i] = repeats ? 0 : strides[static_cast<std::size_t>(axis)];
  }
}

namespace {

void swap_axes(kernels::ElementwiseArgs& args, int a, int b) noexcept {
  std::swap(args.extents[a], args.extents[b]);
  std::swap(args.out_strides[a], args.out_strides[b]);
  for (int k = 0; k < args.input_count; ++k) std::swap(args.inputs[k].strides[a], args.inputs[k].strides[b]);
}

void move_axis(kernels::ElementwiseArgs& args, int to, int from) noexcept {
  args.extents[to] = args.extents[from];
  args.out_strides[to] = args.out_strides[from];
  for (int k = 0; k < args.input_count; ++k) args.inputs[k].strides[to] = args.inputs[k].strides[from];
}

/// Whether stepping along `outer` is stepping on along `inner`.
bool is_one_walk(const kernels::ElementwiseArgs& args, int outer, int inner) noexcept {
  bool joins = args.out_strides[outer] == args.out_strides[inner] * args.extents[inner];
  for (int k = 0; joins && k < args.input_count; ++k) {
    joins = args.inputs[k].strides[outer] == args.inputs[k].strides[inner] * args.extents[inner];
  }
  return joins;
}

}  // namespace

void simplify(runtime::ElementwiseCommand& command) noexcept {
  kernels::ElementwiseArgs& args = command.args;
  int kept = 0;
  for (int axis = 0; axis < args.ndim; ++axis) {
    if (args.extents[axis] != 1) move_axis(args, kept++, axis);
  }
  args.ndim = kept;
  // The output's longest steps outermost. Few axes: insertion sort, which keeps equal ones in order.
  for (int i = 1; i < kept; ++i) {
    for (int j = i; j > 0 && std::abs(args.out_strides[j - 1]) < std::abs(args.out_strides[j]); --j) {
      swap_axes(args, j - 1, j);
    }
  }
  kept = 0;
  for (int axis = 0; axis < args.ndim; ++axis) {
    if (kept > 0 && is_one_walk(args, kept - 1, axis)) {
      const kernels::i64 extent = args.extents[kept - 1];
      move_axis(args, kept - 1, axis);
      args.extents[kept - 1] *= extent;
    } else {
      move_axis(args, kept++, axis);
    }
  }
  args.ndim = kept;
  args.contiguous = kept == 0 || (kept == 1 && args.out_strides[0] == 1);
  for (int k = 0; k < args.input_count && kept == 1; ++k) {
    const bool is_scalar = command.in_access[static_cast<std::size_t>(k)] < 0;
    args.contiguous = args.contiguous && (is_scalar || args.inputs[k].strides[0] == 1);
  }
}

}  // namespace refrain
