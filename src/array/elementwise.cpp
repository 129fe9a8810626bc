#include "array/elementwise.hpp"

#include "array/comparison.hpp"
#include "array/layout.hpp"
#include "array/make.hpp"
#include "array/op_info.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/array_access.hpp"
#include "runtime/order.hpp"
#include "runtime/scalar.hpp"
#include "runtime/submit.hpp"

#include <refrain/ops.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

/// Operands of one call.
using Operands = std::span<const Operand* const>;

/// Builds the command of `out = op(operands)` and submits it. Operands have dtype `in` (or are scalars), the first one
/// of `where` bool, and shapes that broadcast to out's.
void submit_op(runtime::StreamCore& stream, const char* label, ElementwiseOp op, const Array& out, Operands operands,
               DType in, SourceLocation where) {
  const Shape& shape = ArrayAccess::shape(out);
  if (shape.size() == 0) return;
  std::array<runtime::Access, kernels::max_inputs + 1> accesses;
  std::array<detail::ParameterUse, kernels::max_inputs> parameters;
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
  args.contiguous =
      ArrayAccess::is_contiguous(out) && std::all_of(operands.begin(), operands.end(), [&](const Operand* operand) {
        return operand->array() == nullptr ||
               (ArrayAccess::shape(*operand->array()) == shape && ArrayAccess::is_contiguous(*operand->array()));
      });
  accesses[0] = whole(out, AccessMode::write);
  std::size_t count = 1;
  std::size_t input = 0;
  for (const Operand* operand : operands) {
    if (const Array* array = operand->array()) {
      if (!args.contiguous) {
        broadcast_strides(ArrayAccess::shape(*array), ArrayAccess::strides(*array), shape, args.inputs[input].strides);
      }
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
    broadcast_strides(shape, ArrayAccess::strides(out), shape, args.out_strides);
    simplify(elementwise);
  }
  command.accesses = std::span(accesses.data(), count);
  command.parameters = std::span(parameters.data(), parameter_count);
  runtime::submit(stream, command);
}

/// Refuses the op for an order that is missing, before anything is made. `target`: what it writes in place.
void check_order(runtime::StreamCore& stream, const char* label, Operands operands, const Array* target,
                 SourceLocation where) {
  if (!runtime::may_refuse_order(stream)) return;
  std::array<runtime::Access, kernels::max_inputs + 1> accesses;
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

const Array& first_array(Operands operands) {
  return *(*std::find_if(operands.begin(), operands.end(), [](const Operand* o) {
            return o->array() != nullptr;
          }))->array();
}

runtime::StreamCore& stream_for(Operands operands, const char* label) {
  const Device device = first_array(operands).buffer()->device();
  for (const Operand* operand : operands) {
    if (operand->array() == nullptr || operand->array()->buffer()->device() == device) continue;
    throw Error(Errc::wrong_device, label, describe(Operand(first_array(operands))) + " on " + device.str(),
                "and " + describe(*operand) + " on " + operand->array()->device().str() +
                    " are on two devices; move one with to_device first",
                operands.front()->where());
  }
  return runtime::thread_stream(device);
}

Array cast_to(const Array& array, DType dtype, const char* label, SourceLocation where) {
  const Operand operand(array, where);
  check(operand, label);
  if (array.dtype() == dtype) return array;
  const std::array<const Operand*, 1> operands{&operand};
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  check_order(stream, label, operands, nullptr, where);
  Array out = make_array(stream, array.shape(), dtype, where);
  submit_op(stream, label, ElementwiseOp::copy, out, operands, array.dtype(), where);
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

/// The dtype of all operands together.
DType promoted(Operands operands) noexcept {
  std::optional<DType> dtype;
  for (const Operand* operand : operands) {
    if (operand->array() == nullptr) continue;
    const DType own = ArrayAccess::dtype(*operand->array());
    dtype = dtype ? refrain::promote(*dtype, own) : own;
  }
  for (const Operand* operand : operands) {
    if (operand->array() == nullptr) dtype = promote(dtype.value_or(DType::bool_), operand->scalar());
  }
  return *dtype;
}

/// What the op computes in, when its operands are promoted to `dtype`.
DType computed_dtype(const OpInfo& op, DType dtype, Operands operands) {
  switch (op.domain) {
    case Domain::all: break;
    case Domain::logic: return DType::bool_;
    case Domain::floats:
      if (!is_floating(dtype)) return DType::float32;
      break;
    case Domain::numbers:
      if (dtype != DType::bool_) break;
      throw Error(Errc::invalid_value, op.name, operands.size() == 1 ? "a bool operand" : "bool operands",
                  "without arithmetic; cast to a number first, e.g. x.cast(DType::int64)", operands.front()->where());
    case Domain::bits:
      if (!is_floating(dtype)) break;
      throw Error(Errc::invalid_value, op.name, "operands of " + std::string(to_string(dtype)),
                  "have no bits to combine; cast them to integers or bool first", operands.front()->where());
  }
  return dtype;
}

Shape broadcast(Operands operands, const char* label, SourceLocation where) {
  const Shape* first = &ArrayAccess::shape(first_array(operands));
  std::optional<Shape> together;
  for (const Operand* operand : operands) {
    if (operand->array() == nullptr || ArrayAccess::shape(*operand->array()) == (together ? *together : *first))
      continue;
    together = broadcast(together ? *together : *first, ArrayAccess::shape(*operand->array()), label, where);
  }
  return together ? *together : *first;
}

/// out = op(operands), all of which compute in `dtype`, the first one of `where` in bool.
Array compute(runtime::StreamCore& stream, const char* label, ElementwiseOp op, const Shape& shape, DType out_dtype,
              DType dtype, Operands operands, SourceLocation where) {
  const bool selects = op == ElementwiseOp::where;
  const auto wanted = [&](std::size_t k) { return selects && k == 0 ? DType::bool_ : dtype; };
  bool is_ready = true;
  for (std::size_t k = 0; k < operands.size(); ++k) is_ready = is_ready && computes_in(*operands[k], wanted(k));
  if (is_ready) {
    Array out = make_array(stream, shape, out_dtype, where);
    submit_op(stream, label, op, out, operands, dtype, where);
    return out;
  }
  std::array<Array, kernels::max_inputs> keep;
  std::vector<Operand> ready;
  ready.reserve(operands.size());
  std::array<const Operand*, kernels::max_inputs> all{};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    ready.push_back(converted(*operands[k], wanted(k), label, keep[k]));
    all[k] = &ready.back();
  }
  Array out = make_array(stream, shape, out_dtype, where);
  submit_op(stream, label, op, out, Operands(all.data(), operands.size()), dtype, where);
  return out;
}

SourceLocation place_of(Operands operands) {
  for (const Operand* operand : operands) {
    if (operand->array() != nullptr) return operand->where();
  }
  return operands.front()->where();
}

void require_array(const char* label, Operands operands) {
  if (std::any_of(operands.begin(), operands.end(), [](const Operand* o) { return o->array() != nullptr; })) return;
  throw Error(Errc::invalid_value, label, "scalars alone", "make no array; give one as an operand, or use full",
              operands.front()->where());
}

/// The operand, or a copy of it in `keep` where writing the target would change elements that are still to be read.
Operand apart_from(const Array& target, const Operand& operand, const char* label, Array& keep) {
  const Array* array = operand.array();
  if (array == nullptr) return operand;
  const runtime::Access read = whole(*array, AccessMode::read);
  const runtime::Access written = whole(target, AccessMode::write);
  if (!runtime::conflict(read, written)) return operand;
  // Two buffers may name the same bytes of other code's.
  const auto first = [](const runtime::Access& access) {
    return access.begin + access.first + access.buffer->history_origin();
  };
  const Shape& shape = ArrayAccess::shape(target);
  const auto walks_as = [&] {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      if (shape[axis] > 1 && ArrayAccess::strides(*array)[i] != ArrayAccess::strides(target)[i]) return false;
    }
    return true;
  };
  const bool is_same = first(read) == first(written) && ArrayAccess::shape(*array) == shape && walks_as() &&
                       size_of(ArrayAccess::dtype(*array)) == size_of(ArrayAccess::dtype(target));
  if (is_same) return operand;
  runtime::StreamCore& stream = runtime::thread_stream(target.buffer()->device());
  keep = make_array(stream, ArrayAccess::shape(*array), ArrayAccess::dtype(*array), operand.where());
  const std::array<const Operand*, 1> operands{&operand};
  submit_op(stream, label, ElementwiseOp::copy, keep, operands, ArrayAccess::dtype(*array), operand.where());
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
  require_distinct(target, label, where);
}

}  // namespace

void require_distinct(const Array& target, const char* label, SourceLocation where) {
  if (!ArrayAccess::is_contiguous(target) &&
      repeats_elements(ArrayAccess::shape(target), ArrayAccess::strides(target))) {
    throw Error(Errc::invalid_value, label, "a target of shape " + ArrayAccess::shape(target).str(),
                "has elements that are one in memory, as an expanded view does; write to a copy, x.contiguous()",
                where);
  }
}

Array apply_op(ElementwiseOp op, Operands operands) {
  const OpInfo& info = op_info(op);
  require_array(info.name, operands);
  for (const Operand* operand : operands) check(*operand, info.name);
  const SourceLocation where = place_of(operands);
  runtime::StreamCore& stream = stream_for(operands, info.name);
  const DType dtype = computed_dtype(info, promoted(operands), operands);
  const Shape shape = broadcast(operands, info.name, where);
  check_order(stream, info.name, operands, nullptr, where);
  const DType gives = info.gives_truth ? DType::bool_ : dtype;
  if (!is_comparison(op)) return compute(stream, info.name, op, shape, gives, dtype, operands, where);
  const Comparison comparison = computable({op, *operands[0], *operands[1]}, dtype);
  const std::array<const Operand*, 2> both{&comparison.left, &comparison.right};
  return compute(stream, info.name, comparison.op, shape, gives, dtype, both, where);
}

Array where(const Array& condition, const Operand& left, const Operand& right) {
  const Operand first(condition, left.where());
  const std::array<const Operand*, 3> operands{&first, &left, &right};
  const std::array<const Operand*, 2> values{&left, &right};
  constexpr const char* label = "where";
  for (const Operand* operand : operands) check(*operand, label);
  runtime::StreamCore& stream = stream_for(operands, label);
  const DType dtype = promoted(values);
  const Shape shape = broadcast(operands, label, left.where());
  check_order(stream, label, operands, nullptr, left.where());
  return compute(stream, label, ElementwiseOp::where, shape, dtype, dtype, operands, left.where());
}

void apply_in_place(ElementwiseOp op, const Array& target, const Operand& right) {
  const OpInfo& info = op_info(op);
  const Operand left(target, right.where());
  const std::array<const Operand*, 2> operands{&left, &right};
  for (const Operand* operand : operands) check(*operand, info.name);
  runtime::StreamCore& stream = stream_for(operands, info.name);
  const DType dtype = computed_dtype(info, promoted(operands), operands);
  require_fits(target, right.array() != nullptr ? ArrayAccess::shape(*right.array()) : Shape{}, dtype, info.name,
               right.where());
  check_order(stream, info.name, operands, &target, right.where());
  Array keep;
  Array copy;
  const Operand apart = apart_from(target, converted(right, dtype, info.name, keep), info.name, copy);
  const std::array<const Operand*, 2> ready{&left, &apart};
  submit_op(stream, info.name, op, target, ready, dtype, right.where());
}

Array contiguous_copy(const Array& array, const char* label, SourceLocation where) {
  const Operand operand(array, where);
  const std::array<const Operand*, 1> operands{&operand};
  check(operand, label);
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  check_order(stream, label, operands, nullptr, where);
  return compute(stream, label, ElementwiseOp::copy, array.shape(), array.dtype(), array.dtype(), operands, where);
}

void fill(const Array& array, const Scalar& value, const char* label, SourceLocation where) {
  Operand operand(0, where);
  if (value.dtype == DType::bool_) {
    operand = Operand(value.i != 0, where);
  } else if (is_floating(value.dtype)) {
    operand = Operand(value.f, where);
  } else {
    operand = Operand(value.i, where);
  }
  const std::array<const Operand*, 1> operands{&operand};
  submit_op(runtime::thread_stream(array.device()), label, ElementwiseOp::copy, array, operands, array.dtype(), where);
}

void copy_into(const Array& target, const Array& source, const char* label, SourceLocation where) {
  const Operand operand(source, where);
  const std::array<const Operand*, 1> operands{&operand};
  submit_op(runtime::thread_stream(target.device()), label, ElementwiseOp::copy, target, operands, source.dtype(),
            where);
}

void Array::assign(const Operand& source) {
  const Operand target(*this, source.where());
  const std::array<const Operand*, 2> both{&target, &source};
  const std::array<const Operand*, 1> from{&source};
  check(target, "assign");
  check(source, "assign");
  runtime::StreamCore& stream = stream_for(both, "assign");
  const DType dtype = source.array() != nullptr ? source.array()->dtype() : promote(view_.dtype, source.scalar());
  require_fits(*this, source.array() != nullptr ? source.array()->shape() : Shape{}, dtype, "assign", source.where());
  check_order(stream, "assign", from, this, source.where());
  Array keep;
  const Operand apart = apart_from(*this, source, "assign", keep);
  const std::array<const Operand*, 1> ready{&apart};
  submit_op(stream, "assign", ElementwiseOp::copy, *this, ready, source.array() != nullptr ? dtype : view_.dtype,
            source.where());
}

Array Array::cast(DType dtype, SourceLocation where) const {
  require_defined(*this, "cast", where);
  return cast_to(*this, dtype, "cast", where);
}

}  // namespace refrain
