#pragma once

#include <cstddef>
#include <vector>

// The programs of workloads/graphed.cpp and raw/graphed.cu as far as they are the same.

namespace refrain::bench {

inline constexpr int graphed_elements = 1000;

inline std::vector<float> graphed_input(int which = 0) {
  std::vector<float> values(graphed_elements);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i) * 0.125F - 60 + static_cast<float>(which);
  return values;
}

/// graphed_scalar: the rate of the step of that number.
inline float rate_of(int number) { return 1 + 0.125F * static_cast<float>(number % 7); }

/// graphed_new_buffers: so many inputs a step, and so many sets of them in turn: more than a function keeps
/// executables for.
inline constexpr int graphed_inputs = 4;
inline constexpr int graphed_turns = 64;

}  // namespace refrain::bench
