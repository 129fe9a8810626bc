#pragma once

#include <refrain/array.hpp>

#include <numeric>
#include <vector>

namespace refrain::test {

/// 0, 1, 2, ... in this shape.
inline Array counted(Shape shape) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.size()));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return from_host(numbers, shape);
}

/// Numbers from -1 to 0.875 of few bits, that go on from `first`.
inline Array wave(Shape shape, int first = 0) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(first)) % 31) / 16 - 1;
  }
  return from_host(numbers, shape);
}

}  // namespace refrain::test
