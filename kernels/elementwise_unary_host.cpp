#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

template <>
Row Finders<RowOf>::unary(ElementwiseOp op, Type type) {
  return find_op<RowOf, 1>(op, type);
}

}  // namespace refrain::kernels
