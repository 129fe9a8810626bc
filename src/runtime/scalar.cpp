#include "runtime/scalar.hpp"

#include "kernels/elementwise.hpp"

#include <refrain/error.hpp>

#include <string>
#include <utility>

namespace refrain::runtime {

namespace {

template <class T>
void require_fits(const Scalar& scalar, DType dtype, const char* label, SourceLocation where) {
  if (is_floating(scalar.dtype) || std::in_range<T>(scalar.i)) return;
  throw Error(Errc::invalid_value, label, "the scalar " + std::to_string(scalar.i),
              "does not fit the op's dtype, " + std::string(to_string(dtype)) + "; use an int64 array", where);
}

/// As the number of another type, which a double holds.
template <class To>
double rounded(auto value) {
  if constexpr (std::is_integral_v<decltype(value)>) {
    return static_cast<double>(kernels::convert<To>(static_cast<kernels::i64>(value)));
  } else {
    return static_cast<double>(kernels::convert<To>(value));
  }
}

}  // namespace

kernels::Value scalar_value(const Scalar& scalar, DType dtype, const char* label, SourceLocation where) {
  kernels::Value value{};
  const bool from_float = is_floating(scalar.dtype);
  switch (dtype) {
    case DType::bool_: value.i = from_float ? scalar.f != 0 : scalar.i != 0; break;
    case DType::uint8:
      require_fits<std::uint8_t>(scalar, dtype, label, where);
      value.i = from_float ? kernels::convert<kernels::u8>(scalar.f) : scalar.i;
      break;
    case DType::int32:
      require_fits<std::int32_t>(scalar, dtype, label, where);
      value.i = from_float ? kernels::convert<kernels::i32>(scalar.f) : scalar.i;
      break;
    case DType::int64: value.i = from_float ? kernels::convert<kernels::i64>(scalar.f) : scalar.i; break;
    case DType::float16:
      value.f = from_float ? rounded<kernels::Half>(scalar.f) : rounded<kernels::Half>(scalar.i);
      break;
    case DType::bfloat16:
      value.f = from_float ? rounded<kernels::BFloat>(scalar.f) : rounded<kernels::BFloat>(scalar.i);
      break;
    case DType::float32: value.f = from_float ? rounded<float>(scalar.f) : rounded<float>(scalar.i); break;
    case DType::float64: value.f = from_float ? scalar.f : static_cast<double>(scalar.i); break;
  }
  return value;
}

}  // namespace refrain::runtime
