#pragma once

#include "kernels/elementwise.hpp"

namespace refrain::kernels {

/// Elements from the first one to position i along axes, the last one fastest.
REFRAIN_HOST_DEVICE i64 offset_along(int ndim, const i64* extents, const i64* strides, i64 i) {
  i64 offset = 0;
  for (int axis = ndim - 1; axis > 0; --axis) {
    const i64 outer = divide(i, extents[axis]);
    offset += (i - outer * extents[axis]) * strides[axis];
    i = outer;
  }
  return ndim > 0 ? offset + i * strides[0] : 0;
}

}  // namespace refrain::kernels
