#include "kernels/reduce_host.hpp"

#include "kernels/host.hpp"

namespace refrain::kernels {
namespace {

HostReduction find_reduction(const ReduceArgs& args) {
  switch (args.op) {
    case ReduceOp::sum: return find_sum_on_host(args);
    case ReduceOp::prod: return find_product_on_host(args);
    case ReduceOp::sum_of_squares:
    case ReduceOp::var:
    case ReduceOp::dot: return find_moment_on_host(args);
    case ReduceOp::min:
    case ReduceOp::max: return find_extreme_on_host(args);
    case ReduceOp::argmin:
    case ReduceOp::argmax:
    case ReduceOp::found:
    case ReduceOp::any:
    case ReduceOp::all: return find_choice_on_host(args);
    case ReduceOp::logsumexp:
    case ReduceOp::log_of_sum: return find_power_on_host(args);
    case ReduceOp::softmax: return find_softmax_on_host(args);
  }
  return nullptr;
}

}  // namespace

void reduce_host(const ReduceArgs& args, const Split& split) { find_reduction(args)(args, split); }

}  // namespace refrain::kernels
