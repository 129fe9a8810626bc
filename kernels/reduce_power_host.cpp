#include "kernels/reduce_host.hpp"

namespace refrain::kernels {

HostReduction find_power_on_host(const ReduceArgs& args) { return find_power<HostReductionOf>(args); }

}  // namespace refrain::kernels
