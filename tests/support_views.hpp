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

}  // namespace refrain::test
