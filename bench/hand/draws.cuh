#pragma once

// Random numbers of the kernels in hand/: Refrain's, in PyTorch's layout. Each block keeps its own place in the
// sequence and moves it on, so that replays draw new numbers as eager steps do, and no block waits for another.

#include "kernels/random.hpp"
#include "raw/handles.hpp"

#include <functional>
#include <memory>

namespace refrain::bench {

using Place = kernels::u64;  // in draws of four words

/// What `manual_seed` has before the steps that are compared. A parameter of the kernels: a program may change it.
inline constexpr kernels::u64 random_seed = 0;

/// The places of a kernel's blocks.
class Places {
 public:
  explicit Places(int blocks)
      : bytes_(static_cast<std::size_t>(blocks) * sizeof(Place)),
        values_(make_device_array<Place>(static_cast<std::size_t>(blocks))) {
    reset();
  }

  Place* get() const { return values_.get(); }
  void reset() const { check(cudaMemset(values_.get(), 0, bytes_)); }

 private:
  std::size_t bytes_;
  std::shared_ptr<Place> values_;
};

namespace {

/// The place of this launch's first draw; for all threads of a block, once.
__device__ Place take_draws(Place* places, Place draws) {
  const Place place = places[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) places[blockIdx.x] = place + draws;
  return place;
}

}  // namespace
}  // namespace refrain::bench
