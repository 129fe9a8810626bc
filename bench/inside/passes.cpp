// What the passes of `instantiate` take, without what comes after them.

#include "measure.hpp"
#include "start.hpp"

#include "graph/arena.hpp"
#include "graph/passes/passes.hpp"
#include "graph/planner.hpp"

#include <algorithm>

namespace refrain::bench {

std::optional<double> passes_us(const Graph& graph) {
  constexpr int trials = 21;
  std::vector<double> times;
  for (int i = 0; i < trials; ++i) {
    Stopwatch watch;
    refrain::graph::Planner planner(graph.program(),
                                    std::make_shared<refrain::graph::ArenaRoom>(graph.program()->mark));
    for (const refrain::graph::Pass& pass : refrain::graph::passes()) pass.run(planner.draft());
    times.push_back(watch.lap());
  }
  return median(std::move(times));
}

}  // namespace refrain::bench
