#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

template <>
Row Finders<RowOf>::ternary(ElementwiseOp op, Type type) {
  if (op == ElementwiseOp::where) return find_select<RowOf>(type);
  return find_op<RowOf, 3>(op, type);
}

}  // namespace refrain::kernels
