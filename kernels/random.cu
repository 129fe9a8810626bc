#include "kernels/random.hpp"

#include "kernels/dependency.hpp"
#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

/// grid x 256 threads, both part of the layout. Writes size x sizeof(T) bytes, one number per access: neighbouring
/// threads write neighbouring numbers. With counters reads 24 bytes and writes 8 per block. Deterministic.
template <Distribution distribution, class T>
__global__ void __launch_bounds__(random_block) random(const __grid_constant__ RandomArgs args) {
  wait_for_dependency();
  const bool counted = args.counters != nullptr;
  const u64 seed = counted ? args.counter_cells[0] : args.seed;
  const u64 offset = counted ? args.counters[blockIdx.x] : args.offset;
  random_thread<distribution, T>(args, seed, offset, static_cast<i64>(blockIdx.x) * random_block + threadIdx.x,
                                 static_cast<i64>(gridDim.x) * random_block);
  if (counted) {
    __syncthreads();  // every thread of the block has read the entry
    if (threadIdx.x == 0) args.counters[blockIdx.x] = offset + args.counter_cells[1];
  }
}

struct FindKernel {
  void (*kernel)(RandomArgs) = nullptr;

  template <Distribution distribution, class T>
  bool at() {
    kernel = random<distribution, T>;
    return true;
  }
};

}  // namespace

cudaError_t launch_random(const RandomArgs& args, const Target& target) {
  FindKernel found;
  if (!visit_draw(args.distribution, args.type, found)) return cudaErrorInvalidDeviceFunction;
  return launch(found.kernel, args.grid, random_block, args, target);
}

}  // namespace refrain::kernels
