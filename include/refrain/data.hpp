#pragma once

#include <refrain/array.hpp>
#include <refrain/dtype.hpp>
#include <refrain/source_location.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace refrain {

namespace detail {

/// The address of the first element.
void* address_of(const Array& array, DType dtype, bool is_written, SourceLocation where);
/// The same of a contiguous host array, after waiting for what its reader, or its writer, must come after.
void* host_elements(const Array& array, DType dtype, bool is_written, SourceLocation where);

}  // namespace detail

/// The address of the first element; null where there are no elements. The array's strides say where others lie: it
/// need not be contiguous. Waits for nothing: work on the array that was issued before may still be under way, and
/// nobody hears of what other code does at the address. So that code must be ordered by streams, and the array kept
/// until it is done; `Stream::enqueue` with an access of the array does both. `data<const T>` is for reading.
/// An array that is made in a capture has a block of its own, and keeps it, once the graph is instantiated while
/// somebody holds the array.
/// @throws Error(Errc::invalid_value) when T is not the dtype's type; illegal_state when the array has no memory yet;
///         not_permitted for a T that is not const, when the memory is read-only
template <class T>
T* data(const Array& array, SourceLocation where = SourceLocation::current()) {
  return static_cast<T*>(detail::address_of(array, dtype_of<std::remove_const_t<T>>(), !std::is_const_v<T>, where));
}

/// The elements of a contiguous host array, in place. Waits for the last writer on whatever stream; for a T that is not
/// const for the last reader too. Work on the array that is issued later does not know of what is done through the
/// span: finish that first. The span is good as long as an array names the memory.
/// @throws Error(Errc::wrong_device) for an array of another device; invalid_value when T is not the dtype's type or
///         the array is not contiguous; capture_unsupported, illegal_state as Array::to_vector; not_permitted for a T
///         that is not const, when the memory is read-only
template <class T>
std::span<T> span(const Array& array, SourceLocation where = SourceLocation::current()) {
  void* const first = detail::host_elements(array, dtype_of<std::remove_const_t<T>>(), !std::is_const_v<T>, where);
  return {static_cast<T*>(first), static_cast<std::size_t>(array.size())};
}

}  // namespace refrain
