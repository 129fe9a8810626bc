#include "kernels/reduce_host.hpp"

namespace refrain::kernels {

HostReduction find_extreme_on_host(const ReduceArgs& args) { return find_extreme<HostReductionOf>(args); }

}  // namespace refrain::kernels
