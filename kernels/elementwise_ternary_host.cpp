#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

Row find_ternary_row(ElementwiseOp op, Type type) {
  static constexpr auto selects = select_entries<RowOf>();
  static constexpr ByType<Row> table[] = {
#define REFRAIN_UNARY(name, domain, result, expression) {},
#define REFRAIN_BINARY(name, domain, result, expression) {},
#define REFRAIN_TERNARY(name, domain, result, expression) op_entries<RowOf, ops::name>(),
#include "kernels/elementwise_table.hpp"
  };
  if (op == ElementwiseOp::where) return selects.of[size_exponent(type)];
  return table[static_cast<int>(op)].of[static_cast<int>(type)];
}

}  // namespace refrain::kernels
