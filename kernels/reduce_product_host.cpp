#include "kernels/reduce_host.hpp"

namespace refrain::kernels {

HostReduction find_product_on_host(const ReduceArgs& args) { return find_product<HostReductionOf>(args); }

}  // namespace refrain::kernels
