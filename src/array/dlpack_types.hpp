#pragma once

#include "third_party/dlpack/dlpack.h"

#include <refrain/array.hpp>
#include <refrain/dtype.hpp>

#include <optional>

namespace refrain {

constexpr DLDataType dlpack_type(DType dtype) noexcept {
  const auto make = [dtype](DLDataTypeCode code) {
    return DLDataType{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(size_of(dtype) * 8), 1};
  };
  switch (dtype) {
    case DType::bool_: return make(kDLBool);
    case DType::uint8: return make(kDLUInt);
    case DType::int32:
    case DType::int64: return make(kDLInt);
    case DType::bfloat16: return make(kDLBfloat);
    case DType::float16:
    case DType::float32:
    case DType::float64: break;
  }
  return make(kDLFloat);
}

/// Nothing for a type that no array has.
constexpr std::optional<DType> dtype_of_dlpack(DLDataType type) noexcept {
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                            DType::float32, DType::float64}) {
    const DLDataType own = dlpack_type(dtype);
    if (own.code == type.code && own.bits == type.bits && own.lanes == type.lanes) return dtype;
  }
  return std::nullopt;
}

/// The array behind a tensor that `to_dlpack` made; null for one of other code's, and where the tensor is read-only by
/// the exporter's wish, which the array does not know of.
const Array* exported_array(const DLManagedTensorVersioned& tensor) noexcept;
const Array* exported_array(const DLManagedTensor& tensor) noexcept;

}  // namespace refrain
