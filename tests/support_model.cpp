#include "support_model.hpp"

#include <array>
#include <ostream>

namespace refrain::test {

namespace {

__extension__ using Wide = __int128;  // holds every product of two integers

template <class T>
T of_floats(Op op, T x, T y) {
  switch (op) {
    case Op::add: return x + y;
    case Op::sub: return x - y;
    case Op::mul: return x * y;
    case Op::div: return x / y;
    case Op::remainder: {
      const T rest = std::fmod(x, y);
      if (rest == 0) return std::copysign(T{0}, y);
      return std::isnan(rest) || std::signbit(rest) == std::signbit(y) ? rest : rest + y;
    }
    case Op::minimum: return std::isnan(x) || x < y ? x : y;  // of two zeros, the second
    case Op::maximum: return std::isnan(x) || x > y ? x : y;
    case Op::less: return x < y ? 1 : 0;
    case Op::equal: return x == y ? 1 : 0;
    case Op::logical_or: return x != 0 || y != 0 ? 1 : 0;
    default: break;
  }
  throw std::logic_error("floats have no such op");
}

Wide of_integers(Op op, Wide x, Wide y) {
  switch (op) {
    case Op::add: return x + y;
    case Op::sub: return x - y;
    case Op::mul: return x * y;
    case Op::minimum: return x < y ? x : y;
    case Op::maximum: return x < y ? y : x;
    case Op::less: return x < y ? 1 : 0;
    case Op::equal: return x == y ? 1 : 0;
    case Op::logical_or: return x != 0 || y != 0 ? 1 : 0;
    case Op::bitwise_and: return x & y;
    case Op::bitwise_xor: return x ^ y;
    default: break;
  }
  if (y == 0) return 0;
  Wide quotient = x / y;
  while (y > 0 ? quotient * y > x : quotient * y < x) --quotient;  // down to the whole number below
  return op == Op::floor_divide ? quotient : x - quotient * y;
}

/// In the dtype, whose numbers x and y are.
Real apply(Op op, DType dtype, Real x, Real y) {
  return with_type(dtype, [&]<class T>(T) -> Real {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(of_integers(op, static_cast<Wide>(x), static_cast<Wide>(y)));
    } else {
      return nearest<T>(of_floats(op, static_cast<double>(x), static_cast<double>(y)));
    }
  });
}

Real cast(Real x, DType from, DType to) {
  return with_type(to, [&]<class T>(T) { return converted<T>(x, !is_floating(from)); });
}

bool gives_truth(Op op) { return op == Op::less || op == Op::equal || op == Op::logical_or; }

Shape broadcast(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(std::max(a.ndim(), b.ndim())));
  for (int i = 1; i <= static_cast<int>(extents.size()); ++i) {  // from the last axis
    const std::int64_t x = i <= a.ndim() ? a[a.ndim() - i] : 1;
    const std::int64_t y = i <= b.ndim() ? b[b.ndim() - i] : 1;
    extents[extents.size() - static_cast<std::size_t>(i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(extents));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, Op op) {
  constexpr std::array names = {"add",     "sub",  "mul",   "div",        "remainder",   "floor_divide", "minimum",
                                "maximum", "less", "equal", "logical_or", "bitwise_and", "bitwise_xor"};
  return out << names.at(static_cast<std::size_t>(op));
}

Model::Model(DType dtype, const Shape& shape, std::vector<Real> values)
    : dtype_(dtype),
      memory_(std::make_shared<std::vector<Real>>(std::move(values))),
      extents_(shape.begin(), shape.end()),
      strides_(extents_.size()) {
  std::int64_t stride = 1;
  for (std::size_t axis = extents_.size(); axis-- > 0; stride *= extents_[axis]) strides_[axis] = stride;
}

Model Model::slice(Slice positions, int axis) const {
  Model view = *this;
  const auto i = static_cast<std::size_t>(axis);
  view.extents_[i] = 0;
  const std::int64_t end = positions.end.value_or(-1);
  for (std::int64_t p = *positions.begin; positions.step > 0 ? p < end : p > end; p += positions.step) {
    ++view.extents_[i];
  }
  view.first_ += *positions.begin * strides_[i];
  view.strides_[i] *= positions.step;
  return view;
}

Model Model::select(std::int64_t position, int axis) const {
  Model view = *this;
  view.first_ += position * strides_[static_cast<std::size_t>(axis)];
  view.extents_.erase(view.extents_.begin() + axis);
  view.strides_.erase(view.strides_.begin() + axis);
  return view;
}

Model Model::permute(const std::vector<int>& axes) const {
  Model view = *this;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    view.extents_[i] = extents_[static_cast<std::size_t>(axes[i])];
    view.strides_[i] = strides_[static_cast<std::size_t>(axes[i])];
  }
  return view;
}

Model Model::expand(const Shape& shape) const {
  Model view = *this;
  view.extents_.assign(shape.begin(), shape.end());
  view.strides_.assign(view.extents_.size(), 0);
  const std::size_t skipped = view.extents_.size() - extents_.size();
  for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
    if (extents_[axis] != 1) view.strides_[skipped + axis] = strides_[axis];
  }
  return view;
}

Model Model::cast(DType dtype) const {
  std::vector<Real> values = elements();
  for (Real& value : values) value = test::cast(value, dtype_, dtype);
  return {dtype, shape(), std::move(values)};
}

std::size_t Model::at(std::size_t index) const {
  std::int64_t place = first_;
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t axis = extents_.size(); axis-- > 0; rest /= extents_[axis]) {
    place += rest % extents_[axis] * strides_[axis];
  }
  return static_cast<std::size_t>(place);
}

std::vector<Real> Model::elements() const {
  std::vector<Real> values(static_cast<std::size_t>(shape().size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = memory_->at(at(i));
  return values;
}

void Model::assign(const Model& source) const {
  const std::vector<Real> values = source.expand(shape()).cast(dtype_).elements();
  for (std::size_t i = 0; i < values.size(); ++i) memory_->at(at(i)) = values[i];
}

Model apply(Op op, const Model& left, const Model& right) {
  DType dtype = promote(left.dtype(), right.dtype());
  if (op == Op::div && !is_floating(dtype)) dtype = DType::float32;
  if (op == Op::logical_or) dtype = DType::bool_;
  const Shape shape = broadcast(left.shape(), right.shape());
  std::vector<Real> values = left.cast(dtype).expand(shape).elements();
  const std::vector<Real> others = right.cast(dtype).expand(shape).elements();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = apply(op, dtype, values[i], others[i]);
  return {gives_truth(op) ? DType::bool_ : dtype, shape, std::move(values)};
}

Model where(const Model& condition, const Model& left, const Model& right) {
  const DType dtype = promote(left.dtype(), right.dtype());
  const Shape shape = broadcast(condition.shape(), broadcast(left.shape(), right.shape()));
  const std::vector<Real> truth = condition.expand(shape).elements();
  std::vector<Real> values = right.cast(dtype).expand(shape).elements();
  const std::vector<Real> others = left.cast(dtype).expand(shape).elements();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = truth[i] != 0 ? others[i] : values[i];
  return {dtype, shape, std::move(values)};
}

}  // namespace refrain::test
