// Launches a kernel of the application's and one of another library's, each of which only its own CUDA runtime knows.

#include "kernels.hpp"

#include <refrain/cuda.hpp>

#include <cstdio>
#include <utility>
#include <vector>

namespace rf = refrain;

namespace {

/// y = x, through shared memory.
__global__ void copy(const float* x, float* y, int n) {
  extern __shared__ float kept[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) kept[i] = x[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) y[i] = kept[i];
}

bool is_right = true;

void check(const char* what, const rf::Array& x, float expected) {
  for (const float number : x.to_vector<float>()) {
    if (number == expected) continue;
    std::printf("%s: %g in the place of %g\n", what, static_cast<double>(number), static_cast<double>(expected));
    is_right = false;
    return;
  }
}

}  // namespace

int main() {
  if (rf::device_count(rf::DeviceKind::cuda) == 0) return 77;
  constexpr int n = 20'000;  // more shared memory than a kernel has without asking for it
  const rf::Param<float> value(1, "value");
  rf::Array x = rf::zeros({n});
  const auto step = [&] {
    const rf::Stream stream = rf::current_stream();
    rf::Array y = rf::zeros({n});
    add(stream, x, value);
    stream.launch({.grid = 1, .block = 256, .shared_bytes = n * sizeof(float), .label = "copy"}, copy, x, y, n);
    x += y;
  };
  step();
  check("eager", x, 2);

  for (const bool live : {false, true}) {
    x.assign(0);
    const rf::GraphExec exec = rf::capture(step, {.live = live}).instantiate();
    exec.replay();
    exec.replay();
    check(live ? "live" : "held back", x, 6);
    if (live) continue;
    exec.set(value, 4);
    exec.set("copy", {.grid = 1, .block = 512, .shared_bytes = n * sizeof(float)});
    exec.replay();
    check("set", x, 20);
    exec.update(rf::capture(step));
    exec.replay();
    check("updated", x, 42);
    const rf::Array z = rf::zeros({n});
    exec.bind(x, z);
    exec.replay();
    check("bound", z, 2);
  }
  return is_right ? 0 : 1;
}
