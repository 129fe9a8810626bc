#include "jit/cuda_last.hpp"

#include "jit/cuda_text.hpp"
#include "jit/rows.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace refrain::jit {

namespace {

using Kind = Instruction::Kind;

bool is_integer_sum(const Reduction& reduction) {
  return reduction.op == kernels::ReduceOp::sum && reduction.acc_type == kernels::Type::int64 &&
         reduction.out_type == kernels::Type::int64 && reduction.divisor == 1 && !reduction.root;
}

/// Writes what is computed, value by value.
class Writer {
 public:
  Writer(std::ostream& text, const Expression& last, bool is_early)
      : text_(text), e_(last), plan_(last), is_early_(is_early) {}

  void write() {
    const bool has_row = e_.has_rows();
    text_ << "struct Last {\n  void* arrays[" << e_.arrays() << "];\n";
    if (!e_.scalars.empty()) text_ << "  u64 scalars[" << e_.scalars.size() << "];\n";
    if (has_row) text_ << "  i64 n;\n  i64 strides[" << e_.arrays() << "];\n";
    text_ << "  u64* blocks;\n};\n";
    is_early_ ? write_early_count() : write_count();
    if (has_row) {
      write_sums();
    } else if (!is_early_) {
      text_ << "  if (threadIdx.x != 0) return;\n";
    }
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (!has_row || (is_of_row(i) && plan_.phase[i] > 0)) write_value(i);
    }
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      text_ << "  *static_cast<" << stored_name(e_.outputs[i].type) << "*>(args.arrays[" << i << "]) = v"
            << e_.results[i] << ";\n";
    }
    text_ << "}\n";
  }

 private:
  /// The block's barrier comes before its count, and the last block's reads after all counts.
  void write_count() {
    text_ << "__device__ __forceinline__ void finish(const Last& args) {\n"
             "  __shared__ bool is_last;\n"
             "  __syncthreads();\n"
             "  if (threadIdx.x == 0) {\n"
             "    __threadfence();\n"
             "    is_last = atomicAdd(args.blocks, u64(1)) + 1 == gridDim.x;\n"
             "    if (is_last) *args.blocks = 0;\n"
             "  }\n"
             "  __syncthreads();\n"
             "  if (!is_last) return;\n"
             "  __threadfence();\n";
  }

  /// Nothing waits for what the block writes, and the answer is there when the block is done.
  void write_early_count() {
    text_ << "__device__ __forceinline__ bool count_block(const Last& args) {\n"
             "  __syncthreads();\n"
             "  if (threadIdx.x != 0) return false;\n"
             "  __threadfence();\n"
             "  return atomicAdd(args.blocks, u64(1)) + 1 == gridDim.x;\n"
             "}\n"
             "__device__ __forceinline__ void finish(const Last& args, bool is_last) {\n"
             "  if (!is_last) return;\n"
             "  __threadfence();\n"
             "  *args.blocks = 0;\n";
  }

  bool is_of_row(std::size_t number) const { return plan_.is_of_rows[number]; }

  /// What all elements have in common, then the sums, each thread's own first.
  void write_sums() {
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (is_of_row(i) && plan_.phase[i] == 0) write_value(i);
      if (e_.code[i].kind == Kind::reduce) text_ << "  u64 sum" << i << " = 0;\n";
    }
    text_ << "  for (i64 i = threadIdx.x; i < args.n; i += blockDim.x) {\n";
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      const Instruction& instruction = e_.code[i];
      if (!is_of_row(i)) write_value(i);
      if (instruction.kind != Kind::reduce) continue;
      text_ << "  sum" << i << " += static_cast<u64>(Convert<i64, " << type_name(instruction.in_type) << ">::apply(v"
            << instruction.operands[0] << "));\n";
    }
    text_ << "  }\n";
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind == Kind::reduce) text_ << "  sum" << i << " = block_sum(sum" << i << ");\n";
    }
    text_ << "  if (threadIdx.x != 0) return;\n";
  }

  void write_value(std::size_t number) {
    const Instruction& instruction = e_.code[number];
    const std::string type = stored_name(instruction.type);
    text_ << "  const " << type << " v" << number << " = ";
    switch (instruction.kind) {
      case Kind::load: {
        const std::string array = std::to_string(e_.outputs.size() + static_cast<std::size_t>(instruction.number));
        text_ << "static_cast<const " << type << "*>(args.arrays[" << array << "])["
              << (e_.has_rows() && !is_of_row(number) ? "i * args.strides[" + array + "]" : "0") << "]";
        break;
      }
      case Kind::scalar: text_ << "from_bits<" << type << ">(args.scalars[" << instruction.number << "])"; break;
      case Kind::reduce: text_ << "static_cast<" << type << ">(sum" << number << ")"; break;
      default: text_ << op_text(instruction, [&](int k) { return "v" + std::to_string(instruction.operands[k]); });
    }
    text_ << ";\n";
  }

  std::ostream& text_;
  const Expression& e_;
  const RowPlan plan_;
  const bool is_early_;
};

}  // namespace

bool can_be_last(const Expression& expression) {
  if (!expression.draws.empty() || expression.is_moved()) return false;
  if (!expression.has_rows()) return expression.size == 1;
  constexpr std::int64_t longest_row = 8192;  // of a block's threads 32 elements each
  if (expression.rows() != 1 || expression.row_length() > longest_row) return false;
  for (std::size_t i = 0; i < expression.arrays(); ++i) {  // whose elements are found by one stride
    if (!is_line(expression, expression.layout(i))) return false;
  }
  if (!std::all_of(expression.reductions.begin(), expression.reductions.end(), is_integer_sum)) return false;
  const RowPlan plan(expression);
  for (std::size_t i = 0; i < expression.code.size(); ++i) {
    const Instruction& instruction = expression.code[i];
    const auto first = static_cast<std::size_t>(std::max(instruction.operands[0], 0));
    const bool is_element = !plan.is_of_rows[i];
    const bool is_late_sum = instruction.kind == Kind::reduce && (plan.is_of_rows[first] || plan.phase[first] > 0);
    if ((is_element && plan.phase[i] > 0) || is_late_sum) return false;
  }
  return std::all_of(expression.results.begin(), expression.results.end(),
                     [&](int result) { return plan.is_of_rows[static_cast<std::size_t>(result)]; });
}

bool is_read_first(const Layout& input) { return input.is_single && !is_elsewhere(input); }

void write_singles(std::ostream& text, const Expression& before) {
  text << "struct Singles {\n";
  for (std::size_t i = 0; i < before.inputs.size(); ++i) {
    if (is_read_first(before.inputs[i])) text << "  " << stored_name(before.inputs[i].type) << " x" << i << ";\n";
  }
  text << "};\n";
}

void write_early_count(std::ostream& text, const Expression& before) {
  text << "  __shared__ alignas(Singles) char shared[sizeof(Singles)];\n"
          "  Singles& singles = reinterpret_cast<Singles&>(shared);\n  if (threadIdx.x == 0) {\n";
  for (std::size_t i = 0; i < before.inputs.size(); ++i) {
    if (!is_read_first(before.inputs[i])) continue;
    text << "    singles.x" << i << " = *static_cast<const " << stored_name(before.inputs[i].type) << "*>(args.arrays["
         << before.outputs.size() + i << "]);\n";
  }
  text << "  }\n  const bool is_last = count_block(whole.last);\n";
}

void write_last(std::ostream& text, const Expression& last, bool is_early) { Writer(text, last, is_early).write(); }

void add_last(CudaLaunch& launch, const Expression& last, void* const* addresses,
              std::span<const kernels::Value> scalars, const void* blocks) {
  ParameterBlock packer;
  for (std::size_t i = 0; i < last.arrays(); ++i) packer.add(addresses[i]);
  for (std::size_t i = 0; i < scalars.size(); ++i) packer.add(kernels::scalar_bits(last.scalars[i], scalars[i]));
  if (last.has_rows()) {
    packer.add(last.row_length());
    for (std::size_t i = 0; i < last.arrays(); ++i) packer.add(last.layout(i).strides[last.ndim - 1]);
  }
  packer.add(blocks);
  launch.parameters.insert(launch.parameters.end(), packer.all.begin(), packer.all.end());
}

}  // namespace refrain::jit
