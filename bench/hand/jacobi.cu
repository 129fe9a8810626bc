// jacobi_256x50: a kernel a sweep.

#include "hand/hand.hpp"
#include "inputs.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

// Four neighbours of a row a thread, one block a multiprocessor: what a sweep takes is a launch and two reads' latency.
constexpr int block = 128;
constexpr int grid = grid_points / (4 * block);
static_assert(grid_points % (4 * block) == 0 && sweeps % 2 == 0);
static_assert((grid_extent & (grid_extent - 1)) == 0 && grid_points == grid_extent * grid_extent,
              "positions wrap around by a mask");

__device__ float relax(float up, float down, float left, float right, float source) {
  return (up + down + left + right + source) * 0.25F;
}

__global__ void __launch_bounds__(block) sweep(const float* in, const float* source, float* out) {
  constexpr unsigned in_grid = grid_points - 1;
  constexpr unsigned in_row = grid_extent - 1;
  const unsigned at = 4 * (blockIdx.x * block + threadIdx.x);
  const unsigned row = at & ~in_row;
  const float4 up = *quads_of(in + ((at - grid_extent) & in_grid));
  const float4 here = *quads_of(in + at);
  const float4 down = *quads_of(in + ((at + grid_extent) & in_grid));
  const float left = in[row | ((at - 1) & in_row)];
  const float right = in[row | ((at + 4) & in_row)];
  const float4 f = *quads_of(source + at);
  *quads_of(out + at) = {relax(up.x, down.x, left, here.y, f.x), relax(up.y, down.y, here.x, here.z, f.y),
                         relax(up.z, down.z, here.y, here.w, f.z), relax(up.w, down.w, here.z, right, f.w)};
}

RawProgram jacobi(int) {
  const auto start = make_device_copy(std::vector<float>(grid_points));
  const auto source = make_device_copy(grid_source());
  const std::shared_ptr<float> u[2] = {make_device_array<float>(grid_points), make_device_array<float>(grid_points)};
  return {.step =
              [start, source, first = u[0], second = u[1]](cudaStream_t stream) {
                const float* in = start.get();
                for (int k = 0; k < sweeps; ++k) {
                  float* const out = k % 2 == 0 ? first.get() : second.get();
                  launch(sweep, grid, block, stream, in, static_cast<const float*>(source.get()), out);
                  in = out;
                }
              },
          .results = {{u[1].get(), grid_points * sizeof(float)}},
          .is_stateless = true,
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_jacobi() { return {hand_row("jacobi_256x50", jacobi)}; }

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
