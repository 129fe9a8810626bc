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

/// Axes in order, neighbours that are one walk as one. `other`: strides of a second array that is walked through too.
void add_axis(int& ndim, kernels::i64* extents, kernels::i64* strides, std::int64_t extent, std::int64_t stride,
              kernels::i64* other = nullptr, std::int64_t other_stride = 0) {
  if (extent == 1) return;
  const bool is_one_walk = ndim > 0 && strides[ndim - 1] == stride * extent &&
                           (other == nullptr || other[ndim - 1] == other_stride * extent);
  if (!is_one_walk) ++ndim;
  extents[ndim - 1] = is_one_walk ? extents[ndim - 1] * extent : extent;
  strides[ndim - 1] = stride;
  if (other != nullptr) other[ndim - 1] = other_stride;
}

kernels::Type kernel_type(DType dtype) noexcept { return static_cast<kernels::Type>(dtype); }

/// What sums of the type are kept in.
DType accumulated(DType dtype) {
  if (!is_floating(dtype)) return DType::int64;
  return dtype == DType::float32 || dtype == DType::float64 ? DType::float64 : DType::float32;
}

/// One reduction in the making.
struct Reduction {
  const char* label;
  ReduceOp op;
  DType out;  ///< of the result
  SourceLocation where;
  double divisor = 1;  ///< of the result
  bool root = false;
  const Array* other = nullptr;  ///< @see ReduceArgs
};

/// The results of a row's chunks, and of chunks of those.
struct Partial {
  DType dtype;
  ReduceOp op;    ///< what reduces them
  int width = 1;  ///< elements a result
};

Partial partial_of(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::argmin:
    case ReduceOp::argmax:
    case ReduceOp::found: return {DType::int64, ReduceOp::found, 2};
    case ReduceOp::any:
    case ReduceOp::all: return {DType::bool_, op};
    case ReduceOp::min:
    case ReduceOp::max: return {dtype, op};
    case ReduceOp::logsumexp:
    case ReduceOp::log_of_sum: return {DType::float64, ReduceOp::log_of_sum};
    case ReduceOp::prod: return {accumulated(dtype), op};
    case ReduceOp::sum:
    case ReduceOp::sum_of_squares:
    case ReduceOp::dot:
    case ReduceOp::var:
    case ReduceOp::softmax: break;
  }
  return {accumulated(dtype), ReduceOp::sum};
}

/// The axes of a reduction.
kernels::ReduceArgs axes_of(const Array& array, AxisSet reduced) {
  const Shape& shape = ArrayAccess::shape(array);
  kernels::ReduceArgs args{};
  args.n = count_of(shape, reduced);
  args.rows = 1;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t stride = ArrayAccess::strides(array)[i];
    if (reduced.test(i)) {
      add_axis(args.reduced_ndim, args.reduced_extents, args.reduced_strides, shape[axis], stride);
    } else {
      add_axis(args.kept_ndim, args.kept_extents, args.kept_strides, shape[axis], stride);
      args.rows *= shape[axis];
    }
  }
  return args;
}

/// The same of softmax: kept axes are one walk where they are one in the result too.
kernels::ReduceArgs softmax_axes(const Array& array, AxisSet reduced, const Array& result) {
  const Shape& shape = ArrayAccess::shape(array);
  kernels::ReduceArgs args{};
  args.op = ReduceOp::softmax;
  args.in_type = kernel_type(ArrayAccess::dtype(array));
  args.acc_type = kernel_type(DType::float64);
  args.out_type = args.in_type;
  args.rows = 1;
  args.n = 1;
  args.chunks = 1;
  args.divisor = 1;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t stride = ArrayAccess::strides(array)[i];
    const std::int64_t out_stride = ArrayAccess::strides(result)[i];
    if (reduced.test(i)) {
      add_axis(args.reduced_ndim, args.reduced_extents, args.reduced_strides, shape[axis], stride);
      args.n = shape[axis];
      args.out_stride = out_stride;
    } else {
      add_axis(args.kept_ndim, args.kept_extents, args.kept_strides, shape[axis], stride, args.out_kept_strides,
               out_stride);
      args.rows *= shape[axis];
    }
  }
  return args;
}

void submit_reduction(runtime::StreamCore& stream, const Reduction& reduction, const kernels::ReduceArgs& args,
                      const Array& array, const Array& result) {
  const Array* const other = reduction.other;
  const std::array<runtime::Access, 3> accesses{whole(result, runtime::AccessMode::write),
                                                whole(array, runtime::AccessMode::read),
                                                other ? whole(*other, runtime::AccessMode::read) : runtime::Access{}};
  const runtime::ReduceCommand command{args, other != nullptr};
  runtime::submit(stream,
                  {stream.device, command, std::span(accesses).first(other ? 3 : 2), reduction.label, reduction.where});
}

/// The result, or the results of chunks and what reduces those. `args` has the axes.
Array reduce_level(runtime::StreamCore& stream, const Reduction& reduction, Partial partial, kernels::ReduceArgs args,
                   const Array& array, const Shape& shape) {
  args.chunks = kernels::results_of_row(args);
  const bool is_last = args.chunks == 1;
  const DType out = is_last ? reduction.out : partial.dtype;
  args.op = reduction.op;
  args.in_type = kernel_type(ArrayAccess::dtype(array));
  args.acc_type = kernel_type(partial.dtype);
  args.out_type = kernel_type(out);
  args.divisor = is_last ? reduction.divisor : 1;
  args.root = is_last && reduction.root;
  const Array result =
      make_array(stream, is_last ? shape : Shape{args.rows * args.chunks * partial.width}, out, reduction.where);
  submit_reduction(stream, reduction, args, array, result);
  if (is_last) return result;

  kernels::ReduceArgs next{};
  next.rows = args.rows;
  next.n = args.chunks;
  add_axis(next.kept_ndim, next.kept_extents, next.kept_strides, args.rows, args.chunks);
  add_axis(next.reduced_ndim, next.reduced_extents, next.reduced_strides, args.chunks, 1);
  Reduction rest = reduction;
  rest.op = partial.op;
  if (rest.op != ReduceOp::log_of_sum) rest.other = nullptr;
  return reduce_level(stream, rest, partial, next, result, shape);
}

/// What a reduction of no elements gives.
Scalar identity(const Reduction& reduction) {
  switch (reduction.op) {
    case ReduceOp::prod: return Scalar(1);
    case ReduceOp::all: return Scalar(true);
    case ReduceOp::logsumexp: return Scalar(-std::numeric_limits<double>::infinity());
    default: {
      const double value = 0 / reduction.divisor;  // of means NaN
      return value == 0 ? Scalar(0) : Scalar(value);
    }
  }
}

/// Refuses the op before it has made anything, if its commands would be.
void check_reads(runtime::StreamCore& stream, const Reduction& reduction, const Array& array) {
  if (!runtime::may_refuse_order(stream)) return;
  const Array* const other = reduction.other;
  const std::array<runtime::Access, 2> reads{whole(array, runtime::AccessMode::read),
                                             other ? whole(*other, runtime::AccessMode::read) : runtime::Access{}};
  runtime::check_order(stream,
                       {stream.device, {}, std::span(reads).first(other ? 2 : 1), reduction.label, reduction.where});
}

Array reduce(const Reduction& reduction, const Array& array, AxisSet reduced, bool keepdim) {
  const auto& [label, op, out, where, divisor, root, other] = reduction;
  require_usable(array, label, where);
  if (other != nullptr) require_usable(*other, label, where);
  const Shape shape = kept_shape(array.shape(), reduced, keepdim, where);
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  check_reads(stream, reduction, array);
  if (shape.size() == 0) return make_array(stream, shape, out, where);
  if (count_of(array.shape(), reduced) == 0) {
    Array none = make_array(stream, shape, out, where);
    fill(none, identity(reduction), label, where);
    return none;
  }
  kernels::ReduceArgs args = axes_of(array, reduced);
  if (op == ReduceOp::dot) args.other_stride = ArrayAccess::strides(*other)[0];
  return reduce_level(stream, reduction, partial_of(op, array.dtype()), args, array, shape);
}

Array reduce(const Reduction& reduction, const Array& array, const Axes& axes, bool keepdim) {
  return reduce(reduction, array, reduced_axes(array, axes, reduction.label, reduction.where), keepdim);
}

/// Whether a second pass would need the results of the first one before one block has them: then each pass is a
/// reduction of its own.
bool needs_phases(const Array& array, AxisSet reduced) { return kernels::results_of_row(axes_of(array, reduced)) > 1; }

/// What sum and prod give.
DType total_type(const Array& array, const char* label, SourceLocation where) {
  require_defined(array, label, where);
  return is_floating(array.dtype()) ? array.dtype() : DType::int64;
}

void require_elements(const Array& array, const Axes& axes, const char* label, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, label, where);
  if (count_of(array.shape(), reduced) > 0 || kept_shape(array.shape(), reduced, false, where).size() == 0) return;
  throw Error(Errc::invalid_value, label, "an array of shape " + array.shape().str(),
              "has no elements to choose from; give one that has", where);
}

/// Integers and bools as float32, once the op itself is not refused.
Array as_floats(const Array& array, const char* label, SourceLocation where) {
  require_usable(array, label, where);
  if (is_floating(array.dtype())) return array;
  check_reads(runtime::thread_stream(array.device()), {label, ReduceOp::sum, array.dtype(), where}, array);
  return array.cast(DType::float32, where);
}

/// The position of the first extreme one, or NaN.
Array position_of(const char* label, ReduceOp op, const Array& array, std::optional<int> axis, bool keepdim,
                  SourceLocation where) {
  const Axes axes = axis ? Axes(*axis) : Axes();
  require_elements(array, axes, label, where);
  return reduce({label, op, DType::int64, where}, array, axes, keepdim);
}

Array truth_of(const char* label, ReduceOp op, const Array& array, const Axes& axes, bool keepdim,
               SourceLocation where) {
  require_defined(array, label, where);
  return reduce({label, op, DType::bool_, where}, array, axes, keepdim);
}

Array extreme_of(const char* label, ReduceOp op, const Array& array, const Axes& axes, bool keepdim,
                 SourceLocation where) {
  require_elements(array, axes, label, where);
  return reduce({label, op, array.dtype(), where}, array, axes, keepdim);
}

/// The op of two arrays, named by the reduction's place.
Array pairwise(ElementwiseOp op, const Array& left, const Array& right, SourceLocation where) {
  const Operand a(left, where);
  const Operand b(right, where);
  const std::array<const Operand*, 2> operands{&a, &b};
  return apply_op(op, operands);
}

/// softmax of few rows that are long.
Array softmax_in_phases(const Array& x, AxisSet reduced, SourceLocation where) {
  const Array largest = reduce({"softmax", ReduceOp::max, x.dtype(), where}, x, reduced, true);
  const DType wide = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Array distances = pairwise(ElementwiseOp::sub, x.cast(wide, where), largest.cast(wide, where), where);
  const Array powers = exp(distances, where);
  const Array total = reduce({"softmax", ReduceOp::sum, wide, where}, powers, reduced, true);
  return pairwise(ElementwiseOp::div, powers, total, where).cast(x.dtype(), where);
}

}  // namespace

Array sum(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return reduce({"sum", ReduceOp::sum, total_type(array, "sum", where), where}, array, axes, keepdim);
}

Array prod(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return reduce({"prod", ReduceOp::prod, total_type(array, "prod", where), where}, array, axes, keepdim);
}

Array mean(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, "mean", where);
  const auto n = static_cast<double>(count_of(array.shape(), reduced));
  const DType out = is_floating(array.dtype()) ? array.dtype() : DType::float32;
  return reduce({"mean", ReduceOp::sum, out, where, n}, array, reduced, keepdim);
}

Array var(const Array& array, Axes axes, double correction, bool keepdim, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, "var", where);
  const Array x = as_floats(array, "var", where);
  const auto n = static_cast<double>(count_of(x.shape(), reduced));
  const double divisor = n > correction ? n - correction : std::numeric_limits<double>::quiet_NaN();
  Reduction reduction{"var", ReduceOp::var, x.dtype(), where, divisor};
  if (!needs_phases(x, reduced)) return reduce(reduction, x, reduced, keepdim);
  const Array center = reduce({"var", ReduceOp::sum, x.dtype(), where, n}, x, reduced, false);
  reduction.other = &center;
  return reduce(reduction, x, reduced, keepdim);
}

Array min(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return extreme_of("min", ReduceOp::min, array, axes, keepdim, where);
}

Array max(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return extreme_of("max", ReduceOp::max, array, axes, keepdim, where);
}

Array argmin(const Array& array, std::optional<int> axis, bool keepdim, SourceLocation where) {
  return position_of("argmin", ReduceOp::argmin, array, axis, keepdim, where);
}

Array argmax(const Array& array, std::optional<int> axis, bool keepdim, SourceLocation where) {
  return position_of("argmax", ReduceOp::argmax, array, axis, keepdim, where);
}

Array any(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return truth_of("any", ReduceOp::any, array, axes, keepdim, where);
}

Array all(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  return truth_of("all", ReduceOp::all, array, axes, keepdim, where);
}

Array norm(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, "norm", where);
  const Array x = as_floats(array, "norm", where);
  return reduce({.label = "norm", .op = ReduceOp::sum_of_squares, .out = x.dtype(), .where = where, .root = true}, x,
                reduced, keepdim);
}

Array logsumexp(const Array& array, Axes axes, bool keepdim, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, axes, "logsumexp", where);
  const Array x = as_floats(array, "logsumexp", where);
  Reduction reduction{"logsumexp", ReduceOp::logsumexp, x.dtype(), where};
  if (!needs_phases(x, reduced)) return reduce(reduction, x, reduced, keepdim);
  const Array largest = reduce({"logsumexp", ReduceOp::max, x.dtype(), where}, x, reduced, false);
  reduction.other = &largest;
  return reduce(reduction, x, reduced, keepdim);
}

Array softmax(const Array& array, int axis, SourceLocation where) {
  const AxisSet reduced = reduced_axes(array, Axes(axis), "softmax", where);
  const Array x = as_floats(array, "softmax", where);
  if (x.size() == 0) return contiguous_copy(x, "softmax", where);
  if (needs_phases(x, reduced)) return softmax_in_phases(x, reduced, where);
  require_usable(x, "softmax", where);
  runtime::StreamCore& stream = runtime::thread_stream(x.device());
  const Reduction reduction{"softmax", ReduceOp::softmax, x.dtype(), where};
  check_reads(stream, reduction, x);
  const Array result = make_array(stream, x.shape(), x.dtype(), where);
  submit_reduction(stream, reduction, softmax_axes(x, reduced, result), x, result);
  return result;
}

Array dot(const Array& left, const Array& right, SourceLocation where) {
  require_defined(left, "dot", where);
  require_defined(right, "dot", where);
  if (left.ndim() != 1 || right.ndim() != 1 || left.shape() != right.shape()) {
    throw Error(Errc::invalid_value, "dot", "shapes " + left.shape().str() + " and " + right.shape().str(),
                "are not one axis of one extent; flatten or slice the arrays first", where);
  }
  const DType dtype = promote(left.dtype(), right.dtype());
  if (dtype == DType::bool_) {
    throw Error(Errc::invalid_value, "dot", "bool operands",
                "without arithmetic; cast to a number first, e.g. x.cast(DType::int64)", where);
  }
  if (left.device() != right.device()) {
    throw Error(Errc::wrong_device, "dot", "arrays on " + left.device().str() + " and " + right.device().str(),
                "are on two devices; move one with to_device first", where);
  }
  require_usable(left, "dot", where);
  require_usable(right, "dot", where);
  check_reads(runtime::thread_stream(left.device()),
              {.label = "dot", .op = ReduceOp::dot, .out = dtype, .where = where, .other = &right}, left);
  const Array x = left.dtype() == dtype ? left : left.cast(dtype, where);
  const Array y = right.dtype() == dtype ? right : right.cast(dtype, where);
  const DType out = is_floating(dtype) ? dtype : DType::int64;
  return reduce({.label = "dot", .op = ReduceOp::dot, .out = out, .where = where, .other = &y}, x, Axes(), false);
}

}  // namespace refrain
