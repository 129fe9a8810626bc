#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace refrain::test {

/// The order of docs/arrays.md, written down naively: float32 numbers summed in double.
inline double published_sum(const std::vector<double>& x) {
  if (x.size() > 8192) {
    std::vector<double> chunks;
    for (std::size_t begin = 0; begin < x.size(); begin += 8192) {
      const auto first = x.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = x.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 8192, x.size()));
      chunks.push_back(published_sum(std::vector<double>(first, last)));
    }
    return published_sum(chunks);
  }
  std::vector<double> lanes(1024);
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 1024] += x[i];
  for (std::size_t half = 512; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace refrain::test
