#include "graph/passes/passes.hpp"

namespace refrain::graph {

std::span<const Pass> passes() {
  static constexpr Pass all[] = {{&Passes::dead_work, drop_dead_work},
                                 {&Passes::order, relax_order},
                                 {&Passes::fusion, fuse},
                                 {&Passes::memory, plan_memory}};
  return all;
}

}  // namespace refrain::graph
