// fork_join_8x16: a thread takes an element of all branches, which are independent of each other as its instructions
// are.

#include "hand/hand.hpp"
#include "inputs.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

// So few elements are spread over as many multiprocessors as they have warps for.
constexpr int block = 32;
constexpr int grid = (branch_elements + block - 1) / block;
constexpr int pairs_a_turn = 4;  // of the loop, whose code a launch has to fetch first

struct Starts {
  const float* of[branches];
};

__global__ void __launch_bounds__(block) branch_and_add(const __grid_constant__ Starts starts, float* out) {
  const int i = static_cast<int>(blockIdx.x) * block + static_cast<int>(threadIdx.x);
  if (i >= branch_elements) return;
  float z[branches];
#pragma unroll
  for (int branch = 0; branch < branches; ++branch) z[branch] = starts.of[branch][i];
#pragma unroll pairs_a_turn
  for (int pair = 0; pair < branch_pairs; ++pair) {
#pragma unroll
    for (float& each : z) each = each * branch_scale + branch_summand;
  }
  float sum = z[0];
#pragma unroll
  for (int branch = 1; branch < branches; ++branch) sum += z[branch];
  out[i] = sum;
}

RawProgram fork_join(int) {
  std::vector<std::shared_ptr<float>> owners;
  Starts starts{};
  for (int branch = 0; branch < branches; ++branch) {
    starts.of[branch] = owners.emplace_back(make_device_copy(branch_start(branch))).get();
  }
  const auto out = make_device_array<float>(branch_elements);
  return {.step = [owners, starts, out](
                      cudaStream_t stream) { launch(branch_and_add, grid, block, stream, Starts{starts}, out.get()); },
          .results = {{out.get(), branch_elements * sizeof(float)}},
          .is_stateless = true,
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_fork_join() { return {hand_row("fork_join_8x16", fork_join)}; }

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
