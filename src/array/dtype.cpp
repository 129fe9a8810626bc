#include <refrain/dtype.hpp>

#include "kernels/args.hpp"

#include <ostream>

namespace refrain {

static_assert(static_cast<int>(DType::bool_) == static_cast<int>(kernels::Type::bool_));
static_assert(static_cast<int>(DType::int32) == static_cast<int>(kernels::Type::int32));
static_assert(static_cast<int>(DType::int64) == static_cast<int>(kernels::Type::int64));
static_assert(static_cast<int>(DType::float32) == static_cast<int>(kernels::Type::float32));
static_assert(static_cast<int>(DType::float64) == static_cast<int>(kernels::Type::float64));

std::string_view to_string(DType dtype) noexcept {
  switch (dtype) {
    case DType::bool_: return "bool";
    case DType::int32: return "int32";
    case DType::int64: return "int64";
    case DType::float32: return "float32";
    case DType::float64: return "float64";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

DType promote(DType a, DType b) noexcept {
  // Declared in order of widening; an integer never makes a float wider.
  return a < b ? b : a;
}

}  // namespace refrain
