// The iterations of cg_poisson_256 in workloads/stencils.cpp, a kernel for each op; a sum is two.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"
#include "raw/reduce.cuh"

namespace refrain::bench {
namespace {

constexpr int block = reduce_threads;
constexpr int partial_sums = grid_points / (4 * block);
static_assert(partial_sums * 4 * block == grid_points && partial_sums <= block);
constexpr std::size_t bytes = grid_points * sizeof(float);

/// Of each point, its neighbour so many rows and columns before it, where there is one.
__global__ void subtract_neighbour(const float* p, float* product, int down, int right) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = i / grid_extent - down;
  const int column = i % grid_extent - right;
  if (row < 0 || row >= grid_extent || column < 0 || column >= grid_extent) return;
  product[i] -= p[row * grid_extent + column];
}

__global__ void sum_blocks(const float4* in, float* out) {
  const float sum = reduce_block(Sum{}, reduce_four(Sum{}, in[blockIdx.x * blockDim.x + threadIdx.x]));
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void sum_partials(const float* in, float* out) {
  const int i = static_cast<int>(threadIdx.x);
  const float sum = reduce_block(Sum{}, i < partial_sums ? in[i] : 0);
  if (i == 0) *out = sum;
}

__global__ void quotient(const float* dividend, const float* divisor, float* out) { *out = *dividend / *divisor; }

/// By one number that lies on the device.
struct ScaleByElement {
  const float* by;
  __device__ float operator()(float x) const { return *by * x; }
};

std::shared_ptr<float> make_grid() { return make_device_array<float>(grid_points); }

struct Buffers {
  std::shared_ptr<float> b = make_device_copy(numbers(grid_points));
  std::shared_ptr<float> x = make_grid();
  std::shared_ptr<float> r = make_grid();
  std::shared_ptr<float> p = make_grid();
  std::shared_ptr<float> q = make_grid();
  std::shared_ptr<float> t = make_grid();
  std::shared_ptr<float> partials = make_device_array<float>(partial_sums);
  std::shared_ptr<float> squares[2] = {make_device_array<float>(1), make_device_array<float>(1)};  // r r, in turns
  std::shared_ptr<float> pq = make_device_array<float>(1);
  std::shared_ptr<float> alpha = make_device_array<float>(1);
  std::shared_ptr<float> beta = make_device_array<float>(1);
};

void dot(const Buffers& all, const float* left, const float* right, float* out, cudaStream_t stream) {
  float* const t = all.t.get();
  float* const partials = all.partials.get();
  map(stream, Multiply{}, left, right, t, grid_points);
  launch(sum_blocks, partial_sums, block, stream, quads_of(static_cast<const float*>(t)), partials);
  launch(sum_partials, 1, block, stream, static_cast<const float*>(partials), out);
}

void divide(const std::shared_ptr<float>& dividend, const std::shared_ptr<float>& divisor,
            const std::shared_ptr<float>& out, cudaStream_t stream) {
  launch(quotient, 1, 1, stream, static_cast<const float*>(dividend.get()), static_cast<const float*>(divisor.get()),
         out.get());
}

void apply_poisson(const float* p, float* product, cudaStream_t stream) {
  map(stream, Scale{4}, p, product, grid_points);
  for (const auto& [down, right] : {std::pair{1, 0}, std::pair{-1, 0}, std::pair{0, 1}, std::pair{0, -1}}) {
    launch(subtract_neighbour, grid_points / block, block, stream, p, product, int{down}, int{right});
  }
}

void iterate(const Buffers& all, int k, cudaStream_t stream) {
  const float* const r = k == 0 ? all.b.get() : all.r.get();
  const float* const p = k == 0 ? all.b.get() : all.p.get();
  const std::shared_ptr<float>& before = all.squares[k % 2];
  const std::shared_ptr<float>& after = all.squares[(k + 1) % 2];
  float* const t = all.t.get();
  apply_poisson(p, all.q.get(), stream);
  dot(all, p, all.q.get(), all.pq.get(), stream);
  divide(before, all.pq, all.alpha, stream);
  map(stream, ScaleByElement{all.alpha.get()}, p, t, grid_points);
  map(stream, Add{}, all.x.get(), t, all.x.get(), grid_points);
  map(stream, ScaleByElement{all.alpha.get()}, all.q.get(), t, grid_points);
  map(stream, Subtract{}, r, t, all.r.get(), grid_points);
  dot(all, all.r.get(), all.r.get(), after.get(), stream);
  divide(after, before, all.beta, stream);
  map(stream, ScaleByElement{all.beta.get()}, p, t, grid_points);
  map(stream, Add{}, all.r.get(), t, all.p.get(), grid_points);
}

RawProgram conjugate_gradients(int) {
  const Buffers all;
  return {.step =
              [all](cudaStream_t stream) {
                check(cudaMemsetAsync(all.x.get(), 0, bytes, stream));
                dot(all, all.b.get(), all.b.get(), all.squares[0].get(), stream);
                for (int k = 0; k < cg_iterations; ++k) iterate(all, k, stream);
              },
          .results = {{all.x.get(), bytes}},
          .is_stateless = true,
          .has_nodes_of_its_own = true,
          .tolerance = 1e-4};
}

}  // namespace

std::vector<Baseline> raw_conjugate_gradients() { return {raw_graph("cg_poisson_256", conjugate_gradients)}; }

}  // namespace refrain::bench
