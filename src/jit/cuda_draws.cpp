#include "jit/cuda_draws.hpp"

#include "jit/cuda_text.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>

namespace refrain::jit {

namespace {

const char* distribution_name(kernels::Distribution distribution) {
  constexpr const char* names[] = {"uniform", "normal", "bernoulli", "exponential", "randint32", "randint64"};
  return names[static_cast<int>(distribution)];
}

/// Of the sums, which that instruction is. Several may be of one reduction.
std::ptrdiff_t sum_number(const Expression& expression, std::size_t instruction) {
  return std::count_if(expression.code.begin(), expression.code.begin() + static_cast<std::ptrdiff_t>(instruction),
                       [](const Instruction& each) { return each.kind == Instruction::Kind::reduce; });
}

/// What a thread adds up in: of truths it has less than 2^32.
const char* sum_type(const Instruction& reduction) { return reduction.in_type == kernels::Type::bool_ ? "u32" : "u64"; }

}  // namespace

void write_counters(std::ostream& text, const Expression& expression) {
  std::ostringstream stores;
  for (std::size_t i = 0; i < expression.draws.size(); ++i) {
    const Draw& draw = expression.draws[i];
    const std::string k = std::to_string(i);
    const std::string type = stored_name(draw.type);
    const std::string drawn =
        draw.is_unit ? "UniformDraw<" + type + ", ToUnit<" + type + ">>"
                     : "Draw<Distribution::" + std::string(distribution_name(draw.distribution)) + ", " + type + ">";
    text << "  using D" << k << " = " << drawn << ";\n  const RandomArgs& a" << k << " = args.draws[" << k
         << "];\n  const D" << k << " of" << k << "(a" << k << ");\n";
    if (draw.same_as >= 0) {
      text << "  const u64 seed" << k << " = seed" << draw.same_as << ";\n  const u64 offset" << k << " = offset"
           << draw.same_as << " + (a" << k << ".offset - a" << draw.same_as << ".offset);\n";
    } else if (draw.is_counted) {
      text << "  const u64 seed" << k << " = a" << k << ".counter_cells[0];\n  const u64 offset" << k << " = a" << k
           << ".counters[blockIdx.x];\n  const u64 next" << k << " = offset" << k << " + a" << k
           << ".counter_cells[1];\n";
      stores << "    a" << k << ".counters[blockIdx.x] = next" << k << ";\n";
    } else {
      text << "  const u64 seed" << k << " = a" << k << ".seed;\n  const u64 offset" << k << " = a" << k
           << ".offset;\n";
    }
  }
  if (stores.str().empty()) return;
  text << "  __syncthreads();\n  if (threadIdx.x == 0) {\n" << stores.str() << "  }\n";
}

void write_sum_types(std::ostream& text, const Expression& expression) {
  text << "struct Sums {\n";
  for (std::size_t i = 0; i < expression.code.size(); ++i) {
    if (expression.code[i].kind != Instruction::Kind::reduce) continue;
    text << "  " << sum_type(expression.code[i]) << " of" << sum_number(expression, i) << ";\n";
  }
  text << "};\n";
}

std::string sum_text(const Expression& expression, std::size_t number, const std::string& value) {
  const Instruction& reduction = expression.code[number];
  return "sums.of" + std::to_string(sum_number(expression, number)) + " += static_cast<" + sum_type(reduction) +
         ">(Convert<i64, " + type_name(reduction.in_type) + ">::apply(" + value + "))";
}

void write_sums(std::ostream& text, const Expression& expression) {
  for (std::size_t i = 0; i < expression.outputs.size(); ++i) {
    if (!expression.is_sum(i)) continue;
    const auto sum = sum_number(expression, static_cast<std::size_t>(expression.results[i]));
    text << "  {\n    u64* const parts = static_cast<u64*>(args.arrays[" << i
         << "]);\n    const u64 own = block_sum(sums.of" << sum
         << ");\n    if (threadIdx.x == 0) parts[blockIdx.x] = own;\n"
            "    for (i64 i = gridDim.x + thread; i < args.parts; i += threads) parts[i] = 0;\n  }\n";
  }
}

}  // namespace refrain::jit
