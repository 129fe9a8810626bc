#pragma once

#include <refrain/dtype.hpp>
#include <refrain/error.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace refrain {

/// A plain number with its dtype, as operand of an op. Weak: it never widens an array's dtype within a kind. An op
/// throws Errc::invalid_value for an integer that its dtype cannot hold.
struct Scalar {
  DType dtype = DType::float64;
  union {
    std::int64_t i = 0;
    double f;
  };

  constexpr Scalar() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  /// @throws Error(Errc::invalid_value) for an unsigned integer above the largest int64
  constexpr Scalar(T value, [[maybe_unused]] SourceLocation where =
                                SourceLocation::current()) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      dtype = DType::bool_, i = value;
    } else if constexpr (std::is_integral_v<T>) {
      if (std::cmp_greater(value, std::numeric_limits<std::int64_t>::max())) {
        throw Error(Errc::invalid_value, "Scalar", std::to_string(value), "does not fit int64; give a smaller number",
                    where);
      }
      dtype = DType::int64, i = static_cast<std::int64_t>(value);
    } else {
      dtype = DType::float64, f = static_cast<double>(value);
    }
  }
};

}  // namespace refrain
