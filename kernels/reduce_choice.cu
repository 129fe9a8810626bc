#include "kernels/reduce.cuh"

namespace refrain::kernels {

ReduceKernels find_choice_kernels(const ReduceArgs& args) { return find_choice<KernelsOfReduction>(args); }

}  // namespace refrain::kernels
