#include "kernels/elementwise.cuh"

namespace refrain::kernels {

template <>
ElementwiseKernels Finders<KernelsOf>::ternary(ElementwiseOp op, Type type) {
  if (op == ElementwiseOp::where) return find_select<KernelsOf>(type);
  return find_op<KernelsOf, 3>(op, type);
}

}  // namespace refrain::kernels
