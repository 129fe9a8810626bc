#include "kernels.hpp"

#include <refrain/cuda.hpp>

namespace {

__global__ void add_to(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

}  // namespace

void add(const refrain::Stream& stream, const refrain::Array& x, const refrain::Param<float>& value) {
  const auto n = static_cast<int>(x.size());
  stream.launch({.grid = static_cast<unsigned>(n + 255) / 256, .block = 256, .label = "add"}, add_to, x, value, n);
}
