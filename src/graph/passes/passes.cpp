#include "graph/passes/passes.hpp"

namespace refrain::graph {

std::span<const Pass> passes() {
  static constexpr Pass all[] = {{"dead work", &Passes::dead_work, drop_dead_work},
                                 {"order", &Passes::order, relax_order},
                                 {"fusion", &Passes::fusion, fuse},
                                 {"memory", &Passes::memory, plan_memory}};
  return all;
}

}  // namespace refrain::graph
