#include "kernels/reduce_host.hpp"

namespace refrain::kernels {

HostReduction find_choice_on_host(const ReduceArgs& args) { return find_choice<HostReductionOf>(args); }

}  // namespace refrain::kernels
