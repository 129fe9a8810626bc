#pragma once

#include "runtime/buffer.hpp"
#include "runtime/strides.hpp"

#include <refrain/array.hpp>

namespace refrain {

/// The library's way into an Array.
struct ArrayAccess {
  static Array make(runtime::Buffer* buffer, const Shape& shape, DType dtype) {
    Array array;
    array.buffer_ = buffer;
    array.view_.shape = shape;
    array.view_.strides = row_major(shape);
    array.view_.dtype = dtype;
    buffer->retain_handle();
    return array;
  }
  /// Other elements of the array's buffer: the first one lies `first` elements from the array's.
  static Array view(const Array& array, const Shape& shape, const Strides& strides, std::int64_t first = 0) {
    Array view = array;
    view.view_.offset += first * size_of(array.view_.dtype);
    view.view_.shape = shape;
    view.view_.strides = strides;
    view.view_.is_contiguous = is_row_major(shape, strides);
    return view;
  }
  // Of an array that is known to be defined.
  static const Shape& shape(const Array& array) noexcept { return array.view_.shape; }
  static const Strides& strides(const Array& array) noexcept { return array.view_.strides; }
  static bool is_contiguous(const Array& array) noexcept { return array.view_.is_contiguous; }
  static DType dtype(const Array& array) noexcept { return array.view_.dtype; }
  static std::int64_t offset(const Array& array) noexcept { return array.view_.offset; }

  /// The same elements of another buffer, in which the array's begins at `offset`.
  static Array moved(const Array& array, runtime::Buffer& buffer, std::int64_t offset) {
    buffer.retain_handle();
    Array there(&buffer, array.view_);
    there.view_.offset += offset;
    return there;
  }

  /// The array that the buffer was made for.
  static Array whole(runtime::Buffer& buffer) { return make(&buffer, buffer.shape, buffer.dtype); }
};

}  // namespace refrain
