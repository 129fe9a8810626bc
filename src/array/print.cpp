#include "array/make.hpp"

#include <refrain/array.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>

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
  } else if (dtype != DType::float64) {
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
  Printer(const Array& array, std::ostream& out) : out_(out), whole_(array.size() <= summary_above) {
    print(array, array.ndim() == 0);
  }

 private:
  void print(const Array& array, bool exact) {
    if (array.ndim() <= 1) {
      print_row(array, exact);
      return;
    }
    out_ << '[';
    for (std::int64_t i = 0; i < array.shape()[0]; ++i) {
      if (i > 0) out_ << gap;
      if (skips(array) && i == edge_items) {
        out_ << "..." << gap;
        i = array.shape()[0] - edge_items;
      }
      print(array.select(i), exact);
    }
    out_ << ']';
  }

  /// Reads what is printed and no more: a summary copies the edges only.
  void print_row(const Array& row, bool exact) {
    if (row.ndim() == 0) {
      print_elements(row, exact);
      return;
    }
    out_ << '[';
    if (skips(row)) {
      print_elements(row.slice(0, edge_items), exact);
      out_ << ", ..., ";
      print_elements(row.slice(-edge_items, row.size()), exact);
    } else {
      print_elements(row, exact);
    }
    out_ << ']';
  }

  void print_elements(const Array& row, bool exact) {
    bool is_first = true;
    for (const Scalar& element : read_scalars(row, "print")) {
      if (!std::exchange(is_first, false)) out_ << ", ";
      out_ << text_of(element, row.dtype(), exact);
    }
  }

  bool skips(const Array& array) const { return !whole_ && array.shape()[0] > 2 * edge_items; }

  static constexpr const char* gap = ",\n       ";
  std::ostream& out_;
  const bool whole_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (!array.defined()) return out << "array(empty handle)";
  out << "array(";
  if (array.size() == 0) {
    out << "[], shape=" << array.shape();
  } else {
    Printer(array, out);
    if (array.size() > summary_above) out << ", shape=" << array.shape();
  }
  return out << ", dtype=" << array.dtype() << ", device=" << array.device() << ')';
}

}  // namespace refrain
