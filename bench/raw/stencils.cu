// The sweeps of Jacobi's method in workloads/stencils.cpp, a kernel for each roll and each op.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"

namespace refrain::bench {
namespace {

constexpr int block = 256;
static_assert((grid_extent & (grid_extent - 1)) == 0, "positions wrap around by a mask");

__global__ void roll(const float* in, float* out, int down, int right) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= grid_points) return;
  const int row = (i / grid_extent - down) & (grid_extent - 1);
  const int column = (i % grid_extent - right) & (grid_extent - 1);
  out[i] = in[row * grid_extent + column];
}

struct Grids {
  std::shared_ptr<float> start = make_device_copy(std::vector<float>(grid_points));
  std::shared_ptr<float> source = make_device_copy(grid_source());
  std::shared_ptr<float> u = make_device_array<float>(grid_points);
  std::shared_ptr<float> sum = make_device_array<float>(grid_points);
  std::shared_ptr<float> moved = make_device_array<float>(grid_points);
};

void sweep(const Grids& grids, const float* in, cudaStream_t stream) {
  const auto roll_into = [&](float* out, int down, int right) {
    launch(roll, (grid_points + block - 1) / block, block, stream, in, out, int{down}, int{right});
  };
  float* const sum = grids.sum.get();
  const auto add = [&](const float* summand) { map(stream, Add{}, sum, summand, sum, grid_points); };
  roll_into(sum, 1, 0);
  for (const auto& [down, right] : {std::pair{-1, 0}, std::pair{0, 1}, std::pair{0, -1}}) {
    roll_into(grids.moved.get(), down, right);
    add(grids.moved.get());
  }
  add(grids.source.get());
  map(stream, Scale{0.25F}, sum, grids.u.get(), grid_points);
}

RawProgram jacobi(int) {
  const Grids grids;
  return {.step =
              [grids](cudaStream_t stream) {
                for (int i = 0; i < sweeps; ++i) sweep(grids, i == 0 ? grids.start.get() : grids.u.get(), stream);
              },
          .results = {{grids.u.get(), grid_points * sizeof(float)}},
          .is_stateless = true};
}

}  // namespace

std::vector<Baseline> raw_stencils() { return {raw_graph("jacobi_256x50", jacobi)}; }

}  // namespace refrain::bench
