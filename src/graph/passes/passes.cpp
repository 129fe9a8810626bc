#include "graph/passes/passes.hpp"

namespace refrain::graph {

std::span<const Pass> passes() {
  static constexpr Pass all[] = {{&Passes::dead_work, drop_dead_work},
                                 {&Passes::order, relax_order},
                                 {&Passes::fusion, fuse},
                                 {&Passes::scalars, compute_scalars_where_read},
                                 {&Passes::horizontal, fuse_horizontally},
                                 {&Passes::scalars, append_last},
                                 {&Passes::lanes, choose_lanes},
                                 {&Passes::in_place, work_in_place},
                                 {&Passes::memory, plan_memory},
                                 {&Passes::programmatic, mark_programmatic}};
  return all;
}

}  // namespace refrain::graph
