#pragma once

#include <refrain/refrain.hpp>

/// Launches a kernel of the library's that adds to each element.
void add(const refrain::Stream& stream, const refrain::Array& x, const refrain::Param<float>& value);
