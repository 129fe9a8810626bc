#include "runtime/backend.hpp"
#include "runtime/environment.hpp"
#include "runtime/thread_state.hpp"

#include <refrain/device.hpp>
#include <refrain/error.hpp>

#include <charconv>
#include <cstdlib>
#include <ostream>

namespace refrain {

Device Device::parse(std::string_view text, SourceLocation where) {
  const auto refuse = [&] {
    throw Error(Errc::invalid_value, "Device::parse", '"' + std::string(text) + '"',
                "is not a device; write host, cuda, host:N or cuda:N", where);
  };
  Device device;
  const std::string_view kind = text.substr(0, text.find(':'));
  if (kind == "host") {
    device.kind = DeviceKind::host;
  } else if (kind == "cuda") {
    device.kind = DeviceKind::cuda;
  } else {
    refuse();
  }
  if (kind.size() < text.size()) {
    const std::string_view ordinal = text.substr(kind.size() + 1);
    const auto [end, error] = std::from_chars(ordinal.begin(), ordinal.end(), device.index);
    if (error != std::errc() || end != ordinal.end() || device.index < 0) refuse();
  }
  return device;
}

std::string Device::str() const { return (kind == DeviceKind::host ? "host:" : "cuda:") + std::to_string(index); }

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }

int device_count(DeviceKind kind) { return runtime::backend(kind).device_count(); }

std::string why_no_cuda() { return runtime::cuda_backend().why_unavailable(); }

std::vector<Device> devices() {
  std::vector<Device> all;
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::host}) {
    for (int i = 0; i < device_count(kind); ++i) all.push_back({kind, i});
  }
  return all;
}

DeviceProperties device_properties(Device device, SourceLocation where) {
  runtime::require_device(device, "device_properties", where);
  return runtime::backend(device.kind).properties(device.index);
}

Device current_device() { return runtime::thread_state().device(); }

DeviceGuard::DeviceGuard(Device device, SourceLocation where) : previous_(current_device()) {
  runtime::require_device(device, "DeviceGuard", where);
  runtime::thread_state().set_device(device);
}

DeviceGuard::~DeviceGuard() { runtime::thread_state().set_device(previous_); }

namespace runtime {

constinit std::array<std::atomic<Backend*>, 2> detail::backends{};

Backend& detail::first_use(DeviceKind kind) {
  Backend& own = kind == DeviceKind::host ? host_backend() : cuda_backend();
  Backend* none = nullptr;
  auto& place = backends[static_cast<std::size_t>(kind)];
  return place.compare_exchange_strong(none, &own, std::memory_order_acq_rel) ? own : *none;
}

void replace_backend(DeviceKind kind, Backend* by) noexcept {
  detail::backends[static_cast<std::size_t>(kind)].store(by, std::memory_order_release);
}

void require_device(Device device, const char* call, SourceLocation where) {
  const int count = device_count(device.kind);
  if (device.index >= 0 && device.index < count) return;
  std::string known;
  for (const Device& each : devices()) known += " " + each.str();
  if (device.kind == DeviceKind::cuda && count == 0) known += " (" + why_no_cuda() + ")";
  throw Error(Errc::no_device, call, device.str(), "there is no such device; use one of" + known, where);
}

Device initial_device() {
  static const Device device = [] {
    const std::string wish = environment("REFRAIN_DEVICE");
    if (!wish.empty()) {
      const Device wished = Device::parse(wish, {});
      require_device(wished, "REFRAIN_DEVICE", {});
      return wished;
    }
    return Device{device_count(DeviceKind::cuda) > 0 ? DeviceKind::cuda : DeviceKind::host, 0};
  }();
  return device;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

int environment_int(const char* name, int fallback, int lowest, int highest) {
  const std::string text = environment(name);
  if (text.empty()) return fallback;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest) {
    throw Error(Errc::invalid_value, name, '"' + text + '"',
                "cannot be used; give a number from " + std::to_string(lowest) + " to " + std::to_string(highest));
  }
  return value;
}

}  // namespace runtime
}  // namespace refrain
