#include "array/make.hpp"

#include <refrain/array.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string>

namespace refrain {

namespace {

/// Arrays of more elements than this are summarised, with this many items at each end of an axis.
constexpr std::int64_t summary_above = 1000;
constexpr std::int64_t edge_items = 3;

/// Six significant digits, never misleading since they are of the number itself and not of a common scale; `exact`: as
/// many as it takes to read the number back.
std::string text_of(const Scalar& value, DType dtype, bool exact) {
  if (dtype == DType::bool_) return value.i != 0 ? "true" : "false";
  char buffer[64];
  if (!is_floating(dtype)) {
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<long long>(value.i)).ptr};
  }
  if (std::isnan(value.f)) return "nan";
  char* end = nullptr;
  if (!exact) {
    end = std::to_chars(buffer, buffer + sizeof buffer, value.f, std::chars_format::general, 6).ptr;
  } else if (dtype == DType::float32) {
    end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value.f)).ptr;
  } else {
    end = std::to_chars(buffer, buffer + sizeof buffer, value.f).ptr;
  }
  std::string text(buffer, end);
  if (std::isfinite(value.f) && text.find_first_of(".e") == std::string::npos) text += '.';
  return text;
}

class Printer {
 public:
  Printer(const Array& array, std::ostream& out) : array_(array), out_(out), whole_(array.size() <= summary_above) {}

  void print(int axis, std::int64_t offset) {
    const Shape& shape = array_.shape();
    if (axis == shape.ndim()) {
      out_ << text_of(element(offset), array_.dtype(), shape.ndim() == 0);
      return;
    }
    std::int64_t stride = 1;
    for (int i = axis + 1; i < shape.ndim(); ++i) stride *= shape[i];
    const std::int64_t extent = shape[axis];
    const bool skip = !whole_ && extent > 2 * edge_items;
    const char* gap = axis + 1 == shape.ndim() ? ", " : ",\n       ";
    out_ << '[';
    for (std::int64_t i = 0; i < extent; ++i) {
      if (skip && i == edge_items) {
        out_ << gap << "...";
        i = extent - edge_items;
      }
      if (i > 0) out_ << gap;
      print(axis + 1, offset + i * stride);
    }
    out_ << ']';
  }

 private:
  /// Elements are read a row at a time, so that a summary copies the edges only.
  Scalar element(std::int64_t offset);

  const Array& array_;
  std::ostream& out_;
  const bool whole_;
  std::int64_t first_ = 0;
  std::vector<Scalar> read_;
};

Scalar Printer::element(std::int64_t offset) {
  if (offset < first_ || offset >= first_ + static_cast<std::int64_t>(read_.size())) {
    first_ = whole_ ? 0 : offset;
    read_ =
        read_scalars(array_, first_, whole_ ? array_.size() : std::min(edge_items, array_.size() - offset), "print");
  }
  return read_[static_cast<std::size_t>(offset - first_)];
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (!array.defined()) return out << "array(empty handle)";
  out << "array(";
  if (array.size() == 0) {
    out << "[], shape=" << array.shape();
  } else {
    Printer(array, out).print(0, 0);
    if (array.size() > summary_above) out << ", shape=" << array.shape();
  }
  return out << ", dtype=" << array.dtype() << ", device=" << array.device() << ')';
}

}  // namespace refrain
