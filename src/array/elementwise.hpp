#pragma once

#include <refrain/array.hpp>

namespace refrain {

/// Sets every element of the array to the scalar, converted to its dtype.
void fill(Array& array, const Scalar& value, const char* label, SourceLocation where);

}  // namespace refrain
