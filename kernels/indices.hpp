#pragma once

#include "kernels/offsets.hpp"

namespace refrain::kernels {

/// Where an index leads, in elements, along axes that have `size` positions together; it is counted from their end when
/// negative. False: it is out of range.
REFRAIN_HOST_DEVICE bool find_index(i64 index, i64 size, int ndim, const i64* extents, const i64* strides, i64& place) {
  if (index < 0) index += size;
  if (index < 0 || index >= size) return false;
  place = offset_along(ndim, extents, strides, index);
  return true;
}

}  // namespace refrain::kernels
