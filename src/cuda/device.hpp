#pragma once

#include <refrain/device.hpp>

#include <string>
#include <utility>
#include <vector>

namespace refrain::cuda {

/// The GPUs of this process, asked once.
struct Devices {
  std::vector<DeviceProperties> properties;
  std::string why_none;
};

const Devices& cuda_devices();
/// Lowest and highest priority of a device's streams; makes the device's context.
std::pair<int, int> stream_priorities(int device);
/// 10 x major + minor.
int compute_capability(int device);
inline const DeviceProperties& properties_of(int device) {
  return cuda_devices().properties[static_cast<std::size_t>(device)];
}

}  // namespace refrain::cuda
