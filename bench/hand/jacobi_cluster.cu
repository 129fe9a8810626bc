// jacobi_256x50 in one kernel: a cluster of 16 blocks, each with some rows of the grid in registers and, for the warps
// beside, in shared memory.

#include "hand/hand.hpp"
#include "inputs.hpp"

#include <cooperative_groups.h>

#include <algorithm>

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

constexpr int cluster_blocks = 16;
constexpr int own_rows = grid_extent / cluster_blocks;  // a block's
/// Rows on either side that a block sweeps too, each sweep one less: blocks need rows of each other only every so many
/// sweeps.
constexpr int halo = 4;
constexpr int kept_rows = own_rows + 2 * halo;
constexpr int warp_rows = 2;
constexpr int warp = 32;
constexpr int block = kept_rows / warp_rows * warp;
constexpr int lane_points = grid_extent / warp;
constexpr std::size_t shared_bytes = sizeof(float) * 2 * kept_rows * grid_extent;
static_assert(own_rows % warp_rows == 0 && halo % warp_rows == 0 && halo <= own_rows && lane_points % 4 == 0);

/// Neighbours in a row. (A template: where there are no clusters, nothing uses it.)
template <int size>
class RowPart {
 public:
  static __device__ RowPart load(const float* row) {
    const float4* const quads = quads_of(row) + threadIdx.x % warp * (size / 4);
    RowPart part;
#pragma unroll
    for (int k = 0; k < size / 4; ++k) {
      const float4 quad = quads[k];
      part.at_[4 * k] = quad.x;
      part.at_[4 * k + 1] = quad.y;
      part.at_[4 * k + 2] = quad.z;
      part.at_[4 * k + 3] = quad.w;
    }
    return part;
  }

  __device__ void store(float* row) const {
    float4* const quads = quads_of(row) + threadIdx.x % warp * (size / 4);
#pragma unroll
    for (int k = 0; k < size / 4; ++k) {
      quads[k] = {at_[4 * k], at_[4 * k + 1], at_[4 * k + 2], at_[4 * k + 3]};
    }
  }

  /// After a sweep; for all threads of a warp at once.
  __device__ RowPart next(const RowPart& up, const RowPart& down, const RowPart& source) const {
    const int lane = static_cast<int>(threadIdx.x) % warp;
    const float left = __shfl_sync(~0U, at_[size - 1], lane - 1);
    const float right = __shfl_sync(~0U, at_[0], lane + 1);
    RowPart part;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float before = i > 0 ? at_[i - 1] : left;
      const float after = i + 1 < size ? at_[i + 1] : right;
      part.at_[i] = (up.at_[i] + down.at_[i] + before + after + source.at_[i]) * 0.25F;
    }
    return part;
  }

 private:
  float at_[size];
};

/// What a thread has of a row.
using Points = RowPart<lane_points>;

__global__ void __launch_bounds__(block) sweep_all(const float* start, const float* source, float* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ float4 memory[];
  float* const rows = reinterpret_cast<float*>(memory);  // twice, in turns
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int first = static_cast<int>(threadIdx.x) / warp * warp_rows;  // of this warp's rows
  const auto row = [](float* of, int turn, int number) { return of + (turn * kept_rows + number) * grid_extent; };

  Points u[warp_rows];
  Points f[warp_rows];
#pragma unroll
  for (int k = 0; k < warp_rows; ++k) {
    const int in_grid = (rank * own_rows - halo + first + k) & (grid_extent - 1);
    u[k] = Points::load(start + in_grid * grid_extent);
    f[k] = Points::load(source + in_grid * grid_extent);
    u[k].store(row(rows, 0, first + k));
  }
  __syncthreads();

  const bool is_above = first < halo;
  const bool is_below = first >= halo + own_rows;
  int turn = 0;
  for (int done = 0; done < sweeps; ++done, turn ^= 1) {
    const bool is_exchange = done > 0 && done % halo == 0;
    if (is_exchange) {
      cluster.sync();
      if (is_above || is_below) {
        const int other = (rank + (is_above ? cluster_blocks - 1 : 1)) % cluster_blocks;
        const int shift = is_above ? own_rows : -own_rows;
        float* const theirs = cluster.map_shared_rank(rows, static_cast<unsigned>(other));
#pragma unroll
        for (int k = 0; k < warp_rows; ++k) {
          u[k] = Points::load(row(theirs, turn, first + k + shift));
          u[k].store(row(rows, turn, first + k));
        }
      }
      cluster.barrier_arrive();
      __syncthreads();
    }
    // Beyond the outermost rows, any number will do.
    Points up = Points::load(row(rows, turn, first > 0 ? first - 1 : 0));
    const Points down = Points::load(row(rows, turn, first + warp_rows < kept_rows ? first + warp_rows : first));
#pragma unroll
    for (int k = 0; k < warp_rows; ++k) {
      const Points next = u[k].next(up, k + 1 < warp_rows ? u[k + 1] : down, f[k]);
      up = u[k];
      u[k] = next;
      next.store(row(rows, turn ^ 1, first + k));
    }
    // What others still read is written by the next sweep.
    if (is_exchange) cluster.barrier_wait();
    __syncthreads();
  }

  if (is_above || is_below) return;
#pragma unroll
  for (int k = 0; k < warp_rows; ++k) u[k].store(out + (rank * own_rows - halo + first + k) * grid_extent);
#endif
}

void launch_cluster(const float* start, const float* source, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster_blocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(cluster_blocks);
  config.blockDim = dim3(block);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, sweep_all, start, source, out));
}

RawProgram jacobi(int) {
  check(cudaFuncSetAttribute(sweep_all, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  check(cudaFuncSetAttribute(sweep_all, cudaFuncAttributeMaxDynamicSharedMemorySize, int{shared_bytes}));
  const auto out = make_device_array<float>(grid_points);
  return {.step = [start = make_device_copy(std::vector<float>(grid_points)), source = make_device_copy(grid_source()),
                   out](cudaStream_t stream) { launch_cluster(start.get(), source.get(), out.get(), stream); },
          .results = {{out.get(), grid_points * sizeof(float)}},
          .is_stateless = true,
          .tolerance = rounding};
}

/// Whether there are clusters; where there is no device at all, rows are only listed.
bool has_clusters() {
  int major = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return status != cudaSuccess || major >= 9;
}

}  // namespace

std::vector<Baseline> hand_jacobi_cluster() {
  if (!has_clusters()) return {};
  return {hand_row("jacobi_256x50", jacobi, "-cluster", ", all sweeps by one cluster of blocks")};
}

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
