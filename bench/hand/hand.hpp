#pragma once

#include "raw/program.hpp"

// Kernels that do a workload's arithmetic as one would write them for it by hand, in one CUDA graph: what Refrain's own
// kernels are measured against. They need not add in Refrain's order.

namespace refrain::bench {

// One family a file.
std::vector<Baseline> hand_softmax();

}  // namespace refrain::bench
