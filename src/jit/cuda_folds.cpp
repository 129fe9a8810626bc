#include "jit/cuda_folds.hpp"

#include "jit/cuda_text.hpp"

namespace refrain::jit {

using kernels::ReduceOp;
using kernels::Type;

namespace {

/// The name of `ReduceOp` in the headers of kernels/.
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

/// The fold's type, as reduce_tables.hpp chooses it.
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

}  // namespace

std::string fold_text(const Reduction& reduction, std::size_t i, int number, const std::string& center) {
  const auto type = [](Type t) { return "static_cast<Type>(" + std::to_string(static_cast<int>(t)) + ")"; };
  const std::string args = "a" + std::to_string(i);
  const std::string fold = "F" + std::to_string(i);
  const auto set = [&](const char* member, const std::string& to) {
    return "  " + args + "." + member + " = " + to + ";\n";
  };
  return "  ReduceArgs " + args + "{};\n" + set("op", std::string("ReduceOp::") + reduce_name(reduction.op)) +
         set("in_type", type(reduction.in_type)) + set("acc_type", type(reduction.acc_type)) +
         set("out_type", type(reduction.out_type)) + set("root", reduction.root ? "true" : "false") +
         set("chunks", "1") +
         set("divisor", reduction.divisor == 1 ? "1" : "args.divisors[" + std::to_string(number) + "]") + "  using " +
         fold + " = " + fold_name(reduction) + ";\n  const " + fold + " f" + std::to_string(i) + "(" + args +
         (center.empty() ? "" : ", " + center) + ");\n";
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
