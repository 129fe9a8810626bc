#pragma once

#include "kernels/launch.cuh"
#include "kernels/reduce_blocks.cuh"
#include "kernels/reduce_lanes.cuh"
#include "kernels/reduce_tables.hpp"

// The kernels of reductions, a file a family.

namespace refrain::kernels {

struct ReduceKernels {
  void (*rows)(LaneParams);
  void (*columns)(LaneParams);
  void (*blocks)(ReduceArgs);
  void (*dense_chunks)(ReduceArgs);  ///< null: it has two passes
};

template <class P>
struct KernelsOfReduction {
  static ReduceKernels make() {
    if constexpr (P::passes == 1) {
      return {reduce_lanes_kernel<P, Rows::apart>, reduce_lanes_kernel<P, Rows::side_by_side>, reduce_blocks<P>,
              reduce_dense_chunks<P>};
    } else {
      return {reduce_lanes_kernel<P, Rows::apart>, reduce_lanes_kernel<P, Rows::side_by_side>, reduce_blocks<P>,
              nullptr};
    }
  }
};

ReduceKernels find_sum_kernels(const ReduceArgs& args);
ReduceKernels find_product_kernels(const ReduceArgs& args);
ReduceKernels find_moment_kernels(const ReduceArgs& args);
ReduceKernels find_extreme_kernels(const ReduceArgs& args);
ReduceKernels find_choice_kernels(const ReduceArgs& args);
ReduceKernels find_power_kernels(const ReduceArgs& args);

cudaError_t launch_softmax(const ReduceArgs& args, const Target& target);

}  // namespace refrain::kernels
