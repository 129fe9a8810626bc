#include "jit/cuda_text.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace refrain::jit {

using kernels::Type;

namespace {

/// A row of the table of ops.
struct Op {
  const char* name;
  std::string_view expression;  ///< of a, b and c
};

const Op& op_of(kernels::ElementwiseOp op) {
  static constexpr Op all[] = {
#define REFRAIN_UNARY(name, domain, result, expression) {#name, #expression},
#define REFRAIN_BINARY(name, domain, result, expression) {#name, #expression},
#define REFRAIN_TERNARY(name, domain, result, expression) {#name, #expression},
#include "kernels/elementwise_table.hpp"
  };
  return all[static_cast<int>(op)];
}

/// Whether values of a type are computed with as they are stored.
bool is_plain(Type type) { return type == Type::float32 || type == Type::float64; }

/// Ops of truths that are integers of 0 or 1 (kernels/truth.cuh); null for those of no truths.
const char* truth_expression(kernels::ElementwiseOp op) {
  using kernels::ElementwiseOp;
  switch (op) {
    case ElementwiseOp::equal: return "a ^ b ^ 1";
    case ElementwiseOp::not_equal:
    case ElementwiseOp::logical_xor:
    case ElementwiseOp::bitwise_xor: return "a ^ b";
    case ElementwiseOp::less: return "(a ^ 1) & b";
    case ElementwiseOp::less_equal: return "a ^ 1 | b";
    case ElementwiseOp::greater: return "a & (b ^ 1)";
    case ElementwiseOp::greater_equal: return "a | b ^ 1";
    case ElementwiseOp::logical_and:
    case ElementwiseOp::bitwise_and: return "a & b";
    case ElementwiseOp::logical_or:
    case ElementwiseOp::bitwise_or: return "a | b";
    case ElementwiseOp::logical_not:
    case ElementwiseOp::bitwise_not: return "a ^ 1";
    default: return nullptr;
  }
}

/// An expression of the table with operands, each a name or an element, in their places.
std::string with_operands(std::string_view expression, const char* type,
                          const std::function<std::string(int)>& operand) {
  constexpr std::string_view type_of_a = "decltype(a)";  // of an element it would be a reference
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string text;
  for (std::size_t i = 0; i < expression.size();) {
    std::size_t end = i;
    while (end < expression.size() && is_word(expression[end])) ++end;
    const std::string_view word = expression.substr(i, std::max<std::size_t>(end - i, 1));
    if (expression.substr(i, type_of_a.size()) == type_of_a) {
      text += type;
      i += type_of_a.size();
      continue;
    }
    const bool is_operand = word == "a" || word == "b" || word == "c";
    text += is_operand ? operand(word[0] - 'a') : std::string(word);
    i += word.size();
  }
  return text;
}

}  // namespace

const char* type_name(Type type) {
  constexpr const char* names[] = {"bool", "u8", "i32", "i64", "Half", "BFloat", "float", "double"};
  return names[static_cast<int>(type)];
}

const char* stored_name(Type type) { return type == Type::bool_ ? "u8" : type_name(type); }

std::string op_text(const Instruction& instruction, const std::function<std::string(int)>& operand) {
  using kernels::ElementwiseOp;
  if (instruction.op == ElementwiseOp::where) return operand(0) + " != 0 ? " + operand(1) + " : " + operand(2);
  const char* const in_type = type_name(instruction.in_type);
  const char* const type = type_name(instruction.type);
  const bool is_copy = instruction.op == ElementwiseOp::copy;
  if (is_plain(instruction.in_type)) {
    if (!is_copy) return with_operands(op_of(instruction.op).expression, in_type, operand);
    if (is_plain(instruction.type)) return "static_cast<" + std::string(type) + ">(" + operand(0) + ")";
  }
  if (const char* const expression = truth_expression(instruction.op);
      instruction.in_type == Type::bool_ && expression != nullptr) {
    const auto truth = [&](int k) { return "truth(" + operand(k) + ")"; };
    return "static_cast<u8>(" + with_operands(expression, in_type, truth) + ")";
  }
  std::string text = is_copy ? "Convert<" + std::string(type) + ", " + in_type
                             : "Apply<ops::" + std::string(op_of(instruction.op).name) + ", " + in_type;
  text += ">::apply(";
  for (int k = 0; k < instruction.operand_count(); ++k) text += (k > 0 ? ", " : "") + operand(k);
  return text + ")";
}

std::string from_bits_text(Type type, const std::string& bits) {
  constexpr const char* integers[] = {"u8", "u8", "u32", "u64", "u16", "u16", "u32", "u64"};
  return "__builtin_bit_cast(" + std::string(stored_name(type)) + ", static_cast<" + integers[static_cast<int>(type)] +
         ">(" + bits + "))";
}

std::string with_includes(const std::string& text) {
  struct Name {
    std::string_view name;
    const char* header;
  };
  constexpr Name names[] = {{"i64", "config.hpp"},           {"wait_for_dependency(", "dependency.hpp"},
                            {"math::", "math.hpp"},          {"Half", "half.hpp"},
                            {"BFloat", "half.hpp"},          {"Apply<", "elementwise.hpp"},
                            {"Convert<", "elementwise.hpp"}, {"from_bits<", "elementwise.hpp"},
                            {"divide(", "elementwise.hpp"},  {"RandomArgs", "random.hpp"},
                            {"block_sum(", "block_sum.cuh"}, {"truth(", "truth.cuh"}};
  std::string includes;
  for (const Name& each : names) {
    const std::string line = std::string("#include \"kernels/") + each.header + "\"\n";
    const bool is_used = text.find(each.name) != std::string::npos;
    if (is_used && includes.find(line) == std::string::npos) includes += line;
  }
  return includes + text;
}

}  // namespace refrain::jit
