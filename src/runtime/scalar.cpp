#include "runtime/scalar.hpp"

#include "kernels/elementwise.hpp"

#include <refrain/error.hpp>

#include <string>
#include <utility>

namespace refrain::runtime {

kernels::Value scalar_value(const Scalar& scalar, DType dtype, const char* label, SourceLocation where) {
  kernels::Value value{};
  const bool from_float = is_floating(scalar.dtype);
  switch (dtype) {
    case DType::bool_: value.i = from_float ? scalar.f != 0 : scalar.i != 0; break;
    case DType::int32:
      if (!from_float && !std::in_range<std::int32_t>(scalar.i)) {
        throw Error(Errc::invalid_value, label, "the scalar " + std::to_string(scalar.i),
                    "does not fit the op's dtype, int32; use an int64 array", where);
      }
      value.i = from_float ? kernels::convert<kernels::i32>(scalar.f) : static_cast<kernels::i32>(scalar.i);
      break;
    case DType::int64: value.i = from_float ? kernels::convert<kernels::i64>(scalar.f) : scalar.i; break;
    case DType::float32: value.f = from_float ? static_cast<float>(scalar.f) : static_cast<float>(scalar.i); break;
    case DType::float64: value.f = from_float ? scalar.f : static_cast<double>(scalar.i); break;
  }
  return value;
}

}  // namespace refrain::runtime
