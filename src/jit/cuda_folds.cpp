#include "jit/cuda_folds.hpp"

#include "jit/cuda_text.hpp"

#include <cmath>

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
  const bool is_narrow = reduction.in_type == Type::float32 && reduction.acc_type == Type::float32;
  const std::string in = type_name(reduction.in_type);
  const std::string summed = in + (is_narrow ? ", float>" : ">");
  switch (reduction.op) {
    case ReduceOp::prod: return "Product<" + summed;
    case ReduceOp::sum_of_squares: return "SumOfSquares<" + summed;
    case ReduceOp::var: return "SquaredDistances<" + summed;
    case ReduceOp::min:
    case ReduceOp::max: return "Extreme<" + std::string(stored_name(reduction.in_type)) + ">";
    case ReduceOp::any:
    case ReduceOp::all: return "Truth<BitsLike<" + std::string(stored_name(reduction.in_type)) + ">>";
    default: return "Sum<" + summed;
  }
}

}  // namespace

std::string fold_text(Reduction reduction, std::size_t i, int number, const std::string& center, bool is_contracted) {
  if (is_contracted && is_summed_in_float32(reduction)) reduction.acc_type = Type::float32;
  const auto type = [](Type t) { return "static_cast<Type>(" + std::to_string(static_cast<int>(t)) + ")"; };
  const bool is_divided = reduction.divisor != 1 && !is_multiplied(reduction);
  const std::string args = "a" + std::to_string(i);
  const std::string fold = "F" + std::to_string(i);
  const auto set = [&](const char* member, const std::string& to) {
    return "  " + args + "." + member + " = " + to + ";\n";
  };
  return "  ReduceArgs " + args + "{};\n" + set("op", std::string("ReduceOp::") + reduce_name(reduction.op)) +
         set("in_type", type(reduction.in_type)) + set("acc_type", type(reduction.acc_type)) +
         set("out_type", type(reduction.out_type)) + set("root", reduction.root ? "true" : "false") +
         set("chunks", "1") + set("divisor", is_divided ? "args.divisors[" + std::to_string(number) + "]" : "1") +
         "  using " + fold + " = " + fold_name(reduction) + ";\n  const " + fold + " f" + std::to_string(i) + "(" +
         args + (center.empty() ? "" : ", " + center) + ");\n";
}

bool is_summed_in_float32(const Reduction& reduction) {
  const bool is_sum =
      reduction.op == ReduceOp::sum || reduction.op == ReduceOp::sum_of_squares || reduction.op == ReduceOp::var;
  return is_sum && reduction.in_type == Type::float32;
}

bool is_multiplied(const Reduction& reduction) {
  int exponent = 0;
  const bool is_float = reduction.acc_type == Type::float32 || reduction.acc_type == Type::float64;
  return is_float && reduction.divisor != 1 && std::frexp(reduction.divisor, &exponent) == 0.5;
}

double divisor_parameter(const Reduction& reduction) {
  return is_multiplied(reduction) ? 1 / reduction.divisor : reduction.divisor;
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
