#include "support_reference.hpp"

#include "support_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>

namespace refrain::test {

namespace {

template <class T>
bool same_bits(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  } else if constexpr (std::is_same_v<T, double>) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return a.bits == b.bits || (std::isnan(static_cast<float>(a)) && std::isnan(static_cast<float>(b)));
  } else {
    return a == b;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, Mode mode) {
  switch (mode) {
    case Mode::eager: return out << "eager";
    case Mode::graph: return out << "graph";
    case Mode::graph_none: return out << "graph-none";
    case Mode::live: break;
  }
  return out << "live";
}

CaptureOptions capture_options(Mode mode) {
  CaptureOptions options;
  options.live = mode == Mode::live;
  return options;
}

InstantiateOptions instantiate_options(Mode mode) {
  return {.optimize = mode == Mode::graph_none ? Optimize::none : Optimize::all};
}

std::vector<double> numbers(const Array& array) {
  return with_type(array.dtype(), [&]<class T>(T) {
    const std::vector<T> values = array.to_vector<T>();
    std::vector<double> all(values.size());
    std::transform(values.begin(), values.end(), all.begin(), [](T value) { return static_cast<double>(value); });
    return all;
  });
}

bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return with_type(a.dtype(), [&]<class T>(T) {
    const std::vector<T> left = a.to_vector<T>();
    const std::vector<T> right = b.to_vector<T>();
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](T x, T y) { return same_bits(x, y); });
  });
}

Array snapshot(const Array& array) {
  Array copy = empty(array.shape(), {.dtype = array.dtype(), .device = array.device()});
  copy.assign(array);
  return copy;
}

}  // namespace refrain::test
