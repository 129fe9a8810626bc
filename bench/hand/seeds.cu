// seed2 and seed3: a thread draws both of an element's numbers.

#include "hand/draws.cuh"
#include "hand/hand.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

using kernels::u64;

// So few elements are spread over as many multiprocessors as they have warps for.
constexpr int block = 64;

constexpr Place draws_a_step = 2;

// A draw is laid out over blocks of 256 threads, at least as many as there are elements: each element is the first
// number of its own thread there.
__device__ float normal(u64 seed, int i, Place draw) {
  const kernels::Words words = kernels::philox(seed, static_cast<u64>(i), draw);
  return kernels::normal_floats(words.x, words.y).first;
}

struct TwoStreams {
  static constexpr int size = 100 * 100;
  static __device__ float combine(float first, float second) { return second + first * 2; }
};

struct SeveralEvents {
  static constexpr int size = 50 * 50;
  static __device__ float combine(float first, float second) { return first * 3 + (second + 5); }
};

template <class Seed>
__global__ void __launch_bounds__(block) draw_and_combine(u64 seed, Place* places, float* out) {
  const Place draw = take_draws(places, draws_a_step);
  const int i = static_cast<int>(blockIdx.x) * block + static_cast<int>(threadIdx.x);
  if (i < Seed::size) out[i] = Seed::combine(normal(seed, i, draw), normal(seed, i, draw + 1));
}

template <class Seed>
RawProgram numbers_of(int) {
  constexpr int grid = (Seed::size + block - 1) / block;
  const Places places(grid);
  const auto out = make_device_array<float>(Seed::size);
  return {.step =
              [places, out](cudaStream_t stream) {
                launch(draw_and_combine<Seed>, grid, block, stream, u64{random_seed}, places.get(), out.get());
              },
          .results = {{out.get(), Seed::size * sizeof(float)}},
          .reset = [places] { places.reset(); },
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_seeds() {
  return {hand_row("seed2", numbers_of<TwoStreams>), hand_row("seed3", numbers_of<SeveralEvents>)};
}

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
