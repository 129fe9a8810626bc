#include "kernels/dependency.hpp"
#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

constexpr int block_size = 256;
constexpr i64 most_blocks = 1024;

struct Nothing {};

__global__ void empty(Nothing) {}

__global__ void pause(Nothing) { wait_for_dependency(); }

struct SetCounters {
  u64* counters;
  const u64* relative;
  i64 n;
  u64 seed;
  u64 base;
  u64 increment;
};

/// Reads n x 8 bytes, writes (n + 2) x 8. Deterministic.
__global__ void __launch_bounds__(block_size) set_counters(const __grid_constant__ SetCounters params) {
  const i64 thread = static_cast<i64>(blockIdx.x) * block_size + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * block_size;
  if (thread == 0) {
    params.counters[0] = params.seed;
    params.counters[1] = params.increment;
  }
  for (i64 i = thread; i < params.n; i += threads) {
    params.counters[counter_header + i] = params.base + params.relative[i];
  }
}

}  // namespace

cudaError_t launch_empty(const Target& target) { return launch(empty, 1, 1, Nothing{}, target); }

cudaError_t launch_pause(const Target& target) { return launch(pause, 1, 1, Nothing{}, target); }

bool wait_for_dependencies(int capability) {
  // Code for an older one, compiled anew by the driver, has no wait in it.
  constexpr int compiled[] = {__CUDA_ARCH_LIST__};
  int best = 0;
  for (const int each : compiled) {
    if (each <= capability * 10 && each > best) best = each;
  }
  return best >= dependency_capability * 10;
}

cudaError_t launch_set_counters(u64* counters, const u64* relative, i64 n, u64 seed, u64 base, u64 increment,
                                cudaStream_t stream) {
  const i64 needed = n > 0 ? (n - 1) / block_size + 1 : 1;
  const SetCounters params{counters, relative, n, seed, base, increment};
  return launch(set_counters, needed < most_blocks ? needed : most_blocks, block_size, params, stream);
}

}  // namespace refrain::kernels
