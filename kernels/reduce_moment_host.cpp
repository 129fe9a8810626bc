#include "kernels/reduce_host.hpp"

namespace refrain::kernels {

HostReduction find_moment_on_host(const ReduceArgs& args) { return find_moment<HostReductionOf>(args); }

}  // namespace refrain::kernels
