#include <refrain/dtype.hpp>

#include "kernels/args.hpp"
#include "kernels/half.hpp"

#include <algorithm>
#include <ostream>

namespace refrain {

static_assert(static_cast<int>(DType::bool_) == static_cast<int>(kernels::Type::bool_));
static_assert(static_cast<int>(DType::uint8) == static_cast<int>(kernels::Type::uint8));
static_assert(static_cast<int>(DType::int32) == static_cast<int>(kernels::Type::int32));
static_assert(static_cast<int>(DType::int64) == static_cast<int>(kernels::Type::int64));
static_assert(static_cast<int>(DType::float16) == static_cast<int>(kernels::Type::float16));
static_assert(static_cast<int>(DType::bfloat16) == static_cast<int>(kernels::Type::bfloat16));
static_assert(static_cast<int>(DType::float32) == static_cast<int>(kernels::Type::float32));
static_assert(static_cast<int>(DType::float64) == static_cast<int>(kernels::Type::float64));

std::string_view to_string(DType dtype) noexcept {
  switch (dtype) {
    case DType::bool_: return "bool";
    case DType::uint8: return "uint8";
    case DType::int32: return "int32";
    case DType::int64: return "int64";
    case DType::float16: return "float16";
    case DType::bfloat16: return "bfloat16";
    case DType::float32: return "float32";
    case DType::float64: return "float64";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

DType promote(DType a, DType b) noexcept {
  // Declared in order of widening, but for the two of 16 bits, neither of which holds the other's numbers.
  const auto [least, most] = std::minmax(a, b);
  if (least == DType::float16 && most == DType::bfloat16) return DType::float32;
  return most;
}

float16::float16(float value) noexcept : bits(kernels::Half(value).bits) {}
float16::operator float() const noexcept { return __builtin_bit_cast(kernels::Half, bits); }
bfloat16::bfloat16(float value) noexcept : bits(kernels::BFloat(value).bits) {}
bfloat16::operator float() const noexcept { return __builtin_bit_cast(kernels::BFloat, bits); }

}  // namespace refrain
