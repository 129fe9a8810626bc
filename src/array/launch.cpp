#include <refrain/launch.hpp>

#include "array/make.hpp"
#include "runtime/submit.hpp"

#include <array>
#include <vector>

namespace refrain::detail {

namespace {

using runtime::AccessMode;

constexpr unsigned most_threads = 1024;

std::string str(const Dim3& extents) {
  return "{" + std::to_string(extents.x) + ", " + std::to_string(extents.y) + ", " + std::to_string(extents.z) + "}";
}

void require_within(const LaunchConfig& config, const char* what, const Dim3& extents, const Dim3& most) {
  const bool fits = extents.x >= 1 && extents.y >= 1 && extents.z >= 1 && extents.x <= most.x && extents.y <= most.y &&
                    extents.z <= most.z;
  if (fits) return;
  throw Error(Errc::invalid_value, config.label, std::string(what) + " " + str(extents),
              "has an extent that no kernel can have; give 1 to " + str(most), config.where);
}

/// What CUDA would refuse on any device, told with the place.
void require_geometry(const LaunchConfig& config) {
  require_within(config, "a grid of", config.grid, {2147483647, 65535, 65535});
  require_within(config, "a block of", config.block, {1024, 1024, 64});
  if (config.block.x * config.block.y * config.block.z > most_threads) {
    throw Error(Errc::invalid_value, config.label, "a block of " + str(config.block),
                "has more than 1024 threads; give fewer", config.where);
  }
  if (!config.cluster) return;
  const Dim3& cluster = *config.cluster;
  require_within(config, "a cluster of", cluster, {16, 16, 16});
  if (config.grid.x % cluster.x != 0 || config.grid.y % cluster.y != 0 || config.grid.z % cluster.z != 0) {
    throw Error(Errc::invalid_value, config.label, "a cluster of " + str(cluster),
                "does not divide the grid of " + str(config.grid) + "; round the grid up", config.where);
  }
}

void require_array(const KernelArray& argument, const Stream& stream, const LaunchConfig& config) {
  const Array& array = *argument.array;
  require_usable(array, config.label, config.where);
  const std::string name = "argument " + std::to_string(argument.parameter);
  if (array.device() != stream.device()) {
    throw Error(Errc::wrong_device, config.label, name + ", an array on " + array.device().str(),
                "cannot be reached by a kernel on " + stream.device().str() + "; move it with to_device first",
                config.where);
  }
  if (argument.wanted && *argument.wanted != array.dtype()) {
    throw Error(
        Errc::invalid_value, config.label, name + ", an array of " + std::string(to_string(array.dtype())),
        "is no " + std::string(to_string(*argument.wanted)) + ", which the kernel's parameter points to; cast it first",
        config.where);
  }
}

}  // namespace

void submit_launch(const Stream& stream, const LaunchConfig& config, const KernelCall& call,
                   std::span<const KernelArray> arrays) {
  require_geometry(config);
  runtime::StreamCore& core = stream.core(config.where);
  if (core.device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, config.label, core.str(),
                "a host device runs no CUDA kernel; launch it on a stream of a CUDA device", config.where);
  }
  std::array<runtime::Access, 8> few;
  std::vector<runtime::Access> many(arrays.size() > few.size() ? arrays.size() : 0);
  const std::span<runtime::Access> accesses =
      many.empty() ? std::span(few.data(), arrays.size()) : std::span<runtime::Access>(many);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    require_array(arrays[i], stream, config);
    accesses[i] = whole(*arrays[i].array, arrays[i].is_written ? AccessMode::write : AccessMode::read);
  }
  runtime::submit(core, {core.device, runtime::KernelCommand{&call, nullptr}, accesses, config.label, config.where});
}

}  // namespace refrain::detail
