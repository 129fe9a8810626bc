#include "runtime/generator.hpp"

#include "runtime/environment.hpp"

#include <array>

namespace refrain::runtime {

namespace {

constexpr std::uint64_t first_seed = 67280421310721ULL;  // PyTorch's default seed

struct Generators {
  std::uint64_t seed = first_seed;
  std::array<std::array<GeneratorPosition, most_devices>, 2> all;

  Generators() { reset(first_seed); }

  void reset(std::uint64_t to) {
    seed = to;
    for (auto& kind : all) kind.fill({to, 0});
  }
};

Generators& generators() {
  static Generators& all = *new Generators;
  return all;
}

}  // namespace

GeneratorPosition& generator(Device device) {
  return generators().all[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
}

void seed_generators(std::uint64_t seed) { generators().reset(seed); }

std::uint64_t generator_seed() { return generators().seed; }

}  // namespace refrain::runtime
