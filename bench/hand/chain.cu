// chain_100_*: all operations on an element in registers, between one read and one write.

#include "hand/hand.hpp"
#include "inputs.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

/// How elements are laid out over threads: `quads` times 16 bytes a thread.
template <int elements, int threads_a_block, int quads_a_thread>
struct Shape {
  static constexpr int size = elements;
  static constexpr int block = threads_a_block;
  static constexpr int quads = quads_a_thread;
  static constexpr int grid = (size / 4 + block * quads - 1) / (block * quads);
};
using Small = Shape<1000, 32, 1>;  // over as many multiprocessors as it has warps for
using Medium = Shape<1 << 20, 256, 1>;
using Large = Shape<static_cast<int>(large), 256, 2>;

// A loop, so that its code stays in the multiprocessor's smallest instruction cache: the large chain without fused
// multiply-adds is bound by what it can issue.
constexpr int pairs_a_turn = 10;
static_assert(chain_pairs % pairs_a_turn == 0);

template <class Shape>
__global__ void __launch_bounds__(Shape::block) chain(const float4* start, const float4* y, float4* out) {
  constexpr int all = Shape::size / 4;
  const int first = static_cast<int>(blockIdx.x) * Shape::block * Shape::quads + static_cast<int>(threadIdx.x);
  const auto is_inside = [](int i) { return all % (Shape::block * Shape::quads) == 0 || i < all; };

  float4 z[Shape::quads];
  float4 summand[Shape::quads];
#pragma unroll
  for (int k = 0; k < Shape::quads; ++k) {
    const int i = first + k * Shape::block;
    if (!is_inside(i)) continue;
    z[k] = start[i];
    summand[k] = y[i];
  }
#pragma unroll pairs_a_turn
  for (int pair = 0; pair < chain_pairs; ++pair) {
#pragma unroll
    for (int k = 0; k < Shape::quads; ++k) {
      z[k].x = z[k].x * chain_scale + summand[k].x;
      z[k].y = z[k].y * chain_scale + summand[k].y;
      z[k].z = z[k].z * chain_scale + summand[k].z;
      z[k].w = z[k].w * chain_scale + summand[k].w;
    }
  }
#pragma unroll
  for (int k = 0; k < Shape::quads; ++k) {
    const int i = first + k * Shape::block;
    if (is_inside(i)) out[i] = z[k];
  }
}

template <class Shape>
RawProgram ends(int) {
  const std::vector<float> values = numbers(Shape::size);
  std::vector<float> summands;
  for (const float value : values) summands.push_back(value * 0.25F + 1);
  const auto out = make_device_array<float>(Shape::size);
  return {.step =
              [start = make_device_copy(values), y = make_device_copy(summands), out](cudaStream_t stream) {
                launch(chain<Shape>, Shape::grid, Shape::block, stream,
                       quads_of(static_cast<const float*>(start.get())), quads_of(static_cast<const float*>(y.get())),
                       quads_of(out.get()));
              },
          .results = {{out.get(), Shape::size * sizeof(float)}},
          .is_stateless = true,
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_chains() {
  return {hand_row("chain_100_1k", ends<Small>), hand_row("chain_100_1m", ends<Medium>),
          hand_row("chain_100_64m", ends<Large>)};
}

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
