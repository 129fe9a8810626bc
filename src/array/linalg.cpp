#include <refrain/linalg.hpp>

#include "array/elementwise.hpp"
#include "array/make.hpp"
#include "runtime/array_access.hpp"
#include "runtime/backend.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>
#include <refrain/ops.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace refrain {

namespace {

using runtime::MatmulOperand;
using runtime::MatmulShape;

/// No kernel of cuBLASLt asks for more, and all blocks of Refrain's have it.
constexpr std::int64_t full_alignment = 16;

/// Where the array begins, as far as it matters for alignment.
std::int64_t address_of(const Array& array) {
  return ArrayAccess::offset(array) + array.buffer()->history_origin();  // not 0 where it is other code's block
}

/// One product in the making.
struct Product {
  const char* label;
  MatmulOptions options;
  bool has_relu;
  SourceLocation where;
};

std::string shapes_of(const Array& left, const Array& right) {
  return "shapes " + left.shape().str() + " and " + right.shape().str();
}

/// The dtype that both are multiplied in.
DType product_dtype(const Array& left, const Array& right, const Product& product) {
  const DType dtype = promote(left.dtype(), right.dtype());
  if (is_floating(dtype)) return dtype;
  throw Error(Errc::invalid_value, product.label,
              "dtypes " + std::string(to_string(left.dtype())) + " and " + std::string(to_string(right.dtype())),
              "are not floating; cast one to float32, x.cast(DType::float32), or to float64 for whole numbers beyond "
              "2^24",
              product.where);
}

void require_one_device(const Array& left, const Array& right, const Product& product) {
  if (left.device() == right.device()) return;
  throw Error(Errc::wrong_device, product.label, shapes_of(left, right),
              "are on " + left.device().str() + " and " + right.device().str() + "; move one with to_device first",
              product.where);
}

bool is_matrix_of_blas(const MatmulOperand& operand, std::int64_t rows, std::int64_t columns) {
  return (operand.column_stride == 1 && operand.row_stride >= columns) ||
         (operand.row_stride == 1 && operand.column_stride >= rows);
}

/// An operand as the product will read it: where it lies, or as a copy will.
struct Laid {
  const Shape& shape;
  Strides strides;
  std::int64_t address;  ///< as far as it matters for alignment
  bool is_copied;
};

/// How the last two axes lie, where BLAS can read them so.
bool describe(const Laid& laid, MatmulOperand& operand) {
  const int ndim = laid.shape.ndim();
  const std::int64_t rows = laid.shape[ndim - 2];
  const std::int64_t columns = laid.shape[ndim - 1];
  operand.row_stride = laid.strides[static_cast<std::size_t>(ndim - 2)];
  operand.column_stride = laid.strides[static_cast<std::size_t>(ndim - 1)];
  // Of one row or column it does not matter how far the next would be.
  if (rows == 1 && columns == 1) {
    operand.row_stride = operand.column_stride = 1;
  } else if (rows == 1 && operand.column_stride > 0) {
    operand.row_stride = operand.column_stride == 1 ? columns : 1;
  } else if (columns == 1 && operand.row_stride > 0) {
    operand.column_stride = 1;
  }
  for (int axis = 0; axis < ndim - 2; ++axis) {
    if (laid.shape[axis] > 1 && laid.strides[static_cast<std::size_t>(axis)] < 0) return false;
  }
  return is_matrix_of_blas(operand, rows, columns);
}

Laid lay(const Array& array, DType dtype) {
  Laid laid{ArrayAccess::shape(array), ArrayAccess::strides(array), address_of(array), false};
  MatmulOperand operand;
  if (ArrayAccess::dtype(array) == dtype && describe(laid, operand)) return laid;
  laid.strides = row_major(laid.shape);
  laid.address = 0;
  laid.is_copied = true;
  return laid;
}

/// The array in the dtype of the product, lying as it was laid.
Array as_laid(const Array& array, const Laid& laid, DType dtype, const Product& product) {
  if (!laid.is_copied) return array;
  if (array.dtype() != dtype) return array.cast(dtype, product.where);
  return contiguous_copy(array, product.label, product.where);
}

std::int64_t lowest_bit(std::int64_t bytes) { return bytes & -bytes; }

/// What the addresses of each batch's first elements are multiples of, where elements have so many bytes.
int alignment(const Laid& laid, const MatmulShape& shape, const std::int64_t* batch_strides, std::int64_t bytes) {
  std::int64_t all = full_alignment | laid.address;
  for (int axis = 0; axis < shape.batch_ndim; ++axis) all |= batch_strides[axis] * bytes;
  return static_cast<int>(lowest_bit(all));
}

/// As many as the libraries count.
bool can_be_counted(std::int64_t x, std::int64_t y) { return x <= std::numeric_limits<std::int32_t>::max() / y; }

/// Walks that go together become one, and a batch of the left operand's rows becomes more rows where all its matrices
/// are multiplied by one and the same.
void merge_batch(MatmulShape& shape) {
  int ndim = 0;
  for (int axis = 0; axis < shape.batch_ndim; ++axis) {
    const std::int64_t extent = shape.batch_extents[axis];
    if (extent == 1) continue;
    const std::int64_t a = shape.a.batch_strides[axis];
    const std::int64_t b = shape.b.batch_strides[axis];
    if (ndim > 0 && shape.a.batch_strides[ndim - 1] == a * extent && shape.b.batch_strides[ndim - 1] == b * extent &&
        can_be_counted(shape.batch_extents[ndim - 1], extent)) {
      --ndim;
      shape.batch_extents[ndim] *= extent;
    } else {
      shape.batch_extents[ndim] = extent;
    }
    shape.a.batch_strides[ndim] = a;
    shape.b.batch_strides[ndim] = b;
    ++ndim;
  }
  if (ndim > 0) {
    const int last = ndim - 1;
    const bool is_dense = shape.a.column_stride == 1 && shape.a.batch_strides[last] == shape.m * shape.a.row_stride;
    if (is_dense && shape.b.batch_strides[last] == 0 && can_be_counted(shape.m, shape.batch_extents[last])) {
      shape.m *= shape.batch_extents[last];
      ndim = last;
    }
  }
  for (int axis = ndim; axis < shape.batch_ndim; ++axis) {
    shape.batch_extents[axis] = shape.a.batch_strides[axis] = shape.b.batch_strides[axis] = 0;
  }
  shape.batch_ndim = ndim;
}

/// The axes before the last two, broadcast.
Shape batch_shape(const Array& left, const Array& right, const Product& product) {
  std::array<std::int64_t, Shape::max_ndim> extents{};
  const int of_left = left.ndim() - 2;
  const int of_right = right.ndim() - 2;
  const int ndim = std::max(of_left, of_right);
  for (int i = 0; i < ndim; ++i) {  // from the last one
    const std::int64_t x = i < of_left ? left.shape()[of_left - 1 - i] : 1;
    const std::int64_t y = i < of_right ? right.shape()[of_right - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(Errc::invalid_value, product.label, shapes_of(left, right),
                  "do not broadcast: before the last two axes, extents " + std::to_string(x) + " and " +
                      std::to_string(y) + " differ and neither is 1; make them equal, or one of them 1",
                  product.where);
    }
    extents[static_cast<std::size_t>(ndim - 1 - i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(extents.data(), static_cast<std::size_t>(ndim)), product.where);
}

void broadcast_batch(const Laid& laid, const MatmulShape& shape, std::int64_t* strides) {
  const int missing = shape.batch_ndim - (laid.shape.ndim() - 2);
  for (int axis = 0; axis < shape.batch_ndim; ++axis) {
    const int own = axis - missing;
    const bool moves = own >= 0 && laid.shape[own] > 1;
    strides[axis] = moves ? laid.strides[static_cast<std::size_t>(own)] : 0;
  }
}

/// The product of arrays in the place where they will lie, without `out`.
MatmulShape shape_of(const Laid& left, const Laid& right, const Shape& batch, DType dtype, const Product& product) {
  const std::int64_t bytes = size_of(dtype);
  MatmulShape shape;
  shape.type = static_cast<kernels::Type>(dtype);
  shape.precision = dtype == DType::float32 ? product.options.precision : MatmulPrecision::exact;
  shape.has_relu = product.has_relu;
  shape.m = left.shape[left.shape.ndim() - 2];
  shape.k = left.shape[left.shape.ndim() - 1];
  shape.n = right.shape[right.shape.ndim() - 1];
  shape.batch_ndim = batch.ndim();
  std::copy(batch.begin(), batch.end(), shape.batch_extents);
  describe(left, shape.a);
  describe(right, shape.b);
  broadcast_batch(left, shape, shape.a.batch_strides);
  broadcast_batch(right, shape, shape.b.batch_strides);
  merge_batch(shape);
  for (int axis = 0; axis < shape.batch_ndim; ++axis) {
    if (can_be_counted(shape.batch_extents[axis], 1)) continue;
    throw Error(Errc::not_supported, product.label, std::to_string(shape.batch_extents[axis]) + " matrices",
                "are more than the libraries count; multiply parts of them", product.where);
  }
  shape.a.alignment = alignment(left, shape, shape.a.batch_strides, bytes);
  shape.b.alignment = alignment(right, shape, shape.b.batch_strides, bytes);
  return shape;
}

/// What the product's result would be without its matrices' elements: 0, and what follows.
Array empty_sums(Array out, const Array& bias, const Product& product) {
  fill(out, Scalar(0), product.label, product.where);
  if (bias.defined()) apply_in_place(kernels::ElementwiseOp::add, out, Operand(bias, product.where));
  return product.has_relu ? relu(out, product.where) : out;
}

/// The product of arrays with two axes at least. All is checked, and planned, before anything is made.
Array product_of(const Array& left, const Array& right, const Array& bias, const Product& product) {
  const SourceLocation where = product.where;
  const std::int64_t of_left = left.shape()[left.ndim() - 1];
  const std::int64_t of_right = right.shape()[right.ndim() - 2];
  if (of_left != of_right) {
    throw Error(Errc::invalid_value, product.label, shapes_of(left, right),
                "do not fit: rows of " + std::to_string(of_left) + " elements and columns of " +
                    std::to_string(of_right) + "; transpose or reshape one of them",
                where);
  }
  const DType dtype = product_dtype(left, right, product);
  const Shape batch = batch_shape(left, right, product);
  std::array<std::int64_t, Shape::max_ndim> extents{};
  const auto batch_ndim = static_cast<std::size_t>(batch.ndim());
  std::copy(batch.begin(), batch.end(), extents.begin());
  extents[batch_ndim] = left.shape()[left.ndim() - 2];
  extents[batch_ndim + 1] = right.shape()[right.ndim() - 1];
  const Shape result(std::span<const std::int64_t>(extents.data(), batch_ndim + 2), where);

  runtime::StreamCore& stream = runtime::thread_stream(left.device());
  if (runtime::may_refuse_order(stream)) {
    std::array<runtime::Access, 3> reads{whole(left, runtime::AccessMode::read),
                                         whole(right, runtime::AccessMode::read)};
    if (bias.defined()) reads[2] = whole(bias, runtime::AccessMode::read);
    const auto all = std::span<const runtime::Access>(reads).first(bias.defined() ? 3 : 2);
    runtime::check_order(stream, {stream.device, {}, all, product.label, where});
  }
  if (result.size() == 0) return make_array(stream, result, dtype, where);
  if (of_left == 0) return empty_sums(make_array(stream, result, dtype, where), bias, product);

  const Laid left_laid = lay(left, dtype);
  const Laid right_laid = lay(right, dtype);
  const bool copies_bias = bias.defined() && (bias.dtype() != dtype || !bias.is_contiguous());
  MatmulShape shape = shape_of(left_laid, right_laid, batch, dtype, product);
  shape.has_bias = bias.defined();
  std::int64_t out_all = full_alignment | (bias.defined() && !copies_bias ? address_of(bias) : 0);
  if (shape.batch_ndim > 0) out_all |= shape.m * shape.n * size_of(dtype);
  shape.out_alignment = static_cast<int>(lowest_bit(out_all));
  runtime::MatmulCommand command;
  command.plan = stream.backend().plan_matmul(stream.device.index, shape, where);

  const Array a = as_laid(left, left_laid, dtype, product);
  const Array b = as_laid(right, right_laid, dtype, product);
  const Array added = copies_bias ? bias.cast(dtype, where).contiguous(where) : bias;
  Array out = make_array(stream, result, dtype, where);
  std::array<runtime::Access, 5> accesses{whole(out, runtime::AccessMode::write), whole(a, runtime::AccessMode::read),
                                          whole(b, runtime::AccessMode::read)};
  std::size_t count = 3;
  if (bias.defined()) {
    command.bias_access = static_cast<int>(count);
    accesses[count++] = whole(added, runtime::AccessMode::read);
  }
  Array workspace;
  if (command.plan->workspace_bytes > 0) {
    workspace = make_array(stream, {command.plan->workspace_bytes}, DType::uint8, where);
    command.workspace_access = static_cast<int>(count);
    accesses[count++] = whole(workspace, runtime::AccessMode::write);
  }
  runtime::submit(stream, {stream.device, std::move(command), std::span(accesses.data(), count), product.label, where});
  return out;
}

void require_operand(const Array& array, const Product& product) {
  require_usable(array, product.label, product.where);
  if (array.ndim() > 0) return;
  throw Error(Errc::invalid_value, product.label, "an array without axes",
              "is no matrix or vector; multiply by it with *", product.where);
}

void require_bias(const Array& bias, const Array& weight, DType dtype, const Product& product) {
  require_usable(bias, product.label, product.where);
  if (bias.shape() != Shape{weight.shape()[0]}) {
    throw Error(Errc::invalid_value, product.label, "a bias of shape " + bias.shape().str(),
                "does not fit a weight of shape " + weight.shape().str() +
                    "; give one value for each of the weight's rows, or add it afterwards",
                product.where);
  }
  require_one_device(weight, bias, product);
  if (promote(dtype, bias.dtype()) != dtype) {
    throw Error(Errc::invalid_value, product.label, "a bias of " + std::string(to_string(bias.dtype())),
                "would be narrowed to " + std::string(to_string(dtype)) + "; cast it explicitly", product.where);
  }
}

Array activated(Array sums, Activation activation, SourceLocation where) {
  switch (activation) {
    case Activation::none:
    case Activation::relu: break;
    case Activation::gelu: return gelu(sums, where);
    case Activation::silu: return silu(sums, where);
    case Activation::tanh: return tanh(sums, where);
    case Activation::sigmoid: return sigmoid(sums, where);
  }
  return sums;
}

}  // namespace

Array matmul(const Array& left, const Array& right, MatmulOptions options, SourceLocation where) {
  const Product product{"matmul", options, false, where};
  require_operand(left, product);
  require_operand(right, product);
  require_one_device(left, right, product);
  const bool is_row = left.ndim() == 1;
  const bool is_column = right.ndim() == 1;
  const Array rows = is_row ? left.unsqueeze(0, where) : left;
  const Array columns = is_column ? right.unsqueeze(1, where) : right;
  Array result = product_of(rows, columns, {}, product);
  if (is_column) result = result.squeeze(-1, where);
  return is_row ? result.squeeze(is_column ? -1 : -2, where) : result;
}

Array linear(const Array& x, const Array& weight, const Array& bias, Activation activation, MatmulOptions options,
             SourceLocation where) {
  const Product product{"linear", options, activation == Activation::relu, where};
  require_operand(x, product);
  require_operand(weight, product);
  require_one_device(x, weight, product);
  if (weight.ndim() != 2) {
    throw Error(Errc::invalid_value, product.label, "a weight of shape " + weight.shape().str(),
                "is no matrix; give (out, in), or use matmul", where);
  }
  if (bias.defined()) require_bias(bias, weight, product_dtype(x, weight, product), product);
  const bool is_vector = x.ndim() == 1;
  const Array rows = is_vector ? x.unsqueeze(0, where) : x;
  const Array sums = product_of(rows, weight.transpose(0, 1, where), bias, product);
  return activated(is_vector ? sums.squeeze(0, where) : sums, activation, where);
}

}  // namespace refrain
