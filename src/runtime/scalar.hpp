#pragma once

#include "kernels/args.hpp"

#include <refrain/array.hpp>

namespace refrain::runtime {

/// The scalar as a parameter of a kernel that computes in `dtype`.
/// @throws Error(Errc::invalid_value) for an integer that it cannot hold
kernels::Value scalar_value(const Scalar& scalar, DType dtype, const char* label, SourceLocation where);

}  // namespace refrain::runtime
