#include "jit/cuda_folds.hpp"

#include "jit/cuda_text.hpp"

namespace refrain::jit {

using kernels::ReduceOp;
using kernels::Type;

const char* reduce_name(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod: return "prod";
    case ReduceOp::sum_of_squares: return "sum_of_squares";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::any: return "any";
    case ReduceOp::all: return "all";
    case ReduceOp::var: return "var";
    default: return "sum";
  }
}

std::string fold_name(const Reduction& reduction) {
  const std::string in = type_name(reduction.in_type);
  switch (reduction.op) {
    case ReduceOp::sum_of_squares: return "SumOfSquares<" + in + ">";
    case ReduceOp::var: return "SquaredDistances<" + in + ">";
    case ReduceOp::min:
    case ReduceOp::max: return "Extreme<" + std::string(stored_name(reduction.in_type)) + ">";
    case ReduceOp::any:
    case ReduceOp::all: return "Truth<BitsLike<" + std::string(stored_name(reduction.in_type)) + ">>";
    default: break;
  }
  const bool is_narrow = reduction.in_type == Type::float32 && reduction.acc_type == Type::float32;
  return (reduction.op == ReduceOp::prod ? "Product<" : "Sum<") + in + (is_narrow ? ", float>" : ">");
}

std::string element_text(const Reduction& reduction, const std::string& value) {
  if (reduction.op == ReduceOp::any || reduction.op == ReduceOp::all) {
    return "__builtin_bit_cast(BitsLike<" + std::string(stored_name(reduction.in_type)) + ">, " + value + ")";
  }
  const bool is_truth =
      reduction.in_type == Type::bool_ && reduction.op != ReduceOp::min && reduction.op != ReduceOp::max;
  return is_truth ? value + " != 0" : value;
}

}  // namespace refrain::jit
