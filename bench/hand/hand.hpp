#pragma once

#include "raw/program.hpp"

#include <string>
#include <utility>

// Kernels that do a workload's arithmetic as one would write them for it by hand, in one CUDA graph: what Refrain's own
// kernels are measured against. They have the operations of the program, each rounded as there, but need not add in
// Refrain's order.
//
// Built twice, into the namespace that REFRAIN_HAND_BUILD names: without fused multiply-adds, as the library's kernels
// are, and with them.

namespace refrain::bench {

namespace hand_exact {
inline constexpr const char* mode_end = "";
inline constexpr const char* summary_end = "";
/// How far results may be off that are those of Refrain's operations in Refrain's order.
inline constexpr double rounding = 0;
}  // namespace hand_exact

namespace hand_fast {
inline constexpr const char* mode_end = "-fast";
inline constexpr const char* summary_end = ", with fused multiply-adds";
inline constexpr double rounding = 2e-6;
}  // namespace hand_fast

namespace REFRAIN_HAND_BUILD {

/// Of rows that add up in Refrain's order.
inline constexpr const char* in_order = ", sums in float64 and Refrain's order";

/// The row of this build; of those that a workload has several of, `way` and `how` tell which.
inline Baseline hand_row(std::string workload, MakeRawProgram make, const std::string& way = "",
                         const std::string& how = "") {
  return hand_graph(std::move(workload), hand_mode + way + mode_end, hand_summary + how + summary_end, std::move(make));
}

// One family a file.
std::vector<Baseline> hand_seeds();
std::vector<Baseline> hand_chains();
std::vector<Baseline> hand_softmax();
std::vector<Baseline> hand_layernorm_gelu();
std::vector<Baseline> hand_fork_join();
std::vector<Baseline> hand_jacobi();
std::vector<Baseline> hand_jacobi_cluster();
std::vector<Baseline> hand_conjugate_gradients();
std::vector<Baseline> hand_black_scholes();
std::vector<Baseline> hand_monte_carlo();
std::vector<Baseline> hand_adam();

}  // namespace REFRAIN_HAND_BUILD
}  // namespace refrain::bench
