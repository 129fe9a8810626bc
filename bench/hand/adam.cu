// adam_200: one kernel for all tensors, whose addresses are its parameters.

#include "hand/hand.hpp"
#include "inputs.hpp"

#include <algorithm>

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

// A block has one piece of a tensor, a thread four elements of it.
constexpr int block = 128;
constexpr int piece = 4 * block;
constexpr int most_pieces = tensors * 4096 / piece;

struct Tensors {
  float* parameter[tensors];
  const float* gradient[tensors];
  float* first[tensors];
  float* second[tensors];
  int size[tensors];
};

struct Piece {
  unsigned char tensor;
  unsigned char number;
};
static_assert(tensors <= 256);

struct Pieces {
  Piece of[most_pieces];  ///< of each block
};

/// The betas to the power of the number of steps. Each block has its own and moves them on, as no block waits for
/// another.
using Powers = float2;

__device__ void update(float& parameter, float gradient, float& first, float& second, float correction1,
                       float correction2) {
  first = first * beta1 + gradient * (1 - beta1);
  second = second * beta2 + gradient * gradient * (1 - beta2);
  const float deviation = sqrtf(second / correction2) + epsilon;
  parameter -= first / correction1 / deviation * learning_rate;
}

__global__ void __launch_bounds__(block)
    step_all(const __grid_constant__ Tensors all, const __grid_constant__ Pieces pieces, Powers* powers) {
  const Piece mine = pieces.of[blockIdx.x];
  const int tensor = mine.tensor;
  const int at = mine.number * piece + 4 * static_cast<int>(threadIdx.x);
  Powers power = powers[blockIdx.x];
  const bool is_inside = at < all.size[tensor];
  float4 p, g, m, v;
  if (is_inside) {
    p = *quads_of(all.parameter[tensor] + at);
    g = *quads_of(all.gradient[tensor] + at);
    m = *quads_of(all.first[tensor] + at);
    v = *quads_of(all.second[tensor] + at);
  }
  power = {power.x * beta1, power.y * beta2};
  __syncthreads();
  if (threadIdx.x == 0) powers[blockIdx.x] = power;
  if (!is_inside) return;
  const float correction1 = 1 - power.x;
  const float correction2 = 1 - power.y;
  update(p.x, g.x, m.x, v.x, correction1, correction2);
  update(p.y, g.y, m.y, v.y, correction1, correction2);
  update(p.z, g.z, m.z, v.z, correction1, correction2);
  update(p.w, g.w, m.w, v.w, correction1, correction2);
  *quads_of(all.parameter[tensor] + at) = p;
  *quads_of(all.first[tensor] + at) = m;
  *quads_of(all.second[tensor] + at) = v;
}

/// What the program is made of, and how to begin again.
struct State {
  std::vector<std::vector<float>> starts;
  std::vector<std::shared_ptr<float>> owners;
  Tensors all{};
  Pieces pieces{};
  int grid = 0;
  std::shared_ptr<Powers> powers;

  State() {
    for (int number = 0; number < tensors; ++number) {
      const auto [start, gradient] = make_tensor(number);
      const auto own = [&](const std::shared_ptr<float>& array) { return owners.emplace_back(array).get(); };
      all.parameter[number] = own(make_device_array<float>(start.size()));
      all.gradient[number] = own(make_device_copy(gradient));
      all.first[number] = own(make_device_array<float>(start.size()));
      all.second[number] = own(make_device_array<float>(start.size()));
      all.size[number] = static_cast<int>(start.size());
      for (int first = 0; first < all.size[number]; first += piece) {
        pieces.of[grid++] = {static_cast<unsigned char>(number), static_cast<unsigned char>(first / piece)};
      }
      starts.push_back(start);
    }
    powers = make_device_array<Powers>(static_cast<std::size_t>(grid));
    reset();
  }

  void reset() const {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t bytes = starts[i].size() * sizeof(float);
      check(cudaMemcpy(all.parameter[i], starts[i].data(), bytes, cudaMemcpyHostToDevice));
      check(cudaMemset(all.first[i], 0, bytes));
      check(cudaMemset(all.second[i], 0, bytes));
    }
    const std::vector<Powers> ones(static_cast<std::size_t>(grid), Powers{1, 1});
    check(cudaMemcpy(powers.get(), ones.data(), ones.size() * sizeof(Powers), cudaMemcpyHostToDevice));
  }
};

RawProgram adam(int) {
  const auto state = std::make_shared<const State>();
  std::vector<RawResult> results;
  for (int i = 0; i < tensors; ++i) {
    const std::size_t bytes = static_cast<std::size_t>(state->all.size[i]) * sizeof(float);
    for (float* const array : {state->all.parameter[i], state->all.first[i], state->all.second[i]}) {
      results.push_back({array, bytes});
    }
  }
  return {.step =
              [state](cudaStream_t stream) {
                launch(step_all, state->grid, block, stream, Tensors{state->all}, Pieces{state->pieces},
                       state->powers.get());
              },
          .results = results,
          .reset = [state] { state->reset(); },
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_adam() { return {hand_row("adam_200", adam)}; }

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
