#pragma once

#include <refrain/device.hpp>

#include <string>
#include <utility>
#include <vector>

namespace refrain::cuda {

/// The GPUs of this process, asked once.
struct Devices {
  std::vector<DeviceProperties> properties;
  std::vector<std::pair<int, int>> priorities;  ///< lowest, highest
  std::string why_none;
};

const Devices& cuda_devices();
inline const DeviceProperties& properties_of(int device) {
  return cuda_devices().properties[static_cast<std::size_t>(device)];
}

}  // namespace refrain::cuda
