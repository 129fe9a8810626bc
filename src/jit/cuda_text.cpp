#include "jit/cuda_text.hpp"

namespace refrain::jit {

using kernels::Type;

namespace {

const char* op_name(kernels::ElementwiseOp op) {
  constexpr const char* names[] = {
#define REFRAIN_UNARY(name, domain, result, expression) #name,
#define REFRAIN_BINARY(name, domain, result, expression) #name,
#define REFRAIN_TERNARY(name, domain, result, expression) #name,
#include "kernels/elementwise_table.hpp"
  };
  return names[static_cast<int>(op)];
}

}  // namespace

const char* type_name(Type type) {
  constexpr const char* names[] = {"bool", "u8", "i32", "i64", "Half", "BFloat", "float", "double"};
  return names[static_cast<int>(type)];
}

const char* stored_name(Type type) { return type == Type::bool_ ? "u8" : type_name(type); }

std::string op_text(const Instruction& instruction, const std::function<std::string(int)>& operand) {
  if (instruction.op == kernels::ElementwiseOp::where) {
    return operand(0) + " != 0 ? " + operand(1) + " : " + operand(2);
  }
  const std::string in_type = type_name(instruction.in_type);
  std::string text = instruction.op == kernels::ElementwiseOp::copy
                         ? "Convert<" + std::string(type_name(instruction.type)) + ", " + in_type
                         : "Apply<ops::" + std::string(op_name(instruction.op)) + ", " + in_type;
  text += ">::apply(";
  for (int k = 0; k < instruction.operand_count(); ++k) text += (k > 0 ? ", " : "") + operand(k);
  return text + ")";
}

}  // namespace refrain::jit
