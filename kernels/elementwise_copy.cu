#include "kernels/elementwise.cuh"

namespace refrain::kernels {

ElementwiseKernels find_copy_kernels(Type to, Type from) {
  static const ByType<ElementwiseKernels> table[] = {
      copy_entries<KernelsOf, bool>(),  copy_entries<KernelsOf, u8>(),    copy_entries<KernelsOf, i32>(),
      copy_entries<KernelsOf, i64>(),   copy_entries<KernelsOf, Half>(),  copy_entries<KernelsOf, BFloat>(),
      copy_entries<KernelsOf, float>(), copy_entries<KernelsOf, double>()};
  return table[static_cast<int>(to)].of[static_cast<int>(from)];
}

}  // namespace refrain::kernels
