#include "runtime/strides.hpp"

#include <cstdlib>

namespace refrain {

Strides row_major(const Shape& shape) noexcept {
  Strides strides{};
  if (shape.size() == 0) return strides;  // the other extents may have any product
  std::int64_t stride = 1;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

bool is_row_major(const Shape& shape, const Strides& strides) noexcept {
  if (shape.size() <= 1) return true;
  std::int64_t stride = 1;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[static_cast<std::size_t>(axis)] != stride) return false;
    stride *= shape[axis];
  }
  return true;
}

Extent extent_of(const Shape& shape, const Strides& strides) noexcept {
  if (shape.size() == 0) return {};
  Extent extent{0, 1};
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const std::int64_t reach = (shape[axis] - 1) * strides[static_cast<std::size_t>(axis)];
    (reach < 0 ? extent.before : extent.behind) += std::abs(reach);
  }
  return extent;
}

}  // namespace refrain
