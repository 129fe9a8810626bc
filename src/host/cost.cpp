#include "host/cost.hpp"

#include "host/crew.hpp"
#include "jit/expression.hpp"
#include "jit/rows.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>

// When a command is worth more than one thread: by its estimated time on one, arithmetic and memory. All figures are
// nanoseconds of one core of an Intel Xeon (Sapphire Rapids, AVX-512, gcc 12), float32 if not said otherwise; twice or
// half as much elsewhere does no harm.
//
// What another thread costs, measured there: one that looks for work anyway has begun after 0.3 to 1 us, a sleeping one
// after 5 to 50 us (`long_work` in crew.cpp), and each part takes 0.03 us to be given out (0.2 us where it is fused).
// So parts are of 5 us, and two of them the least that is split: 5 000 normals of 5.5 ns are, 1 000 additions of 0.06
// ns are not, nor are 30 000.

namespace refrain::host {

namespace {

using kernels::element_size;
using kernels::ElementwiseOp;
using kernels::Split;
using kernels::Type;

constexpr double part_ns = 5'000;
/// More parts make nothing better balanced.
constexpr double most_parts = 1024;
/// No command of fewer elements is split: the slowest functions take 9 ns each. What is fused may take longer.
constexpr std::int64_t least_size = 1024;

/// A byte read or written: of what a core's cache holds, and of what it does not (100 000 and 10^6 additions of three
/// arrays: 10 and 442 us).
constexpr double cached_byte = 0.01;
constexpr double byte = 0.035;
constexpr double cache_bytes = 1 << 20;

double memory_ns(double bytes) { return bytes * (bytes > cache_bytes ? byte : cached_byte); }

Split split_of_ns(double ns) {
  if (ns < 2 * part_ns) return {};
  if (Crew::get().size() == 1) return {};
  return {static_cast<std::int64_t>(std::min(ns / part_ns, most_parts)), run_parts, Crew::get().size()};
}

bool is_half(Type type) { return type == Type::float16 || type == Type::bfloat16; }
bool is_integer(Type type) { return type < Type::float16; }

/// The arithmetic of one element.
double op_ns(ElementwiseOp op, Type type) {
  double ns = 0.05;
  switch (op) {
    case ElementwiseOp::div:
    case ElementwiseOp::sqrt:
    case ElementwiseOp::rsqrt: ns = 0.2; break;
    case ElementwiseOp::clamp: ns = 1; break;
    case ElementwiseOp::exp:
    case ElementwiseOp::log:
    case ElementwiseOp::sin:
    case ElementwiseOp::cos:
    case ElementwiseOp::sigmoid:
    case ElementwiseOp::silu: ns = 2.5; break;
    case ElementwiseOp::pow:
    case ElementwiseOp::log1p:
    case ElementwiseOp::expm1: ns = 6; break;
    case ElementwiseOp::floor_divide:
    case ElementwiseOp::remainder: ns = is_integer(type) ? 2 : 6; break;
    case ElementwiseOp::tanh:
    case ElementwiseOp::erf:
    case ElementwiseOp::gelu: ns = 9; break;
    default: break;
  }
  if (is_half(type)) return ns + (ns < 1 ? 0.2 : 2);
  return type == Type::float64 ? ns * 2 : ns;
}

/// What a draw's threads do once for all of their numbers, and each number.
double draws_ns(kernels::Distribution distribution, Type type, std::int64_t size, int grid) {
  const std::int64_t threads = static_cast<std::int64_t>(grid) * kernels::random_block;
  const int count = kernels::numbers_per_draw(distribution, type);
  const double calls = static_cast<double>(size <= threads ? size : size / count);
  return calls * 4.2 + static_cast<double>(size) * (type == Type::float64 ? 2.5 : 1.2);
}

/// A chunk's elements along rows; across them where rows lie side by side, which takes about twice as long.
double element_ns(kernels::ReduceOp op) {
  switch (op) {
    case kernels::ReduceOp::argmin:
    case kernels::ReduceOp::argmax: return 1;
    case kernels::ReduceOp::var: return 0.4;
    case kernels::ReduceOp::logsumexp: return 2.8;
    case kernels::ReduceOp::softmax: return 2.6;
    default: return 0.2;
  }
}

constexpr double row_ns = 15;
constexpr double taken_ns = 1.5;
constexpr double moved_ns = 0.1;

/// Of each of an expression's positions, or each of its rows.
double instruction_ns(const jit::Expression& expression, const jit::Instruction& instruction) {
  using Kind = jit::Instruction::Kind;
  switch (instruction.kind) {
    case Kind::op: return op_ns(instruction.op, instruction.in_type);
    case Kind::take: return taken_ns;
    case Kind::choose: return moved_ns;
    case Kind::load:
      return expression.inputs[static_cast<std::size_t>(instruction.number)].wraps.empty() ? 0 : moved_ns;
    default: return 0;
  }
}

double expression_ns(const jit::Expression& expression) {
  const auto size = static_cast<double>(expression.size);
  const double rows = expression.has_rows() ? static_cast<double>(expression.rows()) : 0;
  const jit::RowPlan plan(expression);
  double ns = 0;
  for (std::size_t i = 0; i < expression.code.size(); ++i) {
    const jit::Instruction& instruction = expression.code[i];
    if (instruction.kind == jit::Instruction::Kind::reduce) {
      const auto& reduction = expression.reductions[static_cast<std::size_t>(instruction.number)];
      ns += size * element_ns(reduction.op) + rows * row_ns;
    } else {
      ns += (plan.is_of_rows[i] && rows != 0 ? rows : size) * instruction_ns(expression, instruction);
    }
  }
  for (const jit::Draw& draw : expression.draws) {
    ns += draws_ns(draw.distribution, draw.type, expression.size, expression.grid);
  }
  double bytes = 0;
  for (std::size_t i = 0; i < expression.arrays(); ++i) {
    const jit::Layout& array = expression.layout(i);
    const double elements = array.is_single ? 1 : expression.is_of_rows(array) ? rows : size;
    bytes += elements * static_cast<double>(element_size(array.type));
  }
  return ns + memory_ns(bytes);
}

}  // namespace

Split split_of(const runtime::ElementwiseCommand& command) {
  const kernels::ElementwiseArgs& args = command.args;
  if (args.size < least_size) return {};
  const auto size = static_cast<double>(args.size);
  double bytes = size * static_cast<double>(element_size(args.out_type));
  for (int k = 0; k < args.input_count; ++k) {
    if (command.in_access[static_cast<std::size_t>(k)] < 0) continue;
    bytes += size * static_cast<double>(element_size(kernels::input_type(args, k)));
  }
  double ns = size * op_ns(args.op, args.in_type) + memory_ns(bytes);
  if (!args.contiguous) {  // other steps than 1, and the walk from row to row
    ns += size * 0.4 + size / static_cast<double>(args.extents[args.ndim - 1]) * 5;
  }
  return split_of_ns(ns);
}

Split split_of(const runtime::ReduceCommand& command) {
  const kernels::ReduceArgs& args = command.args;
  const std::int64_t size = args.rows * args.n;
  if (size < least_size) return {};
  return split_of_ns(static_cast<double>(size) * element_ns(args.op) + static_cast<double>(args.rows) * row_ns +
                     memory_ns(static_cast<double>(size * element_size(args.in_type))));
}

Split split_of(const runtime::MoveCommand& command) {
  const kernels::MoveArgs& args = command.args;
  if (args.size < least_size) return {};
  const auto size = static_cast<double>(args.size);
  const double bytes =
      size * static_cast<double>(element_size(args.type)) * (args.op == kernels::MoveOp::gather ? 2 : 1);
  return split_of_ns(size * (args.has_indices ? taken_ns : moved_ns) + memory_ns(bytes));
}

Split split_of(const runtime::RandomCommand& command) {
  const kernels::RandomArgs& args = command.args;
  if (args.size < least_size) return {};
  return split_of_ns(draws_ns(args.distribution, args.type, args.size, args.grid) +
                     memory_ns(static_cast<double>(args.size * element_size(args.type))));
}

double estimated_ns(const runtime::FusedCommand& command) {
  double ns = expression_ns(*command.expression);
  for (const auto& part : command.further) ns += expression_ns(*part);
  return ns;
}

Split split_of(const runtime::FusedCommand& command) { return split_of_ns(estimated_ns(command)); }

Split split_of_copy(std::int64_t bytes) { return split_of_ns(memory_ns(2 * static_cast<double>(bytes))); }

}  // namespace refrain::host
