#include "kernels/reduce.cuh"

namespace refrain::kernels {

ReduceKernels find_sum_kernels(const ReduceArgs& args) { return find_sum<KernelsOfReduction>(args); }

}  // namespace refrain::kernels
