#pragma once

#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <string>

namespace refrain::runtime {

/// The largest number of ordinals of a kind that tables are made for.
inline constexpr int most_devices = 64;

/// The variable's text; empty when it is not set.
std::string environment(const char* name);
/// @throws Error(Errc::invalid_value) naming variable, text and limits
int environment_int(const char* name, int fallback, int lowest, int highest);

/// The device that threads start with.
/// @throws Error(Errc::no_device) when REFRAIN_DEVICE names one that is not there
Device initial_device();

/// @throws Error(Errc::no_device) listing the devices there are
void require_device(Device device, const char* call, SourceLocation where);

}  // namespace refrain::runtime
