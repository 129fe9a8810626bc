#pragma once

#include <refrain/launch.hpp>

namespace refrain::runtime {

/// What CUDA would refuse on any device, told with the place.
/// @throws Error(Errc::invalid_value)
void require_geometry(const LaunchConfig& config);

}  // namespace refrain::runtime
