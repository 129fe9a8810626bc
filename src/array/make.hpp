#pragma once

#include "runtime/array_access.hpp"
#include "runtime/buffer.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/array.hpp>

namespace refrain {

/// @throws Error(Errc::invalid_value) on an array that is empty or was moved from
void require_defined(const Array& array, const char* call, SourceLocation where);
/// @throws Error(Errc::capture_unsupported) while this thread records; illegal_state when there are no values yet
void require_values(const Array& array, const char* call, SourceLocation where);

/// Checks what every op asks of an array: arrays of a capture may be used in it, outside they must have values.
/// @throws as require_defined, require_values
void require_usable(const Array& array, const char* call, SourceLocation where);
/// Copies the array's elements to host memory, in row-major order, after the last writer of any stream. No look at
/// captures.
void copy_out(const Array& array, void* target, const char* call, SourceLocation where);
/// Overwrites the array with bytes that may be reused at once.
void upload(const Array& array, std::span<const std::byte> bytes, const char* label, SourceLocation where);

/// A new array on the stream's device whose elements the caller is about to write there.
Array make_array(runtime::StreamCore& stream, const Shape& shape, DType dtype, SourceLocation where);

/// The elements in row-major order. Waits for the last writer.
/// @throws as Array::to_vector
std::vector<Scalar> read_scalars(const Array& array, const char* call, SourceLocation where = {});

/// All bytes from the array's lowest element to its highest.
inline runtime::Access whole(const Array& array, runtime::AccessMode mode) {
  const std::int64_t first = ArrayAccess::offset(array);
  const std::int64_t size = size_of(ArrayAccess::dtype(array));
  if (ArrayAccess::is_contiguous(array)) {
    return {array.buffer(), first, first + ArrayAccess::shape(array).size() * size, mode};
  }
  const Extent extent = extent_of(ArrayAccess::shape(array), ArrayAccess::strides(array));
  return {.buffer = array.buffer(),
          .begin = first - extent.before * size,
          .end = first + extent.behind * size,
          .mode = mode,
          .first = extent.before * size,
          .has_gaps = ArrayAccess::shape(array).size() != extent.before + extent.behind};
}

}  // namespace refrain
