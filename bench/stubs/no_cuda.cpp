// In place of raw/ and the workloads with kernels of their own in a binary without CUDA.

#include "modes.hpp"
#include "workload.hpp"

namespace refrain::bench {

std::vector<Baseline> cuda_baselines() { return {}; }
std::string cuda_versions() { return {}; }

std::vector<Workload> launch_workloads() { return {}; }
std::vector<Workload> foreign_step_workloads() { return {}; }

}  // namespace refrain::bench
