#include "kernels/elementwise.cuh"

namespace refrain::kernels {

template <>
ElementwiseKernels Finders<KernelsOf>::unary(ElementwiseOp op, Type type) {
  return find_op<KernelsOf, 1>(op, type);
}

}  // namespace refrain::kernels
