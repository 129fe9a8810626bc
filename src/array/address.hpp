#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

namespace refrain {

/// The address of the array's first element, null where there are none: for good, however its graph is instantiated.
/// @throws Error(Errc::illegal_state) when it has no memory yet, or never will
void* pinned_address(const Array& array, const char* call, SourceLocation where);

/// Blocks the host until the array's last writer on whatever stream is done; with `is_written` its last reader too.
/// Where other code has the current stream, for what it put there as well.
/// @throws as require_values; errors of earlier work
void wait_on_host(const Array& array, bool is_written, const char* call, SourceLocation where);

}  // namespace refrain
