#pragma once

#include "runtime/buffer.hpp"

#include <refrain/array.hpp>

namespace refrain {

/// The library's way into an Array.
struct ArrayAccess {
  static Array make(runtime::Buffer* buffer, const Shape& shape, DType dtype) {
    Array array;
    array.buffer_ = buffer;
    array.shape_ = shape;
    array.dtype_ = dtype;
    buffer->retain_handle();
    return array;
  }
  // Of an array that is known to be defined.
  static const Shape& shape(const Array& array) noexcept { return array.shape_; }
  static DType dtype(const Array& array) noexcept { return array.dtype_; }
  static std::int64_t offset(const Array& array) noexcept { return array.offset_; }

  /// The same elements of another buffer, in which the array's begins at `offset`.
  static Array moved(const Array& array, runtime::Buffer& buffer, std::int64_t offset) {
    Array there = make(&buffer, array.shape_, array.dtype_);
    there.offset_ = array.offset_ + offset;
    return there;
  }

  /// The array that the buffer was made for.
  static Array whole(runtime::Buffer& buffer) { return make(&buffer, buffer.shape, buffer.dtype); }
};

}  // namespace refrain
