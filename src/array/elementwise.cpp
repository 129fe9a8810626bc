#include "array/elementwise.hpp"

#include "array/make.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/array_access.hpp"
#include "runtime/order.hpp"
#include "runtime/scalar.hpp"
#include "runtime/submit.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace refrain {

namespace {

using kernels::ElementwiseArgs;
using kernels::ElementwiseOp;
using runtime::AccessMode;

kernels::Type kernel_type(DType dtype) noexcept { return static_cast<kernels::Type>(dtype); }

/// Scalars are weak: one of a kind no higher than the array's takes the array's dtype.
DType promote(DType array, const Scalar& scalar) noexcept {
  if (is_floating(scalar.dtype)) return is_floating(array) ? array : DType::float32;
  if (scalar.dtype == DType::bool_) return array;
  return array == DType::bool_ ? DType::int64 : array;
}

std::string describe(const Operand& operand) {
  if (operand.array() == nullptr) return "a scalar";
  return std::string(to_string(operand.array()->dtype())) + operand.array()->shape().str();
}

Shape broadcast(const Shape& a, const Shape& b, const char* label, SourceLocation where) {
  if (a == b) return a;
  std::array<std::int64_t, Shape::max_ndim> extents{};
  const int ndim = std::max(a.ndim(), b.ndim());
  for (int i = 0; i < ndim; ++i) {  // from the last axis
    const std::int64_t x = i < a.ndim() ? a[a.ndim() - 1 - i] : 1;
    const std::int64_t y = i < b.ndim() ? b[b.ndim() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(Errc::invalid_value, label, "shapes " + a.str() + " and " + b.str(),
                  "do not broadcast: extents " + std::to_string(x) + " and " + std::to_string(y) + " of axis " +
                      std::to_string(ndim - 1 - i) + " differ and neither is 1; make them equal, or one of them 1",
                  where);
    }
    extents[static_cast<std::size_t>(ndim - 1 - i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(extents.data(), static_cast<std::size_t>(ndim)), where);
}

/// Strides, in elements, of a dense array of shape `from` seen as `to`; 0 where it is broadcast.
void strides_as(const Shape& from, const Shape& to, kernels::i64* strides) {
  std::int64_t stride = 1;
  for (int i = 0; i < to.ndim(); ++i) {  // from the last axis
    const int axis = from.ndim() - 1 - i;
    const std::int64_t extent = axis >= 0 ? from[axis] : 1;
    strides[to.ndim() - 1 - i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
}

/// Drops axes of extent 1 and merges neighbours that every input walks through as one.
void merge_axes(ElementwiseArgs& args) {
  int kept = 0;
  for (int axis = 0; axis < args.ndim; ++axis) {
    if (args.extents[axis] == 1) continue;
    bool joins = kept > 0;
    for (int i = 0; joins && i < args.input_count; ++i) {
      joins = args.inputs[i].strides[kept - 1] == args.inputs[i].strides[axis] * args.extents[axis];
    }
    if (joins) {
      args.extents[kept - 1] *= args.extents[axis];
      for (int i = 0; i < args.input_count; ++i) args.inputs[i].strides[kept - 1] = args.inputs[i].strides[axis];
      continue;
    }
    args.extents[kept] = args.extents[axis];
    for (int i = 0; i < args.input_count; ++i) args.inputs[i].strides[kept] = args.inputs[i].strides[axis];
    ++kept;
  }
  args.ndim = kept;
}

/// Builds the command of `out = op(operands)` and submits it. Operands have dtype `in` (or are scalars) and shapes that
/// broadcast to out's.
void submit_op(runtime::StreamCore& stream, const char* label, ElementwiseOp op, const Array& out,
               std::initializer_list<const Operand*> operands, DType in, SourceLocation where) {
  const Shape& shape = ArrayAccess::shape(out);
  if (shape.size() == 0) return;
  std::array<runtime::Access, 3> accesses;
  std::array<detail::ParameterUse, 2> parameters;
  std::size_t parameter_count = 0;
  runtime::Command command{
      stream.device, runtime::Payload(std::in_place_type<runtime::ElementwiseCommand>), {}, label, where};
  auto& elementwise = *std::get_if<runtime::ElementwiseCommand>(&command.payload);
  ElementwiseArgs& args = elementwise.args;
  args.op = op;
  args.in_type = kernel_type(in);
  args.out_type = kernel_type(ArrayAccess::dtype(out));
  args.input_count = static_cast<int>(operands.size());
  args.size = shape.size();
  args.contiguous = std::all_of(operands.begin(), operands.end(), [&](const Operand* operand) {
    return operand->array() == nullptr || ArrayAccess::shape(*operand->array()) == shape;
  });
  accesses[0] = whole(out, AccessMode::write);
  std::size_t count = 1;
  std::size_t input = 0;
  for (const Operand* operand : operands) {
    if (const Array* array = operand->array()) {
      if (!args.contiguous) strides_as(ArrayAccess::shape(*array), shape, args.inputs[input].strides);
      elementwise.in_access[input] = static_cast<int>(count);
      accesses[count++] = whole(*array, AccessMode::read);
    } else {
      if (operand->parameter() != nullptr) {
        parameters[parameter_count++] = {operand->parameter(), static_cast<int>(input)};
      }
      args.inputs[input].scalar = runtime::scalar_value(operand->scalar(), in, label, operand->where());
    }
    ++input;
  }
  if (!args.contiguous) {
    args.ndim = shape.ndim();
    std::copy(shape.begin(), shape.end(), args.extents);
    merge_axes(args);
  }
  command.accesses = std::span(accesses.data(), count);
  command.parameters = std::span(parameters.data(), parameter_count);
  runtime::submit(stream, command);
}

/// Refuses the op for an order that is missing, before anything is made. `target`: what it writes in place.
void check_order(runtime::StreamCore& stream, const char* label, std::initializer_list<const Operand*> operands,
                 const Array* target, SourceLocation where) {
  if (!runtime::may_refuse_order(stream)) return;
  std::array<runtime::Access, 3> accesses;
  std::size_t count = 0;
  if (target != nullptr) accesses[count++] = whole(*target, AccessMode::write);
  for (const Operand* operand : operands) {
    if (operand->array() != nullptr) accesses[count++] = whole(*operand->array(), AccessMode::read);
  }
  runtime::check_order(stream, {stream.device, {}, std::span(accesses.data(), count), label, where});
}

/// Checks what every op asks of an array operand.
void check(const Operand& operand, const char* label) {
  if (operand.array() != nullptr) require_usable(*operand.array(), label, operand.where());
}

runtime::StreamCore& stream_for(const Operand& left, const Operand& right, const char* label) {
  const Array* a = left.array() != nullptr ? left.array() : right.array();
  const Device device = a->buffer()->device();
  if (right.array() != nullptr && right.array()->buffer()->device() != device) {
    throw Error(Errc::wrong_device, label, describe(left) + " on " + device.str(),
                "and " + describe(right) + " on " + right.array()->device().str() +
                    " are on two devices; move one with to_device first",
                left.where());
  }
  return runtime::thread_stream(device);
}

Array cast_to(const Array& array, DType dtype, const char* label, SourceLocation where) {
  const Operand operand(array, where);
  check(operand, label);
  if (array.dtype() == dtype) return array;
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  check_order(stream, label, {&operand}, nullptr, where);
  Array out = make_array(stream, array.shape(), dtype, where);
  submit_op(stream, label, ElementwiseOp::copy, out, {&operand}, array.dtype(), where);
  return out;
}

bool computes_in(const Operand& operand, DType dtype) noexcept {
  return operand.array() == nullptr || ArrayAccess::dtype(*operand.array()) == dtype;
}

/// The operand in the dtype that the op computes in; `keep` holds the converted array.
Operand converted(const Operand& operand, DType dtype, const char* label, Array& keep) {
  if (computes_in(operand, dtype)) return operand;
  keep = cast_to(*operand.array(), dtype, label, operand.where());
  return Operand(keep, operand.where());
}

DType result_dtype(const Operand& left, const Operand& right, ElementwiseOp op, const char* label) {
  const DType a = left.array() != nullptr ? ArrayAccess::dtype(*left.array()) : ArrayAccess::dtype(*right.array());
  DType dtype = a;
  if (left.array() == nullptr) {
    dtype = promote(a, left.scalar());
  } else {
    dtype =
        right.array() != nullptr ? refrain::promote(a, ArrayAccess::dtype(*right.array())) : promote(a, right.scalar());
  }
  if (op == ElementwiseOp::div && !is_floating(dtype)) return DType::float32;
  if (dtype == DType::bool_) {
    throw Error(Errc::invalid_value, label, "two bool operands",
                "have no arithmetic; cast one to a number first, e.g. x.cast(DType::int64)", left.where());
  }
  return dtype;
}

Array binary(const char* label, ElementwiseOp op, const Operand& left, const Operand& right) {
  check(left, label);
  check(right, label);
  const SourceLocation where = left.array() != nullptr ? left.where() : right.where();
  runtime::StreamCore& stream = stream_for(left, right, label);
  const DType dtype = result_dtype(left, right, op, label);
  const Shape shape = left.array() == nullptr    ? ArrayAccess::shape(*right.array())
                      : right.array() == nullptr ? ArrayAccess::shape(*left.array())
                                                 : broadcast(ArrayAccess::shape(*left.array()),
                                                             ArrayAccess::shape(*right.array()), label, where);
  check_order(stream, label, {&left, &right}, nullptr, where);
  if (computes_in(left, dtype) && computes_in(right, dtype)) {
    Array out = make_array(stream, shape, dtype, where);
    submit_op(stream, label, op, out, {&left, &right}, dtype, where);
    return out;
  }
  Array left_keep;
  Array right_keep;
  const Operand a = converted(left, dtype, label, left_keep);
  const Operand b = converted(right, dtype, label, right_keep);
  Array out = make_array(stream, shape, dtype, where);
  submit_op(stream, label, op, out, {&a, &b}, dtype, where);
  return out;
}

/// The operand, or a copy of it in `keep` where writing the target would change elements that are still to be read.
Operand apart_from(const Array& target, const Operand& operand, const char* label, Array& keep) {
  const Array* array = operand.array();
  if (array == nullptr) return operand;
  const runtime::Access read = whole(*array, AccessMode::read);
  const runtime::Access written = whole(target, AccessMode::write);
  if (!runtime::conflict(read, written)) return operand;
  // Two buffers may name the same bytes of other code's.
  const auto begin = [](const runtime::Access& access) { return access.begin + access.buffer->history_origin(); };
  const bool is_same = begin(read) == begin(written) && ArrayAccess::shape(*array) == ArrayAccess::shape(target) &&
                       size_of(ArrayAccess::dtype(*array)) == size_of(ArrayAccess::dtype(target));
  if (is_same) return operand;
  runtime::StreamCore& stream = runtime::thread_stream(target.buffer()->device());
  keep = make_array(stream, ArrayAccess::shape(*array), ArrayAccess::dtype(*array), operand.where());
  submit_op(stream, label, ElementwiseOp::copy, keep, {&operand}, ArrayAccess::dtype(*array), operand.where());
  return Operand(keep, operand.where());
}

void require_fits(const Array& target, const Shape& shape, DType dtype, const char* label, SourceLocation where) {
  if (broadcast(target.shape(), shape, label, where) != target.shape()) {
    throw Error(Errc::invalid_value, label, "a target of shape " + target.shape().str(),
                "cannot hold a result of shape " + shape.str() +
                    "; in-place ops keep the target's shape, so write to an array of that shape",
                where);
  }
  if (refrain::promote(target.dtype(), dtype) != target.dtype()) {
    throw Error(Errc::invalid_value, label, "a target of " + std::string(to_string(target.dtype())),
                "would narrow " + std::string(to_string(dtype)) + "; cast explicitly, or use the out-of-place op",
                where);
  }
}

void in_place(const char* label, ElementwiseOp op, const Array& target, const Operand& right) {
  const Operand left(target, right.where());
  check(left, label);
  check(right, label);
  runtime::StreamCore& stream = stream_for(left, right, label);
  const DType dtype = result_dtype(left, right, op, label);
  require_fits(target, right.array() != nullptr ? ArrayAccess::shape(*right.array()) : Shape{}, dtype, label,
               right.where());
  check_order(stream, label, {&left, &right}, &target, right.where());
  Array keep;
  Array copy;
  const Operand b = apart_from(target, converted(right, dtype, label, keep), label, copy);
  submit_op(stream, label, op, target, {&left, &b}, dtype, right.where());
}

}  // namespace

void fill(Array& array, const Scalar& value, const char* label, SourceLocation where) {
  Operand operand(0, where);
  switch (value.dtype) {
    case DType::bool_: operand = Operand(value.i != 0, where); break;
    case DType::int32:
    case DType::int64: operand = Operand(value.i, where); break;
    case DType::float32:
    case DType::float64: operand = Operand(value.f, where); break;
  }
  submit_op(runtime::thread_stream(array.device()), label, ElementwiseOp::copy, array, {&operand}, array.dtype(),
            where);
}

Array operator+(const Operand& left, const Operand& right) { return binary("add", ElementwiseOp::add, left, right); }
Array operator-(const Operand& left, const Operand& right) { return binary("sub", ElementwiseOp::sub, left, right); }
Array operator*(const Operand& left, const Operand& right) { return binary("mul", ElementwiseOp::mul, left, right); }
Array operator/(const Operand& left, const Operand& right) { return binary("div", ElementwiseOp::div, left, right); }

Array operator-(const Operand& operand) {
  check(operand, "neg");
  const Array& array = *operand.array();
  if (array.dtype() == DType::bool_) {
    throw Error(Errc::invalid_value, "neg", describe(operand),
                "has no negative; cast it to a number first, e.g. x.cast(DType::int64)", operand.where());
  }
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  check_order(stream, "neg", {&operand}, nullptr, operand.where());
  Array out = make_array(stream, array.shape(), array.dtype(), operand.where());
  submit_op(stream, "neg", ElementwiseOp::neg, out, {&operand}, array.dtype(), operand.where());
  return out;
}

Array& Array::operator+=(const Operand& right) { return in_place("add", ElementwiseOp::add, *this, right), *this; }
Array& Array::operator-=(const Operand& right) { return in_place("sub", ElementwiseOp::sub, *this, right), *this; }
Array& Array::operator*=(const Operand& right) { return in_place("mul", ElementwiseOp::mul, *this, right), *this; }
Array& Array::operator/=(const Operand& right) { return in_place("div", ElementwiseOp::div, *this, right), *this; }

void Array::assign(const Operand& source) {
  const Operand target(*this, source.where());
  check(target, "assign");
  check(source, "assign");
  runtime::StreamCore& stream = stream_for(target, source, "assign");
  const DType from = source.array() != nullptr ? source.array()->dtype() : promote(dtype_, source.scalar());
  require_fits(*this, source.array() != nullptr ? source.array()->shape() : Shape{}, from, "assign", source.where());
  check_order(stream, "assign", {&source}, this, source.where());
  Array keep;
  const Operand from_apart = apart_from(*this, source, "assign", keep);
  submit_op(stream, "assign", ElementwiseOp::copy, *this, {&from_apart}, source.array() != nullptr ? from : dtype_,
            source.where());
}

Array Array::cast(DType dtype, SourceLocation where) const {
  require_defined(*this, "cast", where);
  return cast_to(*this, dtype, "cast", where);
}

}  // namespace refrain
