#pragma once

#include <refrain/shape.hpp>

#include <cstdint>

namespace refrain {

Strides row_major(const Shape& shape) noexcept;
/// Whether elements with these strides lie side by side in row-major order.
bool is_row_major(const Shape& shape, const Strides& strides) noexcept;

/// Elements before the first and from it on that lie at the lowest and behind the highest address; 0 and 0 of none.
struct Extent {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};
Extent extent_of(const Shape& shape, const Strides& strides) noexcept;

}  // namespace refrain
