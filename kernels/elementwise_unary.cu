#include "kernels/elementwise.cuh"

namespace refrain::kernels {

ElementwiseKernels find_unary_kernels(ElementwiseOp op, Type type) {
  static const ByType<ElementwiseKernels> table[] = {
#define REFRAIN_UNARY(name, domain, result, expression) op_entries<KernelsOf, ops::name>(),
#define REFRAIN_BINARY(name, domain, result, expression) {},
#define REFRAIN_TERNARY(name, domain, result, expression) {},
#include "kernels/elementwise_table.hpp"
  };
  return table[static_cast<int>(op)].of[static_cast<int>(type)];
}

}  // namespace refrain::kernels
