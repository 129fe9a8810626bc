#include "jit/odd.hpp"

namespace refrain::jit {

using kernels::ElementwiseOp;
using kernels::Type;

namespace {

/// Of those whose CUDA function gives f(-x) the bits of -f(x), for each x.
bool is_odd(ElementwiseOp op) {
  return op == ElementwiseOp::erf || op == ElementwiseOp::tanh || op == ElementwiseOp::sin;
}

const Instruction& at(const Expression& e, int i) { return e.code[static_cast<std::size_t>(i)]; }

bool is_op(const Instruction& instruction, ElementwiseOp op) {
  return instruction.kind == Instruction::Kind::op && instruction.op == op;
}

/// Whether one value is the other with the other sign.
bool are_opposite(const Expression& e, int a, int b) {
  const Instruction& first = at(e, a);
  const Instruction& second = at(e, b);
  if (is_op(first, ElementwiseOp::neg) && first.operands[0] == b) return true;
  if (is_op(second, ElementwiseOp::neg) && second.operands[0] == a) return true;
  if (first.kind != Instruction::Kind::op || second.kind != Instruction::Kind::op || first.op != second.op ||
      first.type != second.type) {
    return false;
  }
  if (first.op != ElementwiseOp::mul && first.op != ElementwiseOp::div) return false;
  const auto differ_in = [&](int k) {
    return first.operands[1 - k] == second.operands[1 - k] && are_opposite(e, first.operands[k], second.operands[k]);
  };
  return differ_in(0) || differ_in(1);
}

}  // namespace

std::optional<std::size_t> same_of_opposite(const Expression& expression, std::size_t instruction) {
  const Instruction& own = expression.code[instruction];
  if (own.kind != Instruction::Kind::op || !is_odd(own.op)) return std::nullopt;
  if (own.in_type != own.type || (own.type != Type::float32 && own.type != Type::float64)) return std::nullopt;
  for (std::size_t i = 0; i < instruction; ++i) {
    const Instruction& other = expression.code[i];
    if (is_op(other, own.op) && other.in_type == own.in_type && other.type == own.type &&
        are_opposite(expression, other.operands[0], own.operands[0])) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace refrain::jit
