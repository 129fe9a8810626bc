#include "workload.hpp"

namespace refrain::bench {

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = [] {
    std::vector<Workload> list;
    for (const auto& family :
         {seed_workloads(), empty_workloads(), elementwise_workloads(), array_workloads(), branch_workloads(),
          stencil_workloads(), black_scholes_workloads(), monte_carlo_workloads(), adam_workloads(), layer_workloads(),
          mlp_workloads(), graphed_workloads(), launch_workloads(), foreign_step_workloads()}) {
      list.insert(list.end(), family.begin(), family.end());
    }
    return list;
  }();
  return all;
}

}  // namespace refrain::bench
