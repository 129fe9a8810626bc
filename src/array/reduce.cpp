#include <refrain/reduce.hpp>

#include "array/elementwise.hpp"
#include "array/layout.hpp"
#include "array/make.hpp"
#include "kernels/reduce.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>
#include <refrain/ops.hpp>

#include <algorithm>
#include <bitset>
#include <limits>
#include <string>

namespace refrain {

Axes::Axes(std::initializer_list<int> axes, SourceLocation where) {
  if (axes.size() > axes_.size()) {
    throw Error(Errc::invalid_value, "Axes", std::to_string(axes.size()) + " axes",
                "are more than arrays have, " + std::to_string(axes_.size()) + "; name each once", where);
  }
  std::copy(axes.begin(), axes.end(), axes_.begin());
  count_ = static_cast<int>(axes.size());
}

namespace {

using kernels::ElementwiseOp;
using kernels::ReduceOp;
using AxisSet = std::bitset<Shape::max_ndim>;

AxisSet reduced_axes(const Array& array, const Axes& axes, const char* label, SourceLocation where) {
  require_defined(array, label, where);
  const int ndim = array.ndim();
  AxisSet set;
  if (axes.is_all()) {
    for (int axis = 0; axis < ndim; ++axis) set.set(static_cast<std::size_t>(axis));
    return set;
  }
  for (const int given : axes) {
    const int axis = given < 0 ? given + ndim : given;
    const std::string what = "axis " + std::to_string(given) + " of shape " + array.shape().str();
    if (axis < 0 || axis >= ndim) {
      throw Error(Errc::invalid_value, label, what, "is not there; name one that is, or none for all", where);
    }
    if (set.test(static_cast<std::size_t>(axis))) {
      throw Error(Errc::invalid_value, label, what, "is named twice; name each once", where);
    }
    set.set(static_cast<std::size_t>(axis));
  }
  return set;
}

/// The result's shape.
Shape kept_shape(const Shape& shape, AxisSet reduced, bool keepdim, SourceLocation where) {
  std::array<std::int64_t, Shape::max_ndim> extents{};
  std::size_t ndim = 0;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const bool is_reduced = reduced.test(static_cast<std::size_t>(axis));
    if (!is_reduced || keepdim) extents[ndim++] = is_reduced ? 1 : shape[axis];
  }
  return Shape(std::span<const std::int64_t>(extents.data(), ndim), where);
}

std::int64_t count_of(const Shape& shape, AxisSet reduced) {
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (reduced.test(static_cast<std::size_t>(axis))) count *= shape[axis];
  }
  return count;
}

/// Axes in order, neighbours that are one walk as one.
void add_axis(int& ndim, kernels::i64* extents, kernels::i64* strides, std::int64_t extent, std::int64_t stride) {
  if (extent == 1) return;
  if (ndim > 0 && strides[ndim - 1] == stride * extent) {
    extents[ndim - 1] *= extent;
    strides[ndim - 1] = stride;
    return;
  }
  extents[ndim] = extent;
  strides[ndim++] = stride;
}

DType accumulated(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::first: return DType::int64;
    case ReduceOp::min:
    case ReduceOp::max: return dtype;
    case ReduceOp::sum:
    case ReduceOp::sum_of_squares:
    case ReduceOp::prod: break;
  }
  if (!is_floating(dtype)) return DType::int64;
  return dtype == DType::float32 || dtype == DType::float64 ? DType::float64 : DType::float32;
}

/// What reduces the results of chunks.
ReduceOp next_level(ReduceOp op) {
  if (op == ReduceOp::sum_of_squares) return ReduceOp::sum;
  return op == ReduceOp::first ? ReduceOp::min : op;
}

/// One reduction in the making.
struct Reduction {
  const char* label;
  ReduceOp op;
  DType acc;       ///< of intermediate results
  DType out;       ///< of the result
  double divisor;  ///< of the result
  SourceLocation where;
};

kernels::Type kernel_type(DType dtype) noexcept { return static_cast<kernels::Type>(dtype); }

/// One level: chunks of each row, or the result where there is one chunk.
Array reduce_level(runtime::StreamCore& stream, const Reduction& reduction, const Array& array, AxisSet reduced,
                   const Shape& shape) {
  const Shape& from = ArrayAccess::shape(array);
  runtime::ReduceCommand command{};
  kernels::ReduceArgs& args = command.args;
  args.op = reduction.op;
  args.n = count_of(from, reduced);
  args.rows = shape.size();
  args.chunks = (args.n - 1) / kernels::reduce_chunk + 1;
  const bool is_last = args.chunks == 1;
  const DType out = is_last ? reduction.out : reduction.acc;
  args.in_type = kernel_type(ArrayAccess::dtype(array));
  args.acc_type = kernel_type(reduction.acc);
  args.out_type = kernel_type(out);
  args.divisor = is_last ? reduction.divisor : 1;
  for (int axis = 0; axis < from.ndim(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (reduced.test(i)) {
      add_axis(args.reduced_ndim, args.reduced_extents, args.reduced_strides, from[axis],
               ArrayAccess::strides(array)[i]);
    } else {
      add_axis(args.kept_ndim, args.kept_extents, args.kept_strides, from[axis], ArrayAccess::strides(array)[i]);
    }
  }
  Array result = make_array(stream, is_last ? shape : Shape{args.rows, args.chunks}, out, reduction.where);
  const std::array<runtime::Access, 2> accesses{whole(result, runtime::AccessMode::write),
                                                whole(array, runtime::AccessMode::read)};
  runtime::submit(stream, {stream.device, command, accesses, reduction.label, reduction.where});
  if (is_last) return result;
  Reduction rest = reduction;
  rest.op = next_level(reduction.op);
  return reduce_level(stream, rest, result, AxisSet(2), shape);
}

/// What a reduction of no elements gives.
Scalar identity(ReduceOp op, bool is_mean) {
  if (is_mean) return Scalar(std::numeric_limits<double>::quiet_NaN());
  return Scalar(op == ReduceOp::prod ? 1 : 0);
}

Array reduce(const char* label, ReduceOp op, const Array& array, AxisSet reduced, bool keepdim, DType out,
             SourceLocation where, double divisor = 1) {
  require_usable(array, label, where);
  const Shape shape = kept_shape(array.shape(), reduced, keepdim, where);
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  if (runtime::may_refuse_order(stream)) {
    const runtime::Access read = whole(array, runtime::AccessMode::read);
    runtime::check_order(stream, {stream.device, {}, {&read, 1}, label, where});
  }
  if (shape.size() == 0) return make_array(stream, shape, out, where);
  if (count_of(array.shape(), reduced) == 0) {
    Array none = make_array(stream, shape, out, where);
    fill(none, identity(op, divisor != 1), label, where);
    return none;
  }
  return reduce_level(stream, {label, op, accumulated(op, array.dtype()), out, divisor, where}, array, reduced, shape);
}

Array reduce(const char* label, ReduceOp op, const Array& array, const Axes& axes, bool keepdim, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, label, where);
  const bool is_float = is_floating(array.dtype());
  const bool keeps_type = op == ReduceOp::min || op == ReduceOp::max || is_float;
  return reduce(label, op, array, reduced, keepdim, keeps_type ? array.dtype() : DType::int64, where);
}

void require_elements(const Array& array, const Axes& axes, const char* label, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, label, where);
  if (count_of(array.shape(), reduced) > 0 || kept_shape(array.shape(), reduced, false, where).size() == 0) return;
  throw Error(Errc::invalid_value, label, "an array of shape " + array.shape().str(),
              "has no elements to choose from; give one that has", where);
}

DType as_float(DType dtype) { return is_floating(dtype) ? dtype : DType::float32; }

Array as_floats(const Array& array, const char* label, SourceLocation where) {
  require_defined(array, label, where);
  return array.cast(as_float(array.dtype()), where);
}

/// float32 where the type is narrower: for what takes several steps.
Array as_wide_floats(const Array& array, const char* label, SourceLocation where) {
  require_defined(array, label, where);
  return array.dtype() == DType::float64 ? array : array.cast(DType::float32, where);
}

/// The op of two arrays, named by the reduction's place.
Array pairwise(ElementwiseOp op, const Array& left, const Array& right, SourceLocation where) {
  const Operand a(left, where);
  const Operand b(right, where);
  const std::array<const Operand*, 2> operands{&a, &b};
  return apply_op(op, operands);
}

/// The position of the first extreme one, or NaN.
Array position_of(const char* label, const Array& array, std::optional<int> axis, bool least, bool keepdim,
                  SourceLocation where) {
  require_elements(array, axis ? Axes(*axis) : Axes(), label, where);
  const Array flat = axis ? array : array.flatten(0, -1, where);
  const int along = axis ? *axis : 0;
  const Array extreme = reduce(label, least ? ReduceOp::min : ReduceOp::max, flat, Axes(along), true, where);
  Array is_it = pairwise(ElementwiseOp::equal, flat, extreme, where);
  if (is_floating(array.dtype())) {
    // An extreme that is NaN equals nothing, and NaN is looked for.
    is_it = pairwise(ElementwiseOp::logical_or, is_it, isnan(flat, where), where);
  }
  const Array position = reduce(label, ReduceOp::first, is_it, reduced_axes(is_it, Axes(along), label, where),
                                keepdim && axis, DType::int64, where);
  if (!keepdim || axis) return position;
  return position.reshape(kept_shape(array.shape(), reduced_axes(array, {}, label, where), true, where), where);
}

/// A shift of the exponents that keeps exp(x) in range: the maximum, or 0 where that is infinite.
Array exponent_shift(const Array& array, const Axes& axes, const char* label, SourceLocation where) {
  const Array largest = reduce(label, ReduceOp::max, array, axes, true, where);
  return refrain::where(isfinite(largest, where), Operand(largest, where), Operand(0, where));
}

}  // namespace

Array sum(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return reduce("sum", ReduceOp::sum, array, axes, keepdim, where);
}

Array prod(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return reduce("prod", ReduceOp::prod, array, axes, keepdim, where);
}

Array mean(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, "mean", where);
  const auto n = static_cast<double>(count_of(array.shape(), reduced));
  if (is_floating(array.dtype())) {
    return reduce("mean", ReduceOp::sum, array, reduced, keepdim, array.dtype(), where, n);
  }
  const Array total = reduce("mean", ReduceOp::sum, array, reduced, keepdim, DType::int64, where);
  const Operand exact(n, where);
  const Array doubles = total.cast(DType::float64, where);
  const Operand sum_of_all(doubles, where);
  const std::array<const Operand*, 2> operands{&sum_of_all, &exact};
  return apply_op(ElementwiseOp::div, operands).cast(DType::float32, where);
}

Array var(const Array& array, Axes axes, double correction, bool keepdim, SourceLocation where) {
  const Array x = as_floats(array, "var", where);
  const AxisSet reduced = reduced_axes(x, axes, "var", where);
  const auto n = static_cast<double>(count_of(x.shape(), reduced));
  const Array center = reduce("var", ReduceOp::sum, x, reduced, true, x.dtype(), where, n);
  const Array distance = pairwise(ElementwiseOp::sub, x, center, where);
  const double divisor = n > correction ? n - correction : std::numeric_limits<double>::quiet_NaN();
  return reduce("var", ReduceOp::sum_of_squares, distance, reduced, keepdim, x.dtype(), where, divisor);
}

Array min(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  require_elements(array, axes, "min", where);
  return reduce("min", ReduceOp::min, array, axes, keepdim, where);
}

Array max(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  require_elements(array, axes, "max", where);
  return reduce("max", ReduceOp::max, array, axes, keepdim, where);
}

Array argmin(const Array& array, std::optional<int> axis, bool keepdim, SourceLocation where) {
  return position_of("argmin", array, axis, true, keepdim, where);
}

Array argmax(const Array& array, std::optional<int> axis, bool keepdim, SourceLocation where) {
  return position_of("argmax", array, axis, false, keepdim, where);
}

Array any(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  require_defined(array, "any", where);
  return reduce("any", ReduceOp::max, array.cast(DType::bool_, where), axes, keepdim, where);
}

Array all(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  require_defined(array, "all", where);
  const Array truth = array.cast(DType::bool_, where);
  const AxisSet reduced = reduced_axes(truth, axes, "all", where);
  if (count_of(truth.shape(), reduced) == 0) {
    return full(kept_shape(truth.shape(), reduced, keepdim, where), true,
                {.dtype = DType::bool_, .device = array.device()}, where);
  }
  return reduce("all", ReduceOp::min, truth, axes, keepdim, where);
}

Array norm(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  const Array x = as_floats(array, "norm", where);
  const AxisSet reduced = reduced_axes(x, axes, "norm", where);
  // The sum of squares may not fit the dtype.
  const DType acc = accumulated(ReduceOp::sum_of_squares, x.dtype());
  return sqrt(reduce("norm", ReduceOp::sum_of_squares, x, reduced, keepdim, acc, where), where).cast(x.dtype(), where);
}

Array logsumexp(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  const Array x = as_wide_floats(array, "logsumexp", where);
  const AxisSet reduced = reduced_axes(x, axes, "logsumexp", where);
  const Shape shape = kept_shape(x.shape(), reduced, keepdim, where);
  if (count_of(x.shape(), reduced) == 0) {
    return full(shape, -std::numeric_limits<double>::infinity(),
                {.dtype = as_float(array.dtype()), .device = x.device()}, where);
  }
  const Array shift = exponent_shift(x, axes, "logsumexp", where);
  const Array total = reduce("logsumexp", ReduceOp::sum, exp(pairwise(ElementwiseOp::sub, x, shift, where), where),
                             axes, keepdim, where);
  const Array result = pairwise(ElementwiseOp::add, log(total, where), shift.reshape(shape, where), where);
  return result.cast(as_float(array.dtype()), where);
}

Array softmax(const Array& array, int axis, SourceLocation where) {
  const Array x = as_wide_floats(array, "softmax", where);
  if (x.size() == 0) return contiguous_copy(as_floats(array, "softmax", where), "softmax", where);
  const Array largest = reduce("softmax", ReduceOp::max, x, Axes(axis), true, where);
  const Array powers = exp(pairwise(ElementwiseOp::sub, x, largest, where), where);
  const Array total = reduce("softmax", ReduceOp::sum, powers, Axes(axis), true, where);
  const Array shares = pairwise(ElementwiseOp::div, powers, total, where);
  return shares.cast(as_float(array.dtype()), where);
}

Array dot(const Array& left, const Array& right, SourceLocation where) {
  require_defined(left, "dot", where);
  require_defined(right, "dot", where);
  if (left.ndim() != 1 || right.ndim() != 1 || left.shape() != right.shape()) {
    throw Error(Errc::invalid_value, "dot", "shapes " + left.shape().str() + " and " + right.shape().str(),
                "are not one axis of one extent; flatten or slice the arrays first", where);
  }
  return reduce("dot", ReduceOp::sum, pairwise(ElementwiseOp::mul, left, right, where), Axes(), false, where);
}

}  // namespace refrain
