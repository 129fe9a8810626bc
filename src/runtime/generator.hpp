#pragma once

#include "runtime/plan.hpp"

#include <refrain/device.hpp>

#include <cstdint>

namespace refrain::runtime {

/// The generator of a device: the host's copy is the truth, advanced when work is issued. Guarded by the order lock.
GeneratorPosition& generator(Device device);
/// Sets all devices' generators to (seed, 0). With the order lock held.
void seed_generators(std::uint64_t seed);
/// The newest seed. With the order lock held.
std::uint64_t generator_seed();

}  // namespace refrain::runtime
