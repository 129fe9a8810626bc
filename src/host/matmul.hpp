#pragma once

#include "runtime/matmul.hpp"

#include <refrain/source_location.hpp>

#include <memory>

namespace refrain::host {

/// @throws Error(Errc::not_supported) when OpenBLAS cannot be loaded, or an extent is beyond its integers
std::shared_ptr<const runtime::MatmulPlan> plan_matmul(const runtime::MatmulShape& shape, SourceLocation where);

/// @see MatmulShape. Runs on the calling thread.
void matmul(const runtime::MatmulShape& shape, const void* a, const void* b, const void* bias, void* out);

}  // namespace refrain::host
