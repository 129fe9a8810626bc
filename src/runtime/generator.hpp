#pragma once

#include "runtime/plan.hpp"

#include <refrain/device.hpp>

#include <cstdint>
#include <memory>

namespace refrain::runtime {

/// A generator of a device: the position on the host is the truth, advanced when work is issued. Handles, and the
/// programs that draw from it, share it.
class GeneratorCore : public std::enable_shared_from_this<GeneratorCore> {
 public:
  GeneratorCore(Device of, std::uint64_t seed, bool is_default = false)
      : device(of), is_default(is_default), at{seed} {}

  const Device device;
  const bool is_default;  ///< what `manual_seed` restarts
  GeneratorPosition at;   ///< guarded by the order lock
};

/// The one that draws without a generator of their own take.
const std::shared_ptr<GeneratorCore>& default_generator_core(Device device);
/// Sets all devices' default generators to (seed, 0). With the order lock held.
void seed_generators(std::uint64_t seed);
/// The newest seed. With the order lock held.
std::uint64_t generator_seed();

}  // namespace refrain::runtime
