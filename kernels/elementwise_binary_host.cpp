#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

template <>
Row Finders<RowOf>::binary(ElementwiseOp op, Type type) {
  return find_op<RowOf, 2>(op, type);
}

}  // namespace refrain::kernels
