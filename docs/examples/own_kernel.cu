// A kernel of one's own beside an op of Refrain's, recorded once and replayed a hundred times.

#include <refrain/cuda.hpp>

#include <iostream>

namespace rf = refrain;

__global__ void advance(float* position, const float* velocity, float dt, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) position[i] += velocity[i] * dt;
}

int main() {
  constexpr int n = 1000;
  constexpr unsigned threads = 256;
  rf::Array position = rf::zeros({n});
  rf::Array velocity = rf::ones({n});
  const rf::GraphExec step =
      rf::capture([&] {
        velocity += 1;
        rf::current_stream().launch({.grid = (n + threads - 1) / threads, .block = threads, .label = "advance"},
                                    advance, position, velocity, 0.5F, n);
      }).instantiate();
  for (int i = 0; i < 100; ++i) step.replay();
  const float reached = position.slice(0, 1).item<float>();
  std::cout << reached << "\n" << step.explain();
  return reached == 2575 ? 0 : 1;  // half of 2 + 3 + ... + 101
}
