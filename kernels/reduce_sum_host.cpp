#include "kernels/reduce_host.hpp"

namespace refrain::kernels {

HostReduction find_sum_on_host(const ReduceArgs& args) { return find_sum<HostReductionOf>(args); }

}  // namespace refrain::kernels
