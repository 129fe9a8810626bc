// In place of raw/ in a binary without CUDA.

#include "modes.hpp"

namespace refrain::bench {

std::vector<Baseline> cuda_baselines() { return {}; }
std::string cuda_versions() { return {}; }

}  // namespace refrain::bench
