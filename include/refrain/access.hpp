#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace refrain {

/// Memory that work of the program's own touches: an array, or bytes at an address. Made by `read`, `write` and
/// `readwrite`; refers to the array that it names.
struct MemoryAccess {
  const Array* array = nullptr;  ///< null: `address` and `bytes`
  void* address = nullptr;
  std::int64_t bytes = 0;
  std::optional<DType> dtype = std::nullopt;  ///< the array's
  bool is_read = false;
  bool is_written = false;
};

template <bool reads, bool writes>
struct Accessed : MemoryAccess {
  explicit Accessed(const Array& array)
      : MemoryAccess{&array, nullptr, 0, array.defined() ? std::optional(array.dtype()) : std::nullopt, reads, writes} {
  }
  Accessed(const void* address, std::int64_t bytes) noexcept
      : MemoryAccess{nullptr, const_cast<void*>(address), bytes, std::nullopt, reads, writes} {}
};

/// What is only read.
inline Accessed<true, false> read(const Array& array) { return Accessed<true, false>(array); }
inline Accessed<true, false> read(const void* address, std::int64_t bytes) noexcept { return {address, bytes}; }
/// What is only written: old values are not needed.
inline Accessed<false, true> write(const Array& array) { return Accessed<false, true>(array); }
inline Accessed<false, true> write(void* address, std::int64_t bytes) noexcept { return {address, bytes}; }
/// What is read and written.
inline Accessed<true, true> readwrite(const Array& array) { return Accessed<true, true>(array); }
inline Accessed<true, true> readwrite(void* address, std::int64_t bytes) noexcept { return {address, bytes}; }

/// Static text for work of the program's own, with the place that names it; shown by graphs, diagnostics and errors.
struct Label {
  const char* text;
  SourceLocation where;

  Label(const char* text, SourceLocation where = SourceLocation::current()) noexcept  // NOLINT
      : text(text), where(where) {}
};

namespace detail {

/// The dtype of a C++ element type; nothing for types that no array has.
template <class T>
constexpr std::optional<DType> known_dtype() noexcept {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return dtype_of<T>();
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) return dtype_of<T>();
  }
  return std::nullopt;
}

/// @throws Error(Errc::invalid_value) when an array of `has` is taken for elements of another type
void require_element_type(const MemoryAccess& access, std::optional<DType> wanted, int position, const Label& label);

}  // namespace detail

/// An address in a function of the program's, as it is when the function is called: converts to a pointer to what the
/// array holds, or to any pointer where it was given as bytes.
class DevicePointer {
 public:
  DevicePointer(void* address, const MemoryAccess& access, int position, const Label& label) noexcept
      : address_(address), access_(&access), position_(position), label_(&label) {}

  /// @throws Error(Errc::invalid_value) when an array of another dtype is taken for elements of type T
  template <class T>
  T* as() const {
    if constexpr (!std::is_void_v<T>) {
      detail::require_element_type(*access_, detail::known_dtype<std::remove_cv_t<T>>(), position_, *label_);
    }
    return static_cast<T*>(address_);
  }
  template <class T>
  operator T*() const {  // NOLINT
    return as<T>();
  }

 private:
  void* address_;
  const MemoryAccess* access_;
  int position_;
  const Label* label_;
};

}  // namespace refrain
