#pragma once

#include <cstdint>

namespace refrain {

/// IEEE 754 binary16, as arrays of DType::float16 store it. A number to store and to convert: arithmetic is float's.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() noexcept = default;
  /// Rounds to the nearest, ties to even.
  explicit float16(float value) noexcept;
  operator float() const noexcept;  // NOLINT(google-explicit-constructor): exact
};

/// The upper half of a float, as arrays of DType::bfloat16 store it. As float16 to be used.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() noexcept = default;
  /// Rounds to the nearest, ties to even.
  explicit bfloat16(float value) noexcept;
  operator float() const noexcept;  // NOLINT(google-explicit-constructor): exact
};

}  // namespace refrain
