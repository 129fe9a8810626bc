#include "kernels/elementwise.cuh"

namespace refrain::kernels {

template <>
ElementwiseKernels Finders<KernelsOf>::copy(Type to, Type from) {
  return find_copy<KernelsOf>(to, from);
}

}  // namespace refrain::kernels
