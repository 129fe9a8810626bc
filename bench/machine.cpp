#include "machine.hpp"

#include "modes.hpp"

#include <refrain/device.hpp>

#include <sys/utsname.h>

#include <fstream>
#include <thread>

namespace refrain::bench {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.facts = {
      {"processor", processor()},
      {"threads", std::to_string(std::thread::hardware_concurrency())},
      {"system", system_name()},
      {"compiler", __VERSION__},
  };
  if (const std::string versions = cuda_versions(); !versions.empty()) machine.facts.emplace_back("cuda", versions);
  for (const Device& device : devices()) machine.devices.emplace_back(device.str(), device_properties(device).name);
  return machine;
}

std::string summary(const Machine& machine) {
  std::string text;
  for (const auto& [name, value] : machine.facts) text += (text.empty() ? "" : "; ") + name + " " + value;
  for (const auto& [device, name] : machine.devices) text += "; " + device + " " + name;
  return text;
}

}  // namespace refrain::bench
