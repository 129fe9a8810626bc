#include <refrain/shape.hpp>

#include <refrain/error.hpp>

#include <limits>
#include <ostream>

namespace refrain {

namespace {

std::string list(std::span<const std::int64_t> extents) {
  std::string text = "[";
  for (std::size_t i = 0; i < extents.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  return text + "]";
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> extents, SourceLocation where)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size()), where) {}

Shape::Shape(std::span<const std::int64_t> extents, SourceLocation where) : ndim_(static_cast<int>(extents.size())) {
  if (extents.size() > max_ndim) {
    throw Error(Errc::invalid_value, "Shape", list(extents),
                "has " + std::to_string(extents.size()) + " extents; give at most " + std::to_string(max_ndim), where);
  }
  std::copy(extents.begin(), extents.end(), extents_.begin());
  bool is_empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      throw Error(Errc::invalid_value, "Shape", list(extents),
                  "extent " + std::to_string(extent) + " is negative; give 0 or more", where);
    }
    is_empty = is_empty || extent == 0;
  }
  if (is_empty) {
    size_ = 0;
    return;
  }
  // Elements are at most 8 bytes: the size in bytes must fit as well.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;
  for (const std::int64_t extent : extents) {
    if (size_ > most / extent) {
      throw Error(Errc::invalid_value, "Shape", list(extents),
                  "has more than 2^60 elements, too many to address; give smaller extents", where);
    }
    size_ *= extent;
  }
}

std::string Shape::str() const { return list({begin(), end()}); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }

}  // namespace refrain
