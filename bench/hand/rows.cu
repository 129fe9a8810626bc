#include "hand/hand.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {

std::vector<Baseline> hand_rows() {
  std::vector<Baseline> all;
  for (const auto& family :
       {hand_seeds(), hand_chains(), hand_softmax(), hand_layernorm_gelu(), hand_fork_join(), hand_jacobi(),
        hand_jacobi_cluster(), hand_conjugate_gradients(), hand_black_scholes(), hand_monte_carlo(), hand_adam()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
