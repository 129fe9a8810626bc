#include "kernels/reduce.cuh"

namespace refrain::kernels {

ReduceKernels find_moment_kernels(const ReduceArgs& args) { return find_moment<KernelsOfReduction>(args); }

}  // namespace refrain::kernels
