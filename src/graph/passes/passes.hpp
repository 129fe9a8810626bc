#pragma once

#include "graph/program.hpp"
#include "runtime/plan.hpp"

#include <refrain/diagnostics.hpp>

#include <span>
#include <vector>

namespace refrain::graph {

/// What the passes work on: a copy of the program's commands and order that each pass may rewrite.
struct Draft {
  const Program& program;
  runtime::Plan plan;
  std::vector<Diagnostic> diagnostics;
};

/// One optimising pass. It keeps the program's results, bit for bit, and says in `diagnostics` what it did.
struct Pass {
  const char* name;
  void (*run)(Draft& draft);
};

/// The passes of Optimize::all, in the order they run: order, dead work, fusion, lanes, memory plan. Each one is a
/// file of this folder and a line of the list; none is written yet.
std::span<const Pass> passes();

}  // namespace refrain::graph
