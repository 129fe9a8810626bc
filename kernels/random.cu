#include "kernels/random.hpp"

#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

/// grid x 256 threads, both part of the layout. Writes size x sizeof(T) bytes, 4 or 8 per access: neighbouring threads
/// write neighbouring numbers. With counters reads 24 bytes and writes 8 per block. Deterministic.
template <Distribution distribution, class T>
__global__ void __launch_bounds__(random_block) random(const __grid_constant__ RandomArgs args) {
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

using Kernel = void (*)(RandomArgs);

Kernel find_kernel(Distribution distribution, Type type) {
  const bool narrow = type == Type::float32 || type == Type::int32;
  switch (distribution) {
    case Distribution::uniform:
      return narrow ? random<Distribution::uniform, float> : random<Distribution::uniform, double>;
    case Distribution::normal:
      return narrow ? random<Distribution::normal, float> : random<Distribution::normal, double>;
    case Distribution::randint32:
      return narrow ? random<Distribution::randint32, i32> : random<Distribution::randint32, i64>;
    case Distribution::randint64:
      return narrow ? random<Distribution::randint64, i32> : random<Distribution::randint64, i64>;
  }
  return nullptr;
}

}  // namespace

cudaError_t launch_random(const RandomArgs& args, const Target& target) {
  return launch(find_kernel(args.distribution, args.type), args.grid, random_block, args, target);
}

}  // namespace refrain::kernels
