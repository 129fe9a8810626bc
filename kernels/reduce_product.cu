#include "kernels/reduce.cuh"

namespace refrain::kernels {

ReduceKernels find_product_kernels(const ReduceArgs& args) { return find_product<KernelsOfReduction>(args); }

}  // namespace refrain::kernels
