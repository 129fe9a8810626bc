#pragma once

#include "kernels/reduce_columns.hpp"
#include "kernels/reduce_rows.hpp"
#include "kernels/reduce_tables.hpp"

// The host's reductions, a file a family.

namespace refrain::kernels {

using HostReduction = void (*)(const ReduceArgs&, const Split&);

HostReduction find_sum_on_host(const ReduceArgs& args);
HostReduction find_product_on_host(const ReduceArgs& args);
HostReduction find_moment_on_host(const ReduceArgs& args);
HostReduction find_extreme_on_host(const ReduceArgs& args);
HostReduction find_choice_on_host(const ReduceArgs& args);
HostReduction find_power_on_host(const ReduceArgs& args);
HostReduction find_softmax_on_host(const ReduceArgs& args);

template <class P>
struct HostReductionOf {
  static HostReduction make() {
    return [](const ReduceArgs& args, const Split& split) {
      are_columns(args) ? reduce_columns<P>(args, split) : reduce_rows<P>(args, split);
    };
  }
};

}  // namespace refrain::kernels
