#include "runtime/generator.hpp"

#include "runtime/environment.hpp"

#include <array>

namespace refrain::runtime {

namespace {

constexpr std::uint64_t first_seed = 67280421310721ULL;  // PyTorch's default seed

struct Generators {
  std::uint64_t seed = first_seed;
  std::array<std::array<std::shared_ptr<GeneratorCore>, most_devices>, 2> all;

  Generators() {
    for (const DeviceKind kind : {DeviceKind::host, DeviceKind::cuda}) {
      for (int index = 0; index < static_cast<int>(most_devices); ++index) {
        of({kind, index}) = std::make_shared<GeneratorCore>(Device{kind, index}, first_seed, true);
      }
    }
  }

  std::shared_ptr<GeneratorCore>& of(Device device) {
    return all[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
  }
};

Generators& generators() {
  static Generators& all = *new Generators;
  return all;
}

}  // namespace

const std::shared_ptr<GeneratorCore>& default_generator_core(Device device) { return generators().of(device); }

void seed_generators(std::uint64_t seed) {
  generators().seed = seed;
  for (const auto& kind : generators().all) {
    for (const auto& generator : kind) generator->at = {seed, 0};
  }
}

std::uint64_t generator_seed() { return generators().seed; }

}  // namespace refrain::runtime
