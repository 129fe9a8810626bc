#pragma once

#include <refrain/half.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

namespace refrain {

enum class DType : std::uint8_t { bool_, uint8, int32, int64, float16, bfloat16, float32, float64 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8: return 1;
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::int32:
    case DType::float32: return 4;
    case DType::int64:
    case DType::float64: return 8;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) noexcept { return dtype >= DType::float16; }

std::string_view to_string(DType dtype) noexcept;
std::ostream& operator<<(std::ostream& out, DType dtype);

/// The dtype of a C++ element type: bool, unsigned 8-bit, signed 32- and 64-bit integers, float16, bfloat16, float,
/// double.
template <class T>
constexpr DType dtype_of() noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::bool_;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return DType::uint8;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4) {
    return DType::int32;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) {
    return DType::int64;
  } else if constexpr (std::is_same_v<T, float16>) {
    return DType::float16;
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return DType::bfloat16;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::float32;
  } else {
    static_assert(std::is_same_v<T, double>,
                  "element types are bool, std::uint8_t, int32, int64, float16, bfloat16, float, double");
    return DType::float64;
  }
}

/// The dtype of `a op b`: the wider of the two, a float before an integer, which never makes one wider; float16 with
/// bfloat16 gives float32.
DType promote(DType a, DType b) noexcept;

}  // namespace refrain
