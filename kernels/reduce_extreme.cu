#include "kernels/reduce.cuh"

namespace refrain::kernels {

ReduceKernels find_extreme_kernels(const ReduceArgs& args) { return find_extreme<KernelsOfReduction>(args); }

}  // namespace refrain::kernels
