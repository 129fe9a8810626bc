#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

namespace refrain {

/// What `from_blob` does, for a call of another name.
/// @throws as from_blob, naming `call`
Array name_memory(const char* call, void* address, const Shape& shape, DType dtype, BlobOptions options,
                  SourceLocation where);

}  // namespace refrain
