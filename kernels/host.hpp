#pragma once

#include "kernels/args.hpp"
#include "kernels/split.hpp"

// Kernels of the host device. They run on the calling thread, in the parts that `split` makes, allocate nothing and
// touch only their arguments' arrays. How the work is split changes no bit.

namespace refrain::kernels {

/// @see ElementwiseArgs. An input may be the output itself, in the same order; no other overlap.
void elementwise_host(const ElementwiseArgs& args, const Split& split = {});

/// @see ReduceArgs
void reduce_host(const ReduceArgs& args, const Split& split = {});

/// @see MoveArgs
void move_host(const MoveArgs& args, const Split& split = {});

/// @see RandomArgs; reads seed and offset (the counters are the device's). Standard normals in float32 are
/// within 4e-6 of the device's, in float64 within 4e-15; exponential numbers of rate 1 within 1e-6 of max(1, number)
/// and 4e-15 of it; before they are scaled and rounded to narrower types. The rest is equal.
void random_host(const RandomArgs& args, const Split& split = {});

/// memmove
void copy_host(void* to, const void* from, i64 bytes, const Split& split = {});

/// Threads whose numbers random_tile_host makes together at most.
inline constexpr int random_tile = 256;

/// What `n` threads from `thread` on draw in one round: number k of thread t goes to element k * random_tile + t -
/// thread of `numbers`, which holds 4 * random_tile elements of the type, aligned to 64 bytes. Elements behind n are
/// undefined.
void random_tile_host(const RandomArgs& args, i64 round, i64 thread, int n, void* numbers);

}  // namespace refrain::kernels
