// In place of workloads/foreign_step.cu, raw/foreign_step.cu and hand/mlp.cpp in a binary without cuBLAS.

#include "raw/program.hpp"
#include "workload.hpp"

namespace refrain::bench {

std::vector<Workload> foreign_step_workloads() { return {}; }
std::vector<Baseline> raw_foreign_step() { return {}; }
std::vector<Baseline> hand_mlp() { return {}; }

}  // namespace refrain::bench
