#include "kernels/elementwise.cuh"

namespace refrain::kernels {

ElementwiseKernels find_ternary_kernels(ElementwiseOp op, Type type) {
  static const auto selects = select_entries<KernelsOf>();
  static const ByType<ElementwiseKernels> table[] = {
#define REFRAIN_UNARY(name, domain, result, expression) {},
#define REFRAIN_BINARY(name, domain, result, expression) {},
#define REFRAIN_TERNARY(name, domain, result, expression) op_entries<KernelsOf, ops::name>(),
#include "kernels/elementwise_table.hpp"
  };
  if (op == ElementwiseOp::where) return selects.of[size_exponent(type)];
  return table[static_cast<int>(op)].of[static_cast<int>(type)];
}

}  // namespace refrain::kernels
