#pragma once

#include "kernels/args.hpp"

// Kernels of the host device. They run on the calling thread, allocate nothing and touch only their arguments' arrays.

namespace refrain::kernels {

/// @see ElementwiseArgs. An input may be the output itself, in the same order; no other overlap.
void elementwise_host(const ElementwiseArgs& args);

/// @see ReduceArgs
void reduce_host(const ReduceArgs& args);

/// @see RandomArgs; reads seed and offset (the counters are the device's). float32 normals are within
/// 4e-6 of the device's, float64 normals within 4e-15, the rest equal.
void random_host(const RandomArgs& args);

}  // namespace refrain::kernels
