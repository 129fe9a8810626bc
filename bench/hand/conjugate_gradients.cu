// cg_poisson_256: two kernels an iteration. Blocks leave partial sums, which each warp of the next kernel adds up again
// for itself: no atomic operations and no kernels of one number.

#include "hand/hand.hpp"
#include "hand/sums.cuh"
#include "inputs.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

// Four neighbours of a row a thread, one block a multiprocessor: what a kernel takes is a launch and its reads'
// latency.
constexpr int block = 128;
constexpr int warps = block / warp;
constexpr int grid = grid_points / (4 * block);
static_assert(grid_points == 4 * block * grid && grid == 4 * warp, "a thread takes four partial sums");
constexpr std::size_t bytes = grid_points * sizeof(float);

/// What all blocks have left, for all threads of a warp alike.
__device__ float total(const float* partials) {
  const float4 four = quads_of(partials)[threadIdx.x % warp];
  return sum_warp((four.x + four.y) + (four.z + four.w));
}

__device__ float dot(float4 a, float4 b) { return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w); }

/// y + by * x
__device__ float4 add(float4 y, float by, float4 x) {
  return {y.x + by * x.x, y.y + by * x.y, y.z + by * x.z, y.w + by * x.w};
}

/// `of_warps`, shared memory, is for this sum alone.
__device__ void leave_sum(float value, float (&of_warps)[warps], float* partials) {
  const float sum = sum_block(value, of_warps);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// Values at a thread's four points and at those around them.
struct Neighbourhood {
  float4 up, here, down;
  float left, right;
};

/// By functions of where four points begin and of where a point is; 0 outside of the grid.
template <class Four, class One>
__device__ Neighbourhood look_around(int at, Four four, One one) {
  const int row = at / grid_extent;
  const int column = at % grid_extent;
  const float4 nothing{0, 0, 0, 0};
  return {row > 0 ? four(at - grid_extent) : nothing, four(at),
          row + 1 < grid_extent ? four(at + grid_extent) : nothing, column > 0 ? one(at - 1) : 0,
          column + 4 < grid_extent ? one(at + 4) : 0};
}

__device__ float4 poisson(const Neighbourhood& p) {
  return {p.here.x * 4 - p.up.x - p.down.x - p.left - p.here.y, p.here.y * 4 - p.up.y - p.down.y - p.here.x - p.here.z,
          p.here.z * 4 - p.up.z - p.down.z - p.here.y - p.here.w,
          p.here.w * 4 - p.up.w - p.down.w - p.here.z - p.right};
}

__device__ int place() { return 4 * static_cast<int>(blockIdx.x * block + threadIdx.x); }

struct Arrays {
  const float* b;
  float* x;
  float* r;
  float* p[2];  ///< in turns, as blocks read each other's
  float* q;
  float* rr[2];  ///< partial sums of r r, in turns
  float* pq;
};

/// x = 0; r = p = b; q = A p
__global__ void __launch_bounds__(block) begin(const __grid_constant__ Arrays a) {
  const int at = place();
  const Neighbourhood p = look_around(
      at, [&](int i) { return *quads_of(a.b + i); }, [&](int i) { return a.b[i]; });
  const float4 q = poisson(p);
  *quads_of(a.x + at) = {0, 0, 0, 0};
  *quads_of(a.r + at) = p.here;
  *quads_of(a.p[0] + at) = p.here;
  *quads_of(a.q + at) = q;
  __shared__ float of_squares[warps];
  __shared__ float of_products[warps];
  leave_sum(dot(p.here, p.here), of_squares, a.rr[0]);
  leave_sum(dot(p.here, q), of_products, a.pq);
}

/// x += alpha p; r -= alpha q, in the iteration of that turn
__global__ void __launch_bounds__(block) advance(const __grid_constant__ Arrays a, int turn) {
  const int at = place();
  const float4 x = *quads_of(a.x + at);
  const float4 r = *quads_of(a.r + at);
  const float4 p = *quads_of(a.p[turn] + at);
  const float4 q = *quads_of(a.q + at);
  const float alpha = total(a.rr[turn]) / total(a.pq);
  const float4 next = add(r, -alpha, q);
  *quads_of(a.x + at) = add(x, alpha, p);
  *quads_of(a.r + at) = next;
  __shared__ float of_squares[warps];
  leave_sum(dot(next, next), of_squares, a.rr[turn ^ 1]);
}

/// p = r + beta p, here and around; q = A p, for the iteration of that turn
__global__ void __launch_bounds__(block) choose_direction(const __grid_constant__ Arrays a, int turn) {
  const int at = place();
  const float* const r = a.r;
  const float* const before = a.p[turn ^ 1];
  const Neighbourhood residual = look_around(
      at, [&](int i) { return *quads_of(r + i); }, [&](int i) { return r[i]; });
  const Neighbourhood old = look_around(
      at, [&](int i) { return *quads_of(before + i); }, [&](int i) { return before[i]; });
  const float beta = total(a.rr[turn]) / total(a.rr[turn ^ 1]);
  const Neighbourhood p{add(residual.up, beta, old.up), add(residual.here, beta, old.here),
                        add(residual.down, beta, old.down), residual.left + beta * old.left,
                        residual.right + beta * old.right};
  const float4 q = poisson(p);
  *quads_of(a.p[turn] + at) = p.here;
  *quads_of(a.q + at) = q;
  __shared__ float of_products[warps];
  leave_sum(dot(p.here, q), of_products, a.pq);
}

RawProgram conjugate_gradients(int) {
  std::vector<std::shared_ptr<float>> owners{make_device_copy(numbers(grid_points))};
  const auto make = [&](std::size_t count) { return owners.emplace_back(make_device_array<float>(count)).get(); };
  const Arrays arrays{.b = owners[0].get(),
                      .x = make(grid_points),
                      .r = make(grid_points),
                      .p = {make(grid_points), make(grid_points)},
                      .q = make(grid_points),
                      .rr = {make(grid), make(grid)},
                      .pq = make(grid)};
  return {.step =
              [owners, arrays](cudaStream_t stream) {
                launch(begin, grid, block, stream, Arrays{arrays});
                launch(advance, grid, block, stream, Arrays{arrays}, 0);
                for (int k = 1; k < cg_iterations; ++k) {
                  launch(choose_direction, grid, block, stream, Arrays{arrays}, k % 2);
                  launch(advance, grid, block, stream, Arrays{arrays}, k % 2);
                }
              },
          .results = {{arrays.x, bytes}},
          .is_stateless = true,
          .tolerance = 1e-5};
}

}  // namespace

std::vector<Baseline> hand_conjugate_gradients() { return {hand_row("cg_poisson_256", conjugate_gradients)}; }

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
