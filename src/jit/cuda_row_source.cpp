#include "jit/cuda_folds.hpp"
#include "jit/cuda_moves.hpp"
#include "jit/cuda_row_cluster.hpp"
#include "jit/cuda_row_moves.hpp"
#include "jit/cuda_row_shape.hpp"
#include "jit/cuda_rows.hpp"
#include "jit/cuda_text.hpp"
#include "jit/rows.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <sstream>
#include <vector>

// The text of kernels with rows.

namespace refrain::jit {

using Kind = Instruction::Kind;

namespace {

std::string number(std::size_t i) { return std::to_string(i); }

/// Writes a kernel's text.
class RowWriter {
 public:
  RowWriter(const Expression& expression, int most_blocks)
      : e_(expression), plan_(expression), shape_(expression, most_blocks) {}

  std::string source() {
    write_parameters();
    write_beginning();
    write_loads();
    for (int phase = 0; phase < plan_.phases; ++phase) write_phase(phase);
    write_row_stores();
    text_ << "}\n";
    write_kernel();
    return text_.str();
  }

 private:
  std::size_t arrays() const { return e_.arrays(); }
  const Layout& layout(std::size_t array) const { return e_.layout(array); }
  int row_axis() const { return e_.row_axis(); }
  int last_axis() const { return e_.ndim - 1; }

  bool is_placed(std::size_t i) const { return jit::is_placed(e_, plan_, i); }
  bool is_late(std::size_t i) const { return jit::is_late(e_, plan_, i); }
  bool is_computed(std::size_t i) const { return jit::is_computed(e_, plan_, i); }

  void write_parameters() {
    text_ << "#include \"kernels/dependency.hpp\"\n#include \"kernels/elementwise.hpp\"\n#include "
             "\"kernels/reduce_fused.cuh\"\n#include \"kernels/truth.cuh\"\nusing namespace refrain::kernels;\n";
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
    text_ << (shape_.is_cluster() ? "" : "template <bool vectors>\n")
          << "__device__ __forceinline__ void do_row(const Args& args) {\n";
    if (shape_.is_cluster()) write_cluster();  // while the kernel before may still run: it is about shared memory only
    text_ << "  wait_for_dependency();\n";
    if (shape_.is_warp()) {
      text_ << "  const i64 row = static_cast<i64>(blockIdx.x) * " << shape_.rows_a_block
            << " + threadIdx.x / 32;\n  if (row >= args.rows) return;\n"
               "  const i64 begin = 0;\n  const int first = static_cast<int>(threadIdx.x) % 32 * vector_width;\n";
    } else if (!shape_.is_cluster()) {
      text_ << "  const i64 row = blockIdx.x;\n  const i64 begin = 0;\n"
               "  const int first = static_cast<int>(threadIdx.x) * vector_width;\n";
    } else {
      text_ << "  const i64 row = blockIdx.x / Row::blocks;\n"
               "  const i64 begin = blockIdx.x % Row::blocks / Row::cut * reduce_chunk;\n"
               "  const int first = first_lane<Row>(static_cast<int>(threadIdx.x), blockIdx.x % Row::cut);\n";
    }
    text_ << "  const i64 left = "
          << (e_.row_ndim > 1 ? std::to_string(e_.row_length()) : "args.extents[" + std::to_string(row_axis()) + "]")
          << " - begin;\n  const RowSpot spot{first, static_cast<int>(left < 0 ? 0 : left < reduce_chunk ? left : "
             "reduce_chunk), vectors};\n";
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

  /// Once with accesses of vectors and once without, where both may be: in one, each access would be five instructions.
  /// But not of clusters, whose shared memory would be there twice.
  void write_kernel() {
    text_ << "extern \"C\" __global__ void __launch_bounds__(" << shape_.block_size() << ", "
          << shape_.blocks_a_multiprocessor(rows_kept(e_, plan_), sums_float32()) << ") ";
    if (shape_.is_cluster()) text_ << "__cluster_dims__(" << shape_.blocks << ", 1, 1) ";
    text_ << "fused_kernel(const __grid_constant__ Args args) {\n";
    if (!shape_.is_cluster() && may_have_vectors(e_)) text_ << "  if (args.vectors != 0) return do_row<true>(args);\n";
    text_ << "  do_row" << (shape_.is_cluster() ? "" : "<false>") << "(args);\n}\n";
  }

  /// Whether nothing is summed in more.
  bool sums_float32() const {
    return e_.is_contracted && std::all_of(e_.reductions.begin(), e_.reductions.end(), [](const Reduction& each) {
             return is_summed_in_float32(each) || kernels::element_size(each.acc_type) <= 4;
           });
  }

  void write_cluster() {
    std::size_t most = 0;  // reductions of a phase
    for (int phase = 1; phase < plan_.phases; ++phase) most = std::max(most, reduced_in(phase).size());
    text_ << "  const bool vectors = args.vectors != 0;\n";
    cluster_.begin(most);
  }

  /// The reductions whose results are there from a phase on.
  std::vector<std::size_t> reduced_in(int phase) const {
    std::vector<std::size_t> reduced;
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind == Kind::reduce && plan_.computed_in[i] == phase) reduced.push_back(i);
    }
    return reduced;
  }

  /// Where the block's part of an array's row begins, or of one that is no line the row.
  void write_row_beginning(std::size_t i) {
    text_ << "  const i64 o" << i << " = "
          << (has_lines(e_, layout(i)) ? "begin * args.strides[" + number(i) + "][" + std::to_string(last_axis()) + "]"
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

  bool is_dense(std::size_t array) const { return layout(array).strides[last_axis()] == 1; }

  /// Where a thread's elements of a row begin, or where the row does.
  std::string address(std::size_t array) const {
    return "static_cast<" + std::string(array < e_.outputs.size() ? "" : "const ") + stored_name(layout(array).type) +
           "*>(args.arrays[" + number(array) + "]) + o" + number(array) + (is_dense(array) ? " + spot.first" : "");
  }

  /// `load_row`, `load_turn` or `store_turn` of an array from there.
  std::string access(const char* function, std::size_t array, const std::string& from,
                     const std::string& values) const {
    return std::string(function) + "<" + std::to_string(shape_.step) + ", " + (shape_.is_whole ? "true" : "false") +
           ", " + (is_dense(array) ? "true" : "false") + ">(" + from + ", args.strides[" + number(array) + "][" +
           std::to_string(last_axis()) + "], spot, " + values + ");\n";
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
      if (has_kept_address(i)) write_kept_address(i);
      if (is_computed(i) && plan_.is_kept[i])
        text_ << "  " << stored_name(e_.code[i].type) << " k" << i << declared() << ";\n";
    }
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
      text_ << "  " << type << " x" << input << declared() << ";\n  "
            << access("load_row", array, address(array), "x" + number(input));
    }
  }

  /// The element where a row of an input begins, or that `further` from there.
  std::string element_at(std::size_t array, const std::string& further = {}) const {
    return "static_cast<const " + std::string(stored_name(layout(array).type)) + "*>(args.arrays[" + number(array) +
           "])[o" + number(array) + (further.empty() ? "" : " + " + further) + "]";
  }

  /// Of a load within a window: elements are found from the thread's first one on.
  bool has_kept_address(std::size_t i) const {
    if (!is_placed(i)) return false;
    const Layout& of = e_.inputs[static_cast<std::size_t>(e_.code[i].number)];
    return has_lines(e_, of) && of.strides[last_axis()] == 1;
  }

  void write_kept_address(std::size_t i) {
    const auto input = static_cast<std::size_t>(e_.code[i].number);
    text_ << "  const " << stored_name(e_.code[i].type) << "* const from" << input << " = kept(&"
          << element_at(e_.outputs.size() + input, "spot.first") << ");\n";
  }

  std::string declared() const {
    return "[" + std::to_string(shape_.turns) + "][" + std::to_string(shape_.width) + "]";
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
    std::string read = element_at(array, further);
    if (has_kept_address(i)) {
      read = "from" + number(input) + "[k * " + std::to_string(shape_.step) + " + j]";
    } else if (instruction.kind == Kind::take) {
      read = "take<" + std::to_string(of.taken->ndim) + ">(args.t" + number(input) + ", &" + read + ", " + operand(0) +
             ")";
    }
    if (condition.empty()) return read;
    return condition + " ? " + read + " : from_bits<" + stored_name(instruction.type) + ">(0)";
  }

  /// Of element [k][j].
  void write_position() {
    const bool has_moves = has_row_positions(e_);
    if (shape_.is_whole && !has_moves) return;
    text_ << "      const int at = k * " << shape_.step << " + spot.first + j;\n";
    if (!shape_.is_whole) text_ << "      const bool is_in = at < spot.count;\n";
    if (has_moves) write_row_index(text_, e_);
  }

  void write_phase(int phase) {
    const std::vector<std::size_t> reduced = reduced_in(phase + 1);
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      const bool is_here = plan_.computed_in[i] == phase;
      if (is_computed(i) && plan_.is_of_rows[i] && is_here) write_value(i, phase, "  ");
    }
    for (const std::size_t i : reduced) write_fold(i, phase);
    if (!reduced.empty()) write_elements(phase, reduced);
    if (shape_.is_cluster() && !reduced.empty()) {
      has_reduced_ = true;
      cluster_.exchange(reduced);
      for (const std::size_t i : reduced) write_stored_result(i);
    } else {
      for (const std::size_t i : reduced) write_result(i);
    }
    if (phase + 1 == plan_.phases) write_last_elements();
  }

  const Reduction& reduction(std::size_t i) const { return e_.reductions[static_cast<std::size_t>(e_.code[i].number)]; }

  void write_fold(std::size_t i, int phase) {
    const Instruction& instruction = e_.code[i];
    const bool has_center = reduction(i).op == kernels::ReduceOp::var;
    text_ << fold_text(reduction(i), i, instruction.number,
                       has_center ? value(static_cast<std::size_t>(instruction.operands[1]), phase) : "",
                       e_.is_contracted)
          << "  F" << i << "::Acc l" << i << "[" << shape_.width << "];\n";
  }

  /// All that a thread's elements have to do with the phase. A warp's turns are lanes of their own; a block's are later
  /// elements of the same ones.
  void write_elements(int phase, const std::vector<std::size_t>& reduced) {
    text_ << "#pragma unroll\n  for (int j = 0; j < " << shape_.width << "; ++j) {\n";
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

  /// Not a cluster's, whose threads have one element a turn and need the registers for those of other places.
  void write_address(std::size_t array) {
    text_ << "  auto* const first_" << array << " = " << (shape_.is_cluster() ? "" : "kept") << "(" << address(array)
          << ");\n";
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
    std::vector<std::size_t> inputs;
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind == Kind::load && !is_placed(i) && is_late(i)) {
        inputs.push_back(static_cast<std::size_t>(e_.code[i].number));
      }
    }
    for (const std::size_t i : inputs) write_address(e_.outputs.size() + i);
    for (const std::size_t i : outputs) {
      if (is_line(e_, e_.outputs[i])) write_address(i);
    }
    text_ << "#pragma unroll\n  for (int k = 0; k < " << shape_.turns << "; ++k) {\n";
    for (const std::size_t i : inputs) {
      const std::size_t array = e_.outputs.size() + i;
      text_ << "    " << stored_name(e_.inputs[i].type) << " x" << i << "[" << shape_.width << "];\n    "
            << access("load_turn", array, "first_" + number(array), "k, x" + number(i));
    }
    for (const std::size_t i : outputs) {
      text_ << "    " << stored_name(e_.outputs[i].type) << " y" << i << "[" << shape_.width << "];\n";
    }
    text_ << "#pragma unroll\n    for (int j = 0; j < " << shape_.width << "; ++j) {\n";
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
      if (is_line(e_, e_.outputs[i]))
        text_ << "    " << access("store_turn", i, "first_" + number(i), "k, y" + number(i));
    }
    text_ << "  }\n";
  }

  void write_result(std::size_t i) {
    has_reduced_ = true;
    text_ << "  const F" << i << "::Acc r" << i << " = ";
    if (shape_.is_warp()) {
      text_ << "settled(f" << i << ", combine_warp(f" << i << ", l" << i << "));\n";
    } else {
      text_ << "combine_block(f" << i << ", l" << i << ");\n";
    }
    write_stored_result(i);
  }

  void write_stored_result(std::size_t i) {
    const char* const type = stored_name(e_.code[i].type);
    text_ << "  const " << type << " v" << i << " = stored_result<" << type << ">(f" << i << ", a" << i << ", r" << i;
    if (is_multiplied(reduction(i)))
      text_ << " * static_cast<F" << i << "::Acc>(args.divisors[" << e_.code[i].number << "])";
    text_ << ");\n";
  }

  /// One value a row, at the end, when every thread has read what it reads.
  void write_row_stores() {
    const bool is_in_place = std::any_of(e_.outputs.begin(), e_.outputs.end(), [&](const Layout& output) {
      return e_.is_of_rows(output) && output.is_in_place;
    });
    if (!has_reduced_) {  // a reduction, which nobody needs, would have been the barrier
      text_ << (shape_.is_warp() ? "  __syncwarp();\n" : "  __syncthreads();\n");
      if (shape_.is_cluster()) text_ << "  wait_for_cluster();\n";
    }
    if (shape_.is_cluster() && is_in_place && (!has_reduced_ || !has_read_rows(e_, plan_))) {
      text_ << "  arrive_at_cluster();\n  wait_for_cluster();\n";
    }
    const int last = plan_.phases - 1;
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_of_rows(e_.outputs[i])) continue;
      text_ << "  if (spot.first == 0 && begin == 0) static_cast<" << stored_name(e_.outputs[i].type)
            << "*>(args.arrays[" << i << "])[o" << i << "] = " << value(static_cast<std::size_t>(e_.results[i]), last)
            << ";\n";
    }
  }

  const Expression& e_;
  const RowPlan plan_;
  const RowShape shape_;
  bool has_reduced_ = false;
  std::ostringstream text_;
  ClusterWriter cluster_{text_, shape_};
};

}  // namespace

std::string rows_source(const Expression& expression, int most_blocks) {
  return RowWriter(expression, most_blocks).source();
}

}  // namespace refrain::jit
