#pragma once

#include "graph/draft.hpp"

#include <refrain/graph.hpp>

#include <span>

namespace refrain::graph {

struct DeviceCosts;

/// One optimising pass. It keeps the program's results, bit for bit, and says in `diagnostics` what it did.
struct Pass {
  bool Passes::*is_on;
  void (*run)(Draft& draft);
};

/// The passes of Optimize::all, in the order they run. Each is a file of this folder and a line of the list.
std::span<const Pass> passes();

/// Leaves out what nobody can read.
void drop_dead_work(Draft& draft);
/// Keeps the order of what conflicts, and of undeclared commands with all others; drops the rest.
void relax_order(Draft& draft);
/// Makes one command of commands over the same positions, of their rows, or of parts of what they write.
void fuse(Draft& draft);
/// Computes values of one element, which nobody keeps, within the commands that read them.
void compute_scalars_where_read(Draft& draft);
/// Makes one command of small elementwise commands that may run at once, of one structure or at the same positions.
void fuse_horizontally(Draft& draft);
/// Has a fused command's last block make the single elements that come right after it.
void append_last(Draft& draft);
/// Puts independent commands into as many branches as pay.
void choose_lanes(Draft& draft);
/// The same on a device of those costs.
void choose_lanes(Draft& draft, const DeviceCosts& costs);
/// Lets an elementwise command write what it reads for the last time, where each element is read before it is written.
void work_in_place(Draft& draft);
/// Gives temporaries whose lives do not meet the same memory.
void plan_memory(Draft& draft);
/// The same on a device of those costs.
void plan_memory(Draft& draft, const DeviceCosts& costs);
/// Lets small kernels of a line be launched early.
void mark_programmatic(Draft& draft);

/// What the temporaries take, as planned so far.
ArenaUse arena_use(const Draft& draft);

}  // namespace refrain::graph
