#include "kernels/elementwise.cuh"

namespace refrain::kernels {

template <>
ElementwiseKernels Finders<KernelsOf>::binary(ElementwiseOp op, Type type) {
  return find_op<KernelsOf, 2>(op, type);
}

}  // namespace refrain::kernels
