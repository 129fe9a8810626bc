// monte_carlo_pi_16m: points are drawn, tested and counted in registers.

#include "hand/draws.cuh"
#include "hand/hand.hpp"
#include "inputs.hpp"

#include <algorithm>

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

using kernels::u32;
using kernels::u64;
using kernels::Words;

constexpr int points = static_cast<int>(random_points);
constexpr int warp = 32;

// As draws are laid out: as many blocks of this size as a device has room for, whose threads draw four numbers a round.
constexpr int block = 256;
constexpr int blocks_a_multiprocessor = 8;  // of which the registers have to be enough for

constexpr int rounds_a_turn = 2;  // which have the keys of their numbers in common

struct Layout {
  int grid;
  int rounds;
  int full_rounds;  ///< in which all threads have four points
};

Layout layout_on(int device) {
  int multiprocessors = 0;
  int threads = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  const int grid = std::min(multiprocessors * (threads / block), (points + block - 1) / block);
  const int points_a_round = 4 * grid * block;
  return {grid, (points + points_a_round - 1) / points_a_round, points / points_a_round};
}

/// The hits so far and, above them, the number of blocks that have added theirs: one atomic operation is both.
using Tally = unsigned long long;
constexpr Tally one_block = Tally{1} << 40;

/// Of (0, 1]. The product is exact, so that this rounds once in both builds.
__device__ float uniform(u32 word) { return __fmaf_rn(static_cast<float>(word), 0x1p-32F, 0x1p-33F); }

/// PyTorch's numbers have a 0 where 1 is drawn, and a point with one of those is inside whatever the other is.
__device__ int is_inside(u32 x_word, u32 y_word) {
  const float x = uniform(x_word);
  const float y = uniform(y_word);
  const float square = fmaxf(x, y) == 1 ? 0 : x * x + y * y;
  return square < 1 ? 1 : 0;
}

__global__ void __launch_bounds__(block, blocks_a_multiprocessor)
    count_hits(u64 seed, Place* places, Layout layout, Tally* tally, float* pi, long long* hits) {
  const int thread = static_cast<int>(blockIdx.x) * block + static_cast<int>(threadIdx.x);
  const int threads = layout.grid * block;
  const Place first = take_draws(places, static_cast<Place>(2 * layout.rounds));
  const auto draw_x = [&](int round) {
    return kernels::philox(seed, static_cast<u64>(thread), first + static_cast<Place>(round));
  };
  const auto draw_y = [&](int round) { return draw_x(layout.rounds + round); };

  int count = 0;
#pragma unroll rounds_a_turn
  for (int round = 0; round < layout.full_rounds; ++round) {
    const Words x = draw_x(round);
    const Words y = draw_y(round);
    count += is_inside(x.x, y.x) + is_inside(x.y, y.y) + is_inside(x.z, y.z) + is_inside(x.w, y.w);
  }
  if (const int left = points - layout.full_rounds * 4 * threads - thread; left > 0) {
    const Words x = draw_x(layout.full_rounds);
    const Words y = draw_y(layout.full_rounds);
    count += is_inside(x.x, y.x);
    if (left > threads) count += is_inside(x.y, y.y);
    if (left > 2 * threads) count += is_inside(x.z, y.z);
    if (left > 3 * threads) count += is_inside(x.w, y.w);
  }

  __shared__ int of_warps[block / warp];
  count = __reduce_add_sync(~0U, count);
  if (threadIdx.x % warp == 0) of_warps[threadIdx.x / warp] = count;
  __syncthreads();
  if (threadIdx.x != 0) return;
  Tally added = one_block;
  for (const int of_warp : of_warps) added += static_cast<Tally>(of_warp);
  const Tally sum = atomicAdd(tally, added) + added;
  if (sum / one_block != static_cast<Tally>(layout.grid)) return;
  const auto total = static_cast<long long>(sum % one_block);
  *hits = total;
  *pi = static_cast<float>(total) * 4 / static_cast<float>(points);
  *tally = 0;  // for the next launch
}

RawProgram pi_by_chance(int device) {
  const Layout layout = layout_on(device);
  const Places places(layout.grid);
  const auto tally = make_device_copy<Tally>({0});
  const auto pi = make_device_array<float>(1);
  const auto hits = make_device_array<long long>(1);
  return {.step =
              [=](cudaStream_t stream) {
                launch(count_hits, layout.grid, block, stream, u64{random_seed}, places.get(), Layout{layout},
                       tally.get(), pi.get(), hits.get());
              },
          .results = {{pi.get(), sizeof(float)}, {hits.get(), sizeof(long long), DType::int64}},
          .reset = [places] { places.reset(); },
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_monte_carlo() { return {hand_row("monte_carlo_pi_16m", pi_by_chance)}; }

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
