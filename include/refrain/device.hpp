#pragma once

#include <refrain/source_location.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

enum class DeviceKind : std::uint8_t { host, cuda };

/// One device: a kind and an ordinal among the devices of that kind. A value; making one touches no hardware.
struct Device {
  DeviceKind kind = DeviceKind::host;
  int index = 0;

  /// "host:0", "cuda:1"; the ordinal may be left out.
  /// @throws Error(Errc::invalid_value) when the text is none of these
  static Device parse(std::string_view text, SourceLocation where = SourceLocation::current());

  /// "cuda:0"
  std::string str() const;

  friend bool operator==(const Device&, const Device&) = default;
};

std::ostream& operator<<(std::ostream& out, const Device& device);

/// Every device there is: CUDA devices first, then host ordinals (`REFRAIN_HOST_DEVICES`, 1 by default).
std::vector<Device> devices();

/// How many devices of this kind there are; 0 for CUDA without a toolkit, a driver or a GPU.
int device_count(DeviceKind kind);

/// Why there is no CUDA device ("built without CUDA", "no driver", ...); empty when there is one.
std::string why_no_cuda();

/// The device that streams and arrays are made on unless told otherwise: this thread's current device
/// (`DeviceGuard`), at first `REFRAIN_DEVICE`, else CUDA if there is a GPU, else the host.
/// @throws Error(Errc::no_device) when `REFRAIN_DEVICE` names a device that is not there
Device current_device();

/// Facts about a device that programs and random-number layouts depend on.
struct DeviceProperties {
  std::string name;
  int multiprocessors = 0;                 ///< host: 132, the number the host's random layout follows
  int max_threads_per_multiprocessor = 0;  ///< host: 2048
  std::size_t total_memory = 0;            ///< bytes
};

/// @throws Error(Errc::no_device) when the device is not there
DeviceProperties device_properties(Device device, SourceLocation where = SourceLocation::current());

/// Makes a device current for the calling thread until the end of the scope; streams stay as they are.
class DeviceGuard {
 public:
  /// @throws Error(Errc::no_device)
  explicit DeviceGuard(Device device, SourceLocation where = SourceLocation::current());
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device previous_;
};

}  // namespace refrain

template <>
struct std::hash<refrain::Device> {
  std::size_t operator()(const refrain::Device& d) const noexcept {
    return (static_cast<std::size_t>(d.kind) << 16) ^ static_cast<std::size_t>(d.index);
  }
};
