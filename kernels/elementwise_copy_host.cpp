#include "kernels/elementwise_rows.hpp"

namespace refrain::kernels {

template <>
Row Finders<RowOf>::copy(Type to, Type from) {
  return find_copy<RowOf>(to, from);
}

}  // namespace refrain::kernels
