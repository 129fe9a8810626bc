#include "kernels/reduce.cuh"

namespace refrain::kernels {

ReduceKernels find_power_kernels(const ReduceArgs& args) { return find_power<KernelsOfReduction>(args); }

}  // namespace refrain::kernels
