#include "runtime/geometry.hpp"

#include <refrain/error.hpp>

#include <string>

namespace refrain::runtime {

namespace {

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

}  // namespace

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

}  // namespace refrain::runtime
