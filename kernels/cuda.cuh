#pragma once

#include <cuda_runtime_api.h>

#include "kernels/args.hpp"

// Launchers. All are stream-ordered and capturable: no allocation, no synchronisation, no attribute query. Each returns
// the status of its one launch; nothing else is read or cleared.

namespace refrain::kernels {

/// @see ElementwiseArgs. An input may be the output itself, in the same order; no other overlap.
/// cudaErrorInvalidDeviceFunction if the op has no kernel for its types.
cudaError_t launch_elementwise(const ElementwiseArgs& args, int multiprocessors, cudaStream_t stream);

/// @see RandomArgs
cudaError_t launch_random(const RandomArgs& args, cudaStream_t stream);

/// One block that does nothing.
cudaError_t launch_empty(cudaStream_t stream);

/// The device's copy of the generator: counters[0] = seed, counters[1] = increment, counters[counter_header + i] =
/// base + relative[i] for i < n.
cudaError_t launch_set_counters(u64* counters, const u64* relative, i64 n, u64 seed, u64 base, u64 increment,
                                cudaStream_t stream);

}  // namespace refrain::kernels
