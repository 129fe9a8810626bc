#include "jit/cuda_rows.hpp"

#include "jit/cuda_folds.hpp"
#include "jit/cuda_moves.hpp"
#include "jit/cuda_row_moves.hpp"
#include "jit/cuda_text.hpp"
#include "jit/rows.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace refrain::jit {

using kernels::element_size;
using kernels::ReduceOp;
using kernels::Type;
using Kind = Instruction::Kind;

namespace {

constexpr int warp = 32;
constexpr int block = 256;
constexpr int elements_a_turn = 4;
constexpr int access_bytes = 16;
/// Rows that a warp each are enough for: fewer are done by a block each, as long as a block has something to do.
constexpr std::int64_t many_rows = 256;
constexpr std::int64_t short_row = 128;
/// 4096 rows of 1024 float32 normalised: 12.4 us by blocks of 4 rows, 13.1 by blocks of 8.
constexpr int most_rows_a_block = 4;
/// Threads of a multiprocessor, so many at least, for loads to be under way while others compute: 128 registers each.
constexpr int most_threads = 512;
/// So many blocks that no multiprocessor is idle, of the devices there are.
constexpr std::int64_t enough_blocks = 264;

/// How rows are laid out over threads.
struct RowShape {
  explicit RowShape(const Expression& expression) {
    const std::int64_t n = expression.row_length();
    const std::int64_t rows = expression.rows();
    if (n <= kernels::reduce_lanes && (rows >= many_rows || n <= short_row)) {
      threads = warp;
      while (rows_a_block < most_rows_a_block && rows / rows_a_block > enough_blocks) rows_a_block *= 2;
    } else {
      while (blocks * kernels::reduce_chunk < n) blocks *= 2;
    }
    const std::int64_t a_turn = threads * elements_a_turn;
    turns = blocks > 1 ? static_cast<int>(kernels::reduce_chunk / a_turn) : static_cast<int>((n - 1) / a_turn + 1);
    is_whole = n == blocks * turns * a_turn;
  }

  int threads = block;    ///< of a row, in a block
  int blocks = 1;         ///< of a row: a cluster
  int rows_a_block = 1;   ///< a warp each
  int turns = 1;          ///< vectors that a thread has of a row
  bool is_whole = false;  ///< no thread has less

  bool is_warp() const noexcept { return threads == warp; }
  int block_size() const noexcept { return threads * rows_a_block; }
};

std::string number(std::size_t i) { return std::to_string(i); }

/// Writes a kernel's text.
class RowWriter {
 public:
  explicit RowWriter(const Expression& expression) : e_(expression), plan_(expression), shape_(expression) {}

  std::string source() {
    write_parameters();
    write_beginning();
    write_loads();
    for (int phase = 0; phase < plan_.phases; ++phase) write_phase(phase);
    write_row_stores();
    text_ << "}\n";
    return text_.str();
  }

 private:
  std::size_t arrays() const { return e_.arrays(); }
  const Layout& layout(std::size_t array) const { return e_.layout(array); }
  int row_axis() const { return e_.row_axis(); }
  int last_axis() const { return e_.ndim - 1; }

  /// Whether what a load reads is no line, so that each element has code of its own.
  bool is_placed(std::size_t i) const {
    if (e_.code[i].kind != Kind::load || plan_.is_of_rows[i]) return false;
    return !is_line(e_, e_.inputs[static_cast<std::size_t>(e_.code[i].number)]);
  }
  bool is_computed(std::size_t i) const {
    const Kind kind = e_.code[i].kind;
    return kind == Kind::op || kind == Kind::take || kind == Kind::choose || is_placed(i);
  }

  void write_parameters() {
    text_ << "#include \"kernels/dependency.hpp\"\n#include \"kernels/elementwise.hpp\"\n#include "
             "\"kernels/reduce_fused.cuh\"\n"
             "using namespace refrain::kernels;\n";
    if (has_moves()) write_row_positions(text_, e_);
    text_ << "struct Args {\n  i64 rows;\n  i64 vectors;\n  void* arrays[" << arrays() << "];\n";
    if (!e_.scalars.empty()) text_ << "  u64 scalars[" << e_.scalars.size() << "];\n";
    text_ << "  double divisors[" << e_.reductions.size() << "];\n  i64 extents[" << e_.ndim << "];\n  i64 strides["
          << arrays() << "][" << e_.ndim << "];\n";
    write_move_members(text_, e_);
    text_ << "};\n";
  }

  bool has_moves() const { return e_.is_moved() || has_row_positions(e_); }

  void write_beginning() {
    text_ << "extern \"C\" __global__ void __launch_bounds__(" << shape_.block_size() << ", "
          << most_threads / shape_.block_size() << ") ";
    if (shape_.blocks > 1) text_ << "__cluster_dims__(" << shape_.blocks << ", 1, 1) ";
    text_ << "fused_kernel(const __grid_constant__ Args args) {\n";
    text_ << "  wait_for_dependency();\n";
    if (shape_.blocks > 1) text_ << "  arrive_at_cluster();\n";
    if (shape_.is_warp()) {
      text_ << "  const i64 row = static_cast<i64>(blockIdx.x) * " << shape_.rows_a_block
            << " + threadIdx.x / 32;\n  if (row >= args.rows) return;\n"
               "  const int thread = static_cast<int>(threadIdx.x) % 32;\n  const i64 begin = 0;\n";
    } else {
      text_ << "  const i64 row = blockIdx.x / " << shape_.blocks
            << ";\n  const int thread = static_cast<int>(threadIdx.x);\n  const i64 begin = blockIdx.x % "
            << shape_.blocks << " * reduce_chunk;\n";
    }
    text_ << "  const i64 left = "
          << (e_.row_ndim > 1 ? std::to_string(e_.row_length()) : "args.extents[" + std::to_string(row_axis()) + "]")
          << " - begin;\n  const RowSpot spot{thread, static_cast<int>(left < 0 ? 0 : left < reduce_chunk ? left : "
             "reduce_chunk), args.vectors != 0};\n";
    for (int axis = row_axis() - 1; axis >= 0; --axis) {
      const std::string rest = axis == row_axis() - 1 ? "row" : "outer" + std::to_string(axis + 1);
      if (axis > 0) {
        text_ << "  const i64 outer" << axis << " = divide(" << rest << ", args.extents[" << axis
              << "]);\n  const i64 i" << axis << " = " << rest << " - outer" << axis << " * args.extents[" << axis
              << "];\n";
      } else {
        text_ << "  const i64 i0 = " << rest << ";\n";
      }
    }
    for (std::size_t i = 0; i < arrays(); ++i) write_row_beginning(i);
  }

  /// Where the block's part of an array's row begins, or of one that is no line the row.
  void write_row_beginning(std::size_t i) {
    text_ << "  const i64 o" << i << " = "
          << (is_line(e_, layout(i)) ? "begin * args.strides[" + number(i) + "][" + std::to_string(last_axis()) + "]"
                                     : "0");
    for (int axis = 0; axis < row_axis(); ++axis) {
      text_ << " + i" << axis << " * args.strides[" << i << "][" << axis << "]";
    }
    if (i >= e_.outputs.size()) {
      const std::string wraps = outer_wraps_text(e_, layout(i), i - e_.outputs.size());
      if (!wraps.empty()) text_ << " + " << wraps;
    }
    text_ << ";\n";
  }

  /// `load_row`, `load_turn` or `store_turn` of an array.
  std::string access(const char* function, std::size_t array, const std::string& values) const {
    const Layout& of = layout(array);
    const bool is_dense = of.strides[last_axis()] == 1;
    return std::string(function) + "<" + std::to_string(shape_.threads) + ", " + (shape_.is_whole ? "true" : "false") +
           ", " + (is_dense ? "true" : "false") + ">(static_cast<" + (array < e_.outputs.size() ? "" : "const ") +
           stored_name(of.type) + "*>(args.arrays[" + number(array) + "]) + o" + number(array) + ", args.strides[" +
           number(array) + "][" + std::to_string(last_axis()) + "], spot, " + values + ");\n";
  }

  void write_loads() {
    for (std::size_t i = 0; i < e_.scalars.size(); ++i) {
      const char* const type = stored_name(e_.scalars[i]);
      text_ << "  const " << type << " s" << i << " = from_bits<" << type << ">(args.scalars[" << i << "]);\n";
    }
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind == Kind::load && !is_placed(i) && !is_late(i)) write_load(i);
    }
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (is_computed(i) && plan_.is_kept[i])
        text_ << "  " << stored_name(e_.code[i].type) << " k" << i << declared() << ";\n";
    }
  }

  /// Whether a load is put off until the last phase, which alone needs it: all rows have the same elements, which are
  /// near, and would take up registers until then.
  bool is_late(std::size_t i) const {
    if (row_axis() == 0 || plan_.is_of_rows[i] || plan_.computed_in[i] + 1 < plan_.phases) return false;
    const Layout& of = e_.inputs[static_cast<std::size_t>(e_.code[i].number)];
    return of.wraps.empty() &&
           std::all_of(of.strides, of.strides + row_axis(), [](std::int64_t stride) { return stride == 0; });
  }

  void write_load(std::size_t i) {
    const auto input = static_cast<std::size_t>(e_.code[i].number);
    const std::size_t array = e_.outputs.size() + input;
    const std::string type = stored_name(e_.inputs[input].type);
    if (plan_.is_of_rows[i]) {
      const int window = e_.inputs[input].window;
      text_ << "  const " << type << " x" << input << " = " << (window < 0 ? "" : window_text(e_, window, "") + " ? ")
            << element_at(array) << (window < 0 ? "" : " : from_bits<" + type + ">(0)") << ";\n";
    } else {
      text_ << "  " << type << " x" << input << declared() << ";\n  " << access("load_row", array, "x" + number(input));
    }
  }

  /// The element where a row of an input begins, or that `further` from there.
  std::string element_at(std::size_t array, const std::string& further = {}) const {
    return "static_cast<const " + std::string(stored_name(layout(array).type)) + "*>(args.arrays[" + number(array) +
           "])[o" + number(array) + (further.empty() ? "" : " + " + further) + "]";
  }

  std::string declared() const {
    return "[" + std::to_string(shape_.turns) + "][" + std::to_string(elements_a_turn) + "]";
  }

  /// A value's text; in a loop over elements, `k` and `j` count them.
  std::string value(std::size_t i, int phase) const {
    const Instruction& instruction = e_.code[i];
    const std::string own = std::to_string(instruction.number);
    if (instruction.kind == Kind::scalar) return "s" + own;
    if (instruction.kind == Kind::load && !is_placed(i)) {
      return "x" + own + (plan_.is_of_rows[i] ? "" : is_late(i) ? "[j]" : "[k][j]");
    }
    const bool is_from_before = !plan_.is_of_rows[i] && plan_.computed_in[i] < phase;
    return is_from_before ? "k" + number(i) + "[k][j]" : "v" + number(i);
  }

  void write_value(std::size_t i, int phase, const char* indent) {
    text_ << indent << "const " << stored_name(e_.code[i].type) << " v" << i << " = " << value_text(i, phase) << ";\n";
  }

  std::string value_text(std::size_t i, int phase) const {
    const Instruction& instruction = e_.code[i];
    const auto operand = [&](int k) { return value(static_cast<std::size_t>(instruction.operands[k]), phase); };
    if (instruction.kind == Kind::op) return op_text(instruction, operand);
    if (instruction.kind == Kind::choose) {
      return window_text(e_, instruction.number, "") + " ? " + operand(0) + " : " + operand(1);
    }
    const auto input = static_cast<std::size_t>(instruction.number);
    const std::size_t array = e_.outputs.size() + input;
    const Layout& of = e_.inputs[input];
    const std::string further = plan_.is_of_rows[i] ? "0" : in_row_text(e_, of, array, input);
    // What is not there is not read.
    std::string condition = shape_.is_whole || plan_.is_of_rows[i] ? "" : "is_in";
    if (of.window >= 0) condition += (condition.empty() ? "" : " && ") + window_text(e_, of.window, "");
    const std::string read = instruction.kind == Kind::load
                                 ? element_at(array, further)
                                 : "take<" + std::to_string(of.taken->ndim) + ">(args.t" + number(input) + ", &" +
                                       element_at(array, further) + ", " + operand(0) + ")";
    if (condition.empty()) return read;
    return condition + " ? " + read + " : from_bits<" + stored_name(instruction.type) + ">(0)";
  }

  /// Of element [k][j].
  void write_position() {
    if (!shape_.is_whole) {
      text_ << "      const bool is_in = (k * " << shape_.threads << " + spot.thread) * " << elements_a_turn
            << " + j < spot.count;\n";
    }
    if (!has_row_positions(e_)) return;
    write_row_index(text_, e_,
                    "static_cast<u32>(begin) + static_cast<u32>((k * " + std::to_string(shape_.threads) +
                        " + spot.thread) * " + std::to_string(elements_a_turn) + " + j)");
  }

  void write_phase(int phase) {
    std::vector<std::size_t> reduced;
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      const bool is_here = plan_.computed_in[i] == phase;
      if (is_computed(i) && plan_.is_of_rows[i] && is_here) write_value(i, phase, "  ");
      if (e_.code[i].kind == Kind::reduce && plan_.computed_in[i] == phase + 1) reduced.push_back(i);
    }
    for (const std::size_t i : reduced) write_fold(i, phase);
    if (!reduced.empty()) write_elements(phase, reduced);
    for (const std::size_t i : reduced) write_result(i);
    if (phase + 1 == plan_.phases) write_last_elements();
  }

  const Reduction& reduction(std::size_t i) const { return e_.reductions[static_cast<std::size_t>(e_.code[i].number)]; }

  void write_fold(std::size_t i, int phase) {
    const Reduction& of = reduction(i);
    const auto type = [](Type t) { return "static_cast<Type>(" + std::to_string(static_cast<int>(t)) + ")"; };
    text_ << "  ReduceArgs a" << i << "{};\n  a" << i << ".op = ReduceOp::" << reduce_name(of.op) << ";\n  a" << i
          << ".in_type = " << type(of.in_type) << ";\n  a" << i << ".acc_type = " << type(of.acc_type) << ";\n  a" << i
          << ".out_type = " << type(of.out_type) << ";\n  a" << i << ".root = " << (of.root ? "true" : "false")
          << ";\n  a" << i << ".chunks = 1;\n  a" << i
          << ".divisor = " << (of.divisor == 1 ? "1" : "args.divisors[" + std::to_string(e_.code[i].number) + "]")
          << ";\n  using F" << i << " = " << fold_name(of) << ";\n  const F" << i << " f" << i << "(a" << i;
    if (of.op == ReduceOp::var) text_ << ", " << value(static_cast<std::size_t>(e_.code[i].operands[1]), phase);
    text_ << ");\n  F" << i << "::Acc l" << i << "[" << elements_a_turn << "];\n";
  }

  /// All that a thread's elements have to do with the phase. A warp's turns are lanes of their own; a block's are later
  /// elements of the same ones.
  void write_elements(int phase, const std::vector<std::size_t>& reduced) {
    text_ << "#pragma unroll\n  for (int j = 0; j < " << elements_a_turn << "; ++j) {\n";
    for (const std::size_t i : reduced) {
      if (shape_.is_warp()) {
        text_ << "    F" << i << "::Acc p" << i << "[" << shape_.turns << "];\n";
      } else {
        text_ << "    l" << i << "[j] = F" << i << "::identity();\n";
      }
    }
    text_ << "#pragma unroll\n    for (int k = 0; k < " << shape_.turns << "; ++k) {\n";
    write_position();
    write_element_ops(phase);
    for (const std::size_t i : reduced) {
      const std::string name = std::to_string(i);
      const std::string lane = shape_.is_warp() ? "p" + name + "[k]" : "l" + name + "[j]";
      const std::string before = shape_.is_warp() ? "F" + name + "::identity()" : lane;
      const std::string element =
          element_text(reduction(i), value(static_cast<std::size_t>(e_.code[i].operands[0]), phase));
      const std::string taken = shape_.is_warp() ? "lane_of(f" + name + ", " + element + ")"
                                                 : "f" + name + ".take(" + lane + ", " + element + ", 0)";
      text_ << "      " << lane << " = " << (shape_.is_whole ? taken : "is_in ? " + taken + " : " + before) << ";\n";
    }
    text_ << "    }\n";
    for (const std::size_t i : reduced) {
      if (shape_.is_warp()) text_ << "    l" << i << "[j] = combine_turns(f" << i << ", p" << i << ");\n";
    }
    text_ << "  }\n";
  }

  void write_element_ops(int phase) {
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (!is_computed(i) || plan_.is_of_rows[i] || plan_.computed_in[i] != phase) continue;
      write_value(i, phase, "      ");
      if (plan_.is_kept[i]) text_ << "      k" << i << "[k][j] = v" << i << ";\n";
    }
  }

  /// What is written, turn by turn, so that little is in registers at a time: every thread writes no elements but those
  /// that it alone reads.
  void write_last_elements() {
    const int phase = plan_.phases - 1;
    std::vector<std::size_t> outputs;
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_of_rows(e_.outputs[i])) outputs.push_back(i);
    }
    if (outputs.empty()) return;
    text_ << "#pragma unroll\n  for (int k = 0; k < " << shape_.turns << "; ++k) {\n";
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind != Kind::load || is_placed(i) || !is_late(i)) continue;
      const auto input = static_cast<std::size_t>(e_.code[i].number);
      text_ << "    " << stored_name(e_.inputs[input].type) << " x" << input << "[" << elements_a_turn << "];\n    "
            << access("load_turn", e_.outputs.size() + input, "k, x" + number(input));
    }
    for (const std::size_t i : outputs) {
      text_ << "    " << stored_name(e_.outputs[i].type) << " y" << i << "[" << elements_a_turn << "];\n";
    }
    text_ << "#pragma unroll\n    for (int j = 0; j < " << elements_a_turn << "; ++j) {\n";
    if (has_moves()) write_position();
    write_element_ops(phase);
    for (const std::size_t i : outputs) {
      const std::string result = value(static_cast<std::size_t>(e_.results[i]), phase);
      if (is_line(e_, e_.outputs[i])) {
        text_ << "      y" << i << "[j] = " << result << ";\n";
      } else {
        text_ << "      " << (shape_.is_whole ? "" : "if (is_in) ") << "static_cast<" << stored_name(e_.outputs[i].type)
              << "*>(args.arrays[" << i << "])[o" << i << " + " << in_row_text(e_, e_.outputs[i], i, 0)
              << "] = " << result << ";\n";
      }
    }
    text_ << "    }\n";
    for (const std::size_t i : outputs) {
      if (is_line(e_, e_.outputs[i])) text_ << "    " << access("store_turn", i, "k, y" + number(i));
    }
    text_ << "  }\n";
  }

  void write_result(std::size_t i) {
    has_reduced_ = true;
    text_ << "  F" << i << "::Acc r" << i << " = ";
    if (shape_.is_warp()) {
      text_ << "settled(f" << i << ", combine_warp(f" << i << ", l" << i << "));\n";
    } else if (shape_.blocks == 1) {
      text_ << "combine_block(f" << i << ", l" << i << ");\n";
    } else {
      text_ << "combine_block(f" << i << ", l" << i << ");\n  __shared__ u64 c" << i << "[" << shape_.blocks << "];\n";
      if (!has_waited_) text_ << "  wait_for_cluster();\n";
      has_waited_ = true;
      text_ << "  r" << i << " = combine_cluster<" << shape_.blocks << ">(f" << i << ", r" << i << ", c" << i << ");\n";
    }
    const char* const type = stored_name(e_.code[i].type);
    text_ << "  const " << type << " v" << i << " = stored_result<" << type << ">(f" << i << ", a" << i << ", r" << i
          << ");\n";
  }

  /// One value a row, at the end, when every thread has read what it reads.
  void write_row_stores() {
    if (!has_reduced_) {  // a reduction, which nobody needs, would have been the barrier
      text_ << (shape_.is_warp() ? "  __syncwarp();\n" : "  __syncthreads();\n");
      if (shape_.blocks > 1) text_ << "  wait_for_cluster();\n  arrive_at_cluster();\n  wait_for_cluster();\n";
    }
    const int last = plan_.phases - 1;
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_of_rows(e_.outputs[i])) continue;
      text_ << "  if (spot.thread == 0 && begin == 0) static_cast<" << stored_name(e_.outputs[i].type)
            << "*>(args.arrays[" << i << "])[o" << i << "] = " << value(static_cast<std::size_t>(e_.results[i]), last)
            << ";\n";
    }
  }

  const Expression& e_;
  const RowPlan plan_;
  const RowShape shape_;
  bool has_waited_ = false;
  bool has_reduced_ = false;
  std::ostringstream text_;
};

/// Whether vectors of an array's elements can be read or written wherever a row begins.
bool has_vectors(const Expression& expression, const Layout& layout, const void* address) {
  if (layout.strides[expression.ndim - 1] != 1 || !is_line(expression, layout)) return true;  // none are tried
  const auto aligned_to =
      static_cast<std::uintptr_t>(std::min<std::int64_t>(elements_a_turn * element_size(layout.type), access_bytes));
  bool all = reinterpret_cast<std::uintptr_t>(address) % aligned_to == 0;
  for (int axis = 0; axis < expression.row_axis(); ++axis) all = all && layout.strides[axis] % elements_a_turn == 0;
  for (const Wrap& wrap : layout.wraps) all = all && wrap.stride % elements_a_turn == 0;
  return all;
}

}  // namespace

std::string rows_source(const Expression& expression) { return RowWriter(expression).source(); }

CudaLaunch rows_launch(const Expression& expression, void* const* addresses, std::span<const kernels::Value> scalars) {
  const std::size_t arrays = expression.arrays();
  bool vectors = expression.row_length() % elements_a_turn == 0;
  for (std::size_t i = 0; i < arrays; ++i)
    vectors = vectors && has_vectors(expression, expression.layout(i), addresses[i]);
  ParameterBlock parameters;
  parameters.add(expression.rows());
  parameters.add(std::int64_t{vectors});
  for (std::size_t i = 0; i < arrays; ++i) parameters.add(addresses[i]);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    parameters.add(kernels::scalar_bits(expression.scalars[i], scalars[i]));
  }
  for (const Reduction& reduction : expression.reductions) parameters.add(reduction.divisor);
  for (int axis = 0; axis < expression.ndim; ++axis) parameters.add(expression.extents[axis]);
  for (std::size_t i = 0; i < arrays; ++i) {
    for (int axis = 0; axis < expression.ndim; ++axis) parameters.add(expression.layout(i).strides[axis]);
  }
  for (const std::int64_t number : move_members(expression, addresses + expression.outputs.size(), 1)) parameters.add(number);
  const RowShape shape(expression);
  CudaLaunch launch;
  launch.grid = ((expression.rows() - 1) / shape.rows_a_block + 1) * shape.blocks;
  launch.block = shape.block_size();
  launch.parameters = std::move(parameters.all);
  return launch;
}

}  // namespace refrain::jit
