#pragma once

#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

namespace refrain::bench {

/// Issues a command that does nothing: an empty kernel on CUDA, an empty call on the host. For measuring launch costs.
void empty(const Stream& stream, SourceLocation where = SourceLocation::current());

}  // namespace refrain::bench
