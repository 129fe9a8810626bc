#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

Row find_copy_row(Type to, Type from) {
  static constexpr ByType<Row> table[] = {copy_entries<RowOf, bool>(),  copy_entries<RowOf, u8>(),
                                          copy_entries<RowOf, i32>(),   copy_entries<RowOf, i64>(),
                                          copy_entries<RowOf, Half>(),  copy_entries<RowOf, BFloat>(),
                                          copy_entries<RowOf, float>(), copy_entries<RowOf, double>()};
  return table[static_cast<int>(to)].of[static_cast<int>(from)];
}

}  // namespace refrain::kernels
