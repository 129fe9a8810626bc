#pragma once

#include <refrain/source_location.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace refrain {

/// The extents of an array, at most 8 of them; {} is a scalar's. A small value without heap memory.
class Shape {
 public:
  static constexpr int max_ndim = 8;

  Shape() = default;
  /// @throws Error(Errc::invalid_value) on a negative extent, more than 8 extents, or an element count over 2^63 - 1
  Shape(std::initializer_list<std::int64_t> extents, SourceLocation where = SourceLocation::current());
  explicit Shape(std::span<const std::int64_t> extents, SourceLocation where = SourceLocation::current());

  int ndim() const noexcept { return ndim_; }
  std::int64_t operator[](int axis) const noexcept { return extents_[static_cast<std::size_t>(axis)]; }
  /// Number of elements; 1 for a scalar.
  std::int64_t size() const noexcept { return size_; }

  const std::int64_t* begin() const noexcept { return extents_.data(); }
  const std::int64_t* end() const noexcept { return extents_.data() + ndim_; }

  /// "[2, 3]"
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return a.ndim_ == b.ndim_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::array<std::int64_t, max_ndim> extents_{};
  std::int64_t size_ = 1;
  int ndim_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Elements from one position of each axis to the next: 0 where one element stands for all, negative where the axis
/// runs backwards.
using Strides = std::array<std::int64_t, Shape::max_ndim>;

}  // namespace refrain
