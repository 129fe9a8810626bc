#pragma once

// The programs of workloads/launches.cu and raw/launches.cu as far as they are the same.

#include "own_kernels.cuh"

#include <cstddef>
#include <vector>

namespace refrain::bench {

inline constexpr int launch_elements = 1000;

inline std::vector<float> launch_input() {
  std::vector<float> values(launch_elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.125F - 60;
  return values;
}

/// set_one_node: the factor of the step of that number, another one each time.
inline float factor_of(int number) { return 1 + 0.125F * static_cast<float>(number % 7); }

/// launch_eager: a chain in which two buffers take turns, so that no memory is needed in it.
inline constexpr int chain_launches = 100;
inline constexpr float chain_factor = 0.999F;

}  // namespace refrain::bench
