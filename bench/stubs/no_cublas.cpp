// In place of workloads/foreign_step.cu and raw/foreign_step.cu in a binary without cuBLAS.

#include "raw/program.hpp"
#include "workload.hpp"

namespace refrain::bench {

std::vector<Workload> foreign_step_workloads() { return {}; }
std::vector<Baseline> raw_foreign_step() { return {}; }

}  // namespace refrain::bench
