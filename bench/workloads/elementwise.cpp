// Chains of small elementwise ops: what one eager op costs.

#include "workload.hpp"

#include <cstddef>

namespace refrain::bench {
namespace {

constexpr int elements = 1000;
constexpr int pairs = 100;

Step axpy() {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.125f - 60;
  const Array start = from_host(values, {elements});
  const Array y = start * 0.25f + 1;
  return [start, y]() -> std::vector<Array> {
    Array z = start;
    for (int i = 0; i < pairs; ++i) {
      z = z * 0.999f;
      z = z + y;
    }
    return {z};
  };
}

}  // namespace

std::vector<Workload> elementwise_workloads() {
  return {{"eager_axpy_1k", "100 times z = z * 0.999f; z = z + y on 1 000 float32", 2 * pairs, 2 * pairs - 1, axpy}};
}

}  // namespace refrain::bench
