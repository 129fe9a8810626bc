#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

Row find_binary_row(ElementwiseOp op, Type type) {
  static constexpr ByType<Row> table[] = {
#define REFRAIN_UNARY(name, domain, result, expression) {},
#define REFRAIN_BINARY(name, domain, result, expression) op_entries<RowOf, ops::name>(),
#define REFRAIN_TERNARY(name, domain, result, expression) {},
#include "kernels/elementwise_table.hpp"
  };
  return table[static_cast<int>(op)].of[static_cast<int>(type)];
}

}  // namespace refrain::kernels
