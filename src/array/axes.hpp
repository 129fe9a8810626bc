#pragma once

#include <refrain/shape.hpp>
#include <refrain/source_location.hpp>

namespace refrain {

/// The axis from the first on, of a shape that has, or is to have, `more` axes besides.
/// @throws Error(Errc::invalid_value) when it is not there
int axis_of(const Shape& shape, int axis, const char* call, SourceLocation where, int more = 0);

/// @throws Error(Errc::invalid_value) when the shape has the most axes there can be
void require_room(const Shape& shape, const char* call, SourceLocation where);

}  // namespace refrain
