#include "jit/cuda_source.hpp"

#include "jit/cuda_draws.hpp"
#include "jit/cuda_last.hpp"
#include "jit/cuda_moves.hpp"
#include "jit/cuda_rows.hpp"
#include "jit/cuda_text.hpp"
#include "jit/odd.hpp"
#include "jit/repeats.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>

namespace refrain::jit {

using kernels::Type;

namespace {

std::int64_t inner_stride(const Expression& expression, const Layout& layout) {
  return layout.strides[expression.ndim - 1];
}

/// Writes a kernel's text.
class Writer {
 public:
  Writer(const Expression& expression, const LaunchShape& shape, std::size_t parts, const Expression* last,
         bool is_last_early)
      : e_(expression),
        shape_(shape),
        parts_(parts),
        last_(last),
        is_early_(is_last_early && expression.draws.empty()) {
    if (const std::optional<Repeat> repeat = find_repeat(expression)) loop_.emplace(expression, *repeat);
  }

  std::string source() {
    write_parameters();
    if (is_early_) write_singles(text_, e_);
    write_positions();
    if (last_ != nullptr) jit::write_last(text_, *last_, is_early_);
    if (!e_.draws.empty()) {
      write_drawing_kernel();
    } else if (parts_ > 1) {
      write_kernel_of_parts();
    } else {
      write_plain_kernel();
    }
    return with_includes(text_.str());
  }

 private:
  std::size_t arrays() const { return e_.arrays(); }
  const Layout& layout(std::size_t array) const { return e_.layout(array); }
  bool is_strided(std::size_t array) const { return !layout(array).is_dense && !layout(array).is_single; }
  bool is_strided() const {
    for (std::size_t i = 0; i < arrays(); ++i) {
      if (is_strided(i)) return true;
    }
    return !e_.windows.empty();
  }

  /// Whether positions are computed with in 32 bits: only where axes are.
  bool has_narrow_axes() const { return is_strided() && shape_.is_narrow; }

  void write_parameters() {
    text_ << "using namespace refrain::kernels;\n"
             "template <class T, int n> struct alignas(sizeof(T) * n) Vector { T at[n]; };\n";
    write_move_types(text_, e_);
    if (has_narrow_axes()) {
      text_ << "using Index = i32;\nusing Bound = u32;\n"
               "struct Divisor { u32 factor, shift; };\n"
               "__device__ __forceinline__ Index divide_by(Index x, i64, Divisor by) {\n"
               "  return static_cast<Index>((__umulhi(static_cast<u32>(x), by.factor) + static_cast<u32>(x)) >> "
               "by.shift);\n}\n";
    } else {
      text_ << "using Index = i64;\nusing Bound = u64;\n";
      if (is_strided()) {
        text_ << "struct Divisor { u64 none; };\n"
                 "__device__ __forceinline__ Index divide_by(Index x, i64 y, Divisor) { return divide(x, y); }\n";
      }
    }
    text_ << "struct Args {\n  i64 size;\n  i64 vector_end;\n"
          << (e_.has_sums() ? "  i64 parts;\n  i64 full_rounds;\n" : "") << "  void* arrays["
          << std::max<std::size_t>(arrays(), 1) << "];\n";
    if (!e_.scalars.empty()) text_ << "  u64 scalars[" << e_.scalars.size() << "];\n";
    if (is_strided()) {
      text_ << "  i64 extents[" << e_.ndim << "];\n  Divisor divisors[" << e_.ndim << "];\n  i64 strides[" << arrays()
            << "][" << e_.ndim << "];\n";
    }
    write_move_members(text_, e_);
    if (!e_.draws.empty()) text_ << "  RandomArgs draws[" << e_.draws.size() << "];\n";
    text_ << "};\n";
    if (e_.has_sums()) write_sum_types(text_, e_);
  }

  bool is_first(std::size_t input) const { return is_early_ && is_read_first(e_.inputs[input]); }

  /// `run<n>`: n positions from `at` on, in one row where not all arrays are dense.
  void write_positions() {
    text_ << "template <int n> __device__ __forceinline__ void run(const Args& args, Index at";
    for (std::size_t i = 0; i < e_.draws.size(); ++i) text_ << ", " << stored_name(e_.draws[i].type) << " d" << i;
    if (e_.has_sums()) text_ << ", Sums& sums";
    if (is_early_) text_ << ", const Singles& singles";
    text_ << ") {\n";
    write_offsets();
    for (std::size_t i = 0; i < e_.inputs.size(); ++i) write_load(i);
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_sum(i)) text_ << "  Vector<" << stored_name(e_.outputs[i].type) << ", n> y" << i << ";\n";
    }
    loop_ ? write_values_with_a_loop() : write_values();
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_sum(i)) write_store(i);
    }
    text_ << "}\n";
  }

  void write_offsets() {
    if (!is_strided()) return;
    text_ << "  const Index rest" << e_.ndim - 1 << " = at;\n";
    for (int axis = e_.ndim - 1; axis > 0; --axis) {
      const std::string extent = "args.extents[" + std::to_string(axis) + "]";
      text_ << "  const Index rest" << axis - 1 << " = divide_by(rest" << axis << ", " << extent << ", args.divisors["
            << axis << "]);\n  const Index i" << axis << " = rest" << axis << " - rest" << axis - 1
            << " * static_cast<Index>(" << extent << ");\n";
    }
    text_ << "  const Index i0 = rest0;\n";
    for (std::size_t i = 0; i < arrays(); ++i) {
      if (!is_strided(i)) continue;
      text_ << "  const Index o" << i << " = 0";
      for (int axis = 0; axis < e_.ndim; ++axis) {
        const auto& wraps = layout(i).wraps;
        if (std::any_of(wraps.begin(), wraps.end(),
                        [&](const Wrap& wrap) { return wrap.first <= axis && axis <= wrap.last; })) {
          continue;
        }
        text_ << " + i" << axis << " * static_cast<Index>(args.strides[" << i << "][" << axis << "])";
      }
      text_ << ";\n";
    }
  }

  std::string offset(std::size_t array) const {
    return layout(array).is_dense ? "at" : layout(array).is_single ? "0" : "o" + std::to_string(array);
  }

  void write_load(std::size_t input) {
    const std::size_t array = e_.outputs.size() + input;
    const Layout& of = layout(array);
    const std::string type = stored_name(of.type);
    if (of.taken) return;  // read where its index is known
    if (of.window >= 0) {
      write_windowed_load(text_, e_, input, array, type);
      return;
    }
    if (!of.wraps.empty()) {
      write_moved_load(text_, e_, input, array, type);
      return;
    }
    if (is_first(input)) {
      text_ << "  Vector<" << type << ", n> x" << input << ";\n#pragma unroll\n  for (int i = 0; i < n; ++i) x" << input
            << ".at[i] = singles.x" << input << ";\n";
      return;
    }
    text_ << "  Vector<" << type << ", n> x" << input << ";\n  {\n    const " << type
          << "* const first = static_cast<const " << type << "*>(args.arrays[" << array << "]) + " << offset(array)
          << ";\n";
    const std::int64_t stride = inner_stride(e_, of);
    if (of.is_dense || stride == 1) {
      text_ << "    x" << input << " = *reinterpret_cast<const Vector<" << type << ", n>*>(first);\n";
    } else {
      text_ << "#pragma unroll\n    for (int i = 0; i < n; ++i) x" << input << ".at[i] = first["
            << (stride == 0 ? "0"
                            : "i * static_cast<Index>(args.strides[" + std::to_string(array) + "][" +
                                  std::to_string(e_.ndim - 1) + "])")
            << "];\n";
    }
    text_ << "  }\n";
  }

  void write_store(std::size_t output) {
    const Layout& of = layout(output);
    const std::string type = stored_name(of.type);
    text_ << "  {\n    " << type << "* const first = static_cast<" << type << "*>(args.arrays[" << output << "]) + "
          << offset(output) << ";\n";
    if (of.is_dense || inner_stride(e_, of) == 1) {
      text_ << "    *reinterpret_cast<Vector<" << type << ", n>*>(first) = y" << output << ";\n";
    } else {
      text_ << "#pragma unroll\n    for (int i = 0; i < n; ++i) first[i * static_cast<Index>(args.strides[" << output
            << "][" << e_.ndim - 1 << "])] = y" << output << ".at[i];\n";
    }
    text_ << "  }\n";
  }

  void write_values() {
    text_ << "#pragma unroll\n  for (int i = 0; i < n; ++i) {\n";
    for (std::size_t i = 0; i < e_.code.size(); ++i) write_instruction(i);
    write_results();
    text_ << "  }\n";
  }

  void write_results() {
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_sum(i)) text_ << "    y" << i << ".at[i] = " << value(e_.results[i], e_.code.size()) << ";\n";
    }
  }

  /// All positions go through the loop side by side. What one part hands on to a later one, or a turn to the next, is
  /// in arrays.
  void write_values_with_a_loop() {
    const Repeat& repeat = loop_->repeat();
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind == Instruction::Kind::scalar) write_instruction(i);
    }
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (loop_->is_kept(i)) text_ << "  " << stored_name(e_.code[i].type) << " k" << i << "[n];\n";
    }
    const auto write = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto kind = e_.code[i].kind;
        const bool is_at_hand =
            kind == Instruction::Kind::load || kind == Instruction::Kind::scalar || kind == Instruction::Kind::draw;
        if (!is_at_hand) write_instruction(i);
      }
    };
    text_ << "#pragma unroll\n  for (int i = 0; i < n; ++i) {\n";
    write(0, repeat.begin);
    for (std::size_t i = 0; i < repeat.begin + repeat.period; ++i) {
      const bool is_first = i < repeat.begin ? loop_->is_kept(i) : loop_->is_taken_over(i);
      const auto from = static_cast<int>(i < repeat.begin ? i : i - repeat.period);
      if (is_first) text_ << "    k" << i << "[i] = " << value(from, 0) << ";\n";
    }
    text_ << "  }\n#pragma unroll(n > 1 ? " << repeat.unrolled << " : " << repeat.unrolled_alone
          << ")\n  for (int turn = 0; turn < " << repeat.turns
          << "; ++turn) {\n#pragma unroll\n    for (int i = 0; i < n; ++i) {\n";
    write(repeat.begin, repeat.begin + repeat.period);
    for (std::size_t i = repeat.begin; i < repeat.begin + repeat.period; ++i) {
      if (loop_->is_kept(i)) text_ << "    k" << i << "[i] = v" << i << ";\n";
    }
    text_ << "    }\n  }\n#pragma unroll\n  for (int i = 0; i < n; ++i) {\n";
    write(repeat.end(), e_.code.size());
    write_results();
    text_ << "  }\n";
  }

  /// The value of an instruction, as another one or a result names it.
  std::string value(int read, std::size_t reader) const {
    if (loop_) {
      const Instruction& from = e_.code[static_cast<std::size_t>(read)];
      if (const auto kept = loop_->kept(read, reader)) return "k" + std::to_string(*kept) + "[i]";
      if (from.kind == Instruction::Kind::load) return "x" + std::to_string(from.number) + ".at[i]";
      if (from.kind == Instruction::Kind::draw) return "d" + std::to_string(from.number);
    }
    return "v" + std::to_string(read);
  }

  void write_instruction(std::size_t number) {
    const Instruction& instruction = e_.code[number];
    if (instruction.kind == Instruction::Kind::reduce) {
      text_ << "    " << sum_text(e_, number, value(instruction.operands[0], number)) << ";\n";
      return;
    }
    text_ << "    const " << stored_name(instruction.type) << " v" << number << " = ";
    switch (instruction.kind) {
      case Instruction::Kind::load: text_ << "x" << instruction.number << ".at[i]"; break;
      case Instruction::Kind::scalar:
        text_ << from_bits_text(instruction.type, "args.scalars[" + std::to_string(instruction.number) + "]");
        break;
      case Instruction::Kind::draw: text_ << "d" << instruction.number; break;
      case Instruction::Kind::op:
        if (const auto same = loop_ ? std::nullopt : same_of_opposite(e_, number)) {
          text_ << (instruction.type == Type::float32 ? "__fsub_rn(-0.0F, v" : "__dsub_rn(-0.0, v") << *same << ")";
        } else {
          text_ << op_text(instruction, [&](int k) { return value(instruction.operands[k], number); });
        }
        break;
      case Instruction::Kind::reduce: break;  // above
      case Instruction::Kind::choose:
        text_ << window_text(e_, instruction.number) << " ? " << value(instruction.operands[0], number) << " : "
              << value(instruction.operands[1], number);
        break;
      case Instruction::Kind::take:
        text_ << take_text(e_, static_cast<std::size_t>(instruction.number),
                           e_.outputs.size() + static_cast<std::size_t>(instruction.number),
                           stored_name(instruction.type), value(instruction.operands[0], number));
        break;
    }
    text_ << ";\n";
  }

  void write_head(const std::string& type, const std::string& name) {
    if (last_ != nullptr) text_ << "struct Whole {\n  " << type << " own;\n  Last last;\n};\n";
    text_ << "extern \"C\" __global__ void __launch_bounds__(" << LaunchShape::most_threads
          << ") fused_kernel(const __grid_constant__ " << (last_ != nullptr ? "Whole whole" : type + " " + name)
          << ") {\n  wait_for_dependency();\n";
    if (last_ != nullptr) text_ << "  const " << type << "& " << name << " = whole.own;\n";
  }

  void write_end() {
    if (last_ != nullptr) text_ << "  finish(whole.last" << (is_early_ ? ", is_last" : "") << ");\n";
    text_ << "}\n";
  }

  /// As kernels/elementwise.cuh: whole vectors, then single positions. A loop only where a thread may have two turns.
  void write_turns() {
    const int width = shape_.width;
    const auto write = [&](const std::string& first, const std::string& end, const std::string& step, int n) {
      text_ << "  ";
      if (shape_.has_one_turn) {
        text_ << "if (const i64 i = " << first << "; i < " << end << ")";
      } else {
        text_ << "for (i64 i = " << first << "; i < " << end << "; i += " << step << ")";
      }
      text_ << " run<" << n << ">(args, static_cast<Index>(i)" << (is_early_ ? ", singles" : "") << ");\n";
    };
    if (width > 1) {
      const std::string by = " * " + std::to_string(width);
      write("thread" + by, "args.vector_end", "threads" + by, width);
      write("args.vector_end + thread", "args.size", "threads", 1);
    } else {
      write("thread", "args.size", "threads", 1);
    }
  }

  void write_plain_kernel() {
    write_head("Args", "args");
    text_ << "  const i64 thread = blockIdx.x * blockDim.x + threadIdx.x;\n";
    if (!shape_.has_one_turn) text_ << "  const i64 threads = gridDim.x * blockDim.x;\n";
    if (is_early_) write_early_count(text_, e_);
    write_turns();
    write_end();
  }

  /// Parts that have 2^c blocks each lie side by side, c ascending, so that a block finds its own without a search.
  void write_kernel_of_parts() {
    text_ << "struct Parts {\n  i32 first_blocks[" << block_classes << "];\n  i32 first_parts[" << block_classes
          << "];\n  Args parts[" << parts_ << "];\n};\n";
    write_head("Parts", "all");
    text_ << "  const i32 block = blockIdx.x;\n  i32 c = 0;\n#pragma unroll\n  for (int k = 1; k < " << block_classes
          << "; ++k) c += block >= all.first_blocks[k];\n"
             "  const i32 after = block - all.first_blocks[c];\n"
             "  const Args& args = all.parts[all.first_parts[c] + (after >> c)];\n"
             "  const i64 thread = (after & ((1 << c) - 1)) * blockDim.x + threadIdx.x;\n";
    if (!shape_.has_one_turn) text_ << "  const i64 threads = blockDim.x << c;\n";
    if (is_early_) write_early_count(text_, e_);
    write_turns();
    write_end();
  }

  /// As `random_thread`: each thread's numbers lie `threads` apart. Where one number a thread is enough, nothing of the
  /// others is made.
  void write_drawing_kernel() {
    const int numbers = kernels::numbers_per_draw(e_.draws[0].distribution, e_.draws[0].type);
    write_head("Args", "args");
    text_ << "  const i64 thread = blockIdx.x * blockDim.x + threadIdx.x;\n";
    if (!shape_.has_one_turn || e_.has_sums()) text_ << "  const i64 threads = gridDim.x * blockDim.x;\n";
    if (e_.has_sums()) text_ << "  Sums sums{};\n";
    write_counters(text_, e_);
    const auto write_numbers = [&](const char* round) {
      // All words first, so that a draw need not wait for another's numbers.
      for (std::size_t i = 0; i < e_.draws.size(); ++i) {
        text_ << "    const Words w" << i << " = philox(seed" << i << ", static_cast<u64>(thread), offset" << i
              << " / 4" << round << ");\n";
      }
      for (std::size_t i = 0; i < e_.draws.size(); ++i) {
        text_ << "    " << stored_name(e_.draws[i].type) << " n" << i << "[" << numbers << "];\n    of" << i
              << ".make(w" << i << ", n" << i << ");\n";
      }
    };
    const auto write_run = [&](const char* at, const char* number) {
      text_ << "run<1>(args, static_cast<Index>(" << at << ")";
      for (std::size_t i = 0; i < e_.draws.size(); ++i) text_ << ", n" << i << "[" << number << "]";
      text_ << (e_.has_sums() ? ", sums" : "") << ");\n";
    };
    if (shape_.has_one_turn) {
      text_ << "  if (thread < args.size) {\n";
      write_numbers("");
      text_ << "    ";
      write_run("thread", "0");
      text_ << "  }\n";
      write_sums(text_, e_);
      write_end();
      return;
    }
    const auto write_rounds = [&](const std::string& head, const std::string& base, const char* condition) {
      text_ << "  " << head << " {\n" << base;
      write_numbers(" + round");
      text_ << "#pragma unroll\n    for (int k = 0; k < " << numbers
            << "; ++k) {\n      const i64 at = base + k * threads;\n      " << condition;
      write_run("at", "k");
      text_ << "    }\n  }\n";
    };
    const std::string step = "threads * " + std::to_string(numbers);
    if (e_.has_sums()) {
      // Which take so little that checks, and a count of positions, would be a part of it: rounds in which all threads
      // have all their numbers come first, and are counted in 32 bits.
      const std::string base = "    const i64 base = thread + round * " + step + ";\n";
      text_ << "  const u32 rounds = static_cast<u32>(args.full_rounds);\n";
      write_rounds("for (u32 round = 0; round < rounds; ++round)", base, "");
      write_rounds("if (const u32 round = rounds; thread + round * " + step + " < args.size)", base,
                   "if (at < args.size) ");
    } else {
      text_ << "  u64 round = 0;\n";
      write_rounds("for (i64 base = thread; base < args.size; base += " + step + ", ++round)", "",
                   "if (at < args.size) ");
    }
    write_sums(text_, e_);
    write_end();
  }

  const Expression& e_;
  const LaunchShape& shape_;
  const std::size_t parts_;
  const Expression* const last_;
  const bool is_early_;
  std::optional<Loop> loop_;
  std::ostringstream text_;
};

}  // namespace

std::string cuda_source(const Expression& expression, const LaunchShape& shape, std::size_t parts,
                        const Expression* last, bool is_last_early) {
  return expression.has_rows() ? rows_source(expression, shape.most_cluster)
                               : Writer(expression, shape, parts, last, is_last_early).source();
}

}  // namespace refrain::jit
