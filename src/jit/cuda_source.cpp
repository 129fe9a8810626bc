#include "jit/cuda_source.hpp"

#include "jit/cuda_moves.hpp"
#include "jit/cuda_rows.hpp"
#include "jit/cuda_text.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>

namespace refrain::jit {

using kernels::element_size;
using kernels::Type;

namespace {

constexpr int block = 256;
constexpr int access_bytes = 16;
/// As that of the eager kernels (kernels/elementwise.cu).
constexpr std::int64_t blocks_per_multiprocessor = 4096;

const char* distribution_name(kernels::Distribution distribution) {
  constexpr const char* names[] = {"uniform", "normal", "bernoulli", "exponential", "randint32", "randint64"};
  return names[static_cast<int>(distribution)];
}

/// Threads a multiprocessor from which on a stencil's are given a vector each. A thread of it reads many single
/// elements for a vector's sake, and one element each keeps more multiprocessors busy.
constexpr std::int64_t threads_for_vectors = 512;

bool is_stencil(const Expression& expression) {
  return std::any_of(expression.inputs.begin(), expression.inputs.end(),
                     [](const Layout& input) { return !input.wraps.empty() || input.window >= 0; });
}

/// Positions that one access of 16 bytes covers, of the widest type.
int vector_width(const Expression& expression) {
  std::int64_t widest = 1;
  for (const auto* layouts : {&expression.inputs, &expression.outputs}) {
    for (const Layout& layout : *layouts) widest = std::max<std::int64_t>(widest, element_size(layout.type));
  }
  return static_cast<int>(access_bytes / widest);
}

std::int64_t inner_stride(const Expression& expression, const Layout& layout) {
  return layout.strides[expression.ndim - 1];
}

/// Writes a kernel's text.
class Writer {
 public:
  explicit Writer(const Expression& expression) : e_(expression) {}

  std::string source() {
    write_parameters();
    write_positions();
    if (e_.draws.empty()) {
      write_plain_kernel();
    } else {
      write_drawing_kernel();
    }
    return text_.str();
  }

 private:
  std::size_t arrays() const { return e_.outputs.size() + e_.inputs.size(); }
  const Layout& layout(std::size_t array) const {
    return array < e_.outputs.size() ? e_.outputs[array] : e_.inputs[array - e_.outputs.size()];
  }
  bool is_strided() const {
    for (std::size_t i = 0; i < arrays(); ++i) {
      if (!layout(i).is_dense) return true;
    }
    return !e_.windows.empty();
  }

  /// Whether positions are computed with in 32 bits: only where axes are.
  bool has_narrow_axes() const { return is_strided() && is_narrow(e_); }

  void write_parameters() {
    text_ << "#include \"kernels/dependency.hpp\"\n#include \"kernels/elementwise.hpp\"\n";
    if (!e_.draws.empty()) text_ << "#include \"kernels/random.hpp\"\n";
    if (e_.has_sums()) text_ << "#include \"kernels/block_sum.cuh\"\n";
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
      text_ << "using Index = i64;\nusing Bound = u64;\n"
               "struct Divisor { u64 none; };\n"
               "__device__ __forceinline__ Index divide_by(Index x, i64 y, Divisor) { return divide(x, y); }\n";
    }
    text_ << "struct Args {\n  i64 size;\n  i64 vector_end;\n"
          << (e_.has_sums() ? "  i64 parts;\n" : "") << "  void* arrays[" << std::max<std::size_t>(arrays(), 1)
          << "];\n";
    if (!e_.scalars.empty()) text_ << "  u64 scalars[" << e_.scalars.size() << "];\n";
    if (is_strided()) {
      text_ << "  i64 extents[" << e_.ndim << "];\n  Divisor divisors[" << e_.ndim << "];\n  i64 strides[" << arrays()
            << "][" << e_.ndim << "];\n";
    }
    write_move_members(text_, e_);
    if (!e_.draws.empty()) text_ << "  RandomArgs draws[" << e_.draws.size() << "];\n";
    text_ << "};\n";
  }

  /// `run<n>`: n positions from `at` on, in one row where not all arrays are dense.
  void write_positions() {
    text_ << "template <int n> __device__ __forceinline__ void run(const Args& args, Index at";
    for (std::size_t i = 0; i < e_.draws.size(); ++i) text_ << ", " << stored_name(e_.draws[i].type) << " d" << i;
    if (e_.has_sums()) text_ << ", u64 (&sums)[" << e_.reductions.size() << "]";
    text_ << ") {\n";
    write_offsets();
    for (std::size_t i = 0; i < e_.inputs.size(); ++i) write_load(i);
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_sum(i)) text_ << "  Vector<" << stored_name(e_.outputs[i].type) << ", n> y" << i << ";\n";
    }
    text_ << "#pragma unroll\n  for (int i = 0; i < n; ++i) {\n";
    for (std::size_t i = 0; i < e_.code.size(); ++i) write_instruction(i);
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_sum(i)) text_ << "    y" << i << ".at[i] = v" << e_.results[i] << ";\n";
    }
    text_ << "  }\n";
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
      if (layout(i).is_dense) continue;
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

  std::string offset(std::size_t array) const { return layout(array).is_dense ? "at" : "o" + std::to_string(array); }

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

  void write_instruction(std::size_t number) {
    const Instruction& instruction = e_.code[number];
    if (instruction.kind == Instruction::Kind::reduce) {
      text_ << "    sums[" << instruction.number << "] += static_cast<u64>(Convert<i64, "
            << type_name(instruction.in_type) << ">::apply(v" << instruction.operands[0] << "));\n";
      return;
    }
    text_ << "    const " << stored_name(instruction.type) << " v" << number << " = ";
    switch (instruction.kind) {
      case Instruction::Kind::load: text_ << "x" << instruction.number << ".at[i]"; break;
      case Instruction::Kind::scalar:
        text_ << "from_bits<" << stored_name(instruction.type) << ">(args.scalars[" << instruction.number << "])";
        break;
      case Instruction::Kind::draw: text_ << "d" << instruction.number; break;
      case Instruction::Kind::op:
        text_ << op_text(instruction, [&](int k) { return "v" + std::to_string(instruction.operands[k]); });
        break;
      case Instruction::Kind::reduce: break;
      case Instruction::Kind::choose:
        text_ << window_text(e_, instruction.number) << " ? v" << instruction.operands[0] << " : v"
              << instruction.operands[1];
        break;
      case Instruction::Kind::take:
        text_ << take_text(e_, static_cast<std::size_t>(instruction.number),
                           e_.outputs.size() + static_cast<std::size_t>(instruction.number),
                           stored_name(instruction.type), "v" + std::to_string(instruction.operands[0]));
        break;
    }
    text_ << ";\n";
  }

  /// As kernels/elementwise.cuh: whole vectors, then single positions.
  void write_plain_kernel() {
    const int width = vector_width(e_);
    text_ << "extern \"C\" __global__ void __launch_bounds__(" << block
          << ") fused_kernel(const __grid_constant__ Args args) {\n  wait_for_dependency();\n"
             "  const i64 thread = static_cast<i64>(blockIdx.x) * "
          << block << " + threadIdx.x;\n  const i64 threads = static_cast<i64>(gridDim.x) * " << block << ";\n";
    if (width > 1) {
      text_ << "  for (i64 i = thread * " << width << "; i < args.vector_end; i += threads * " << width << ") run<"
            << width << ">(args, static_cast<Index>(i));\n";
    }
    text_ << "  for (i64 i = args.vector_end + thread; i < args.size; i += threads) run<1>(args, "
             "static_cast<Index>(i));\n}\n";
  }

  /// As `random_thread`: each thread's numbers lie `threads` apart.
  void write_drawing_kernel() {
    const int numbers = kernels::numbers_per_draw(e_.draws[0].distribution, e_.draws[0].type);
    text_ << "extern \"C\" __global__ void __launch_bounds__(" << kernels::random_block
          << ") fused_kernel(const __grid_constant__ Args args) {\n  wait_for_dependency();\n"
             "  const i64 thread = static_cast<i64>(blockIdx.x) * "
          << kernels::random_block << " + threadIdx.x;\n  const i64 threads = static_cast<i64>(gridDim.x) * "
          << kernels::random_block << ";\n";
    for (std::size_t i = 0; i < e_.draws.size(); ++i) {
      text_ << "  using D" << i << " = Draw<Distribution::" << distribution_name(e_.draws[i].distribution) << ", "
            << stored_name(e_.draws[i].type) << ">;\n  const RandomArgs& a" << i << " = args.draws[" << i
            << "];\n  const bool counted" << i << " = a" << i << ".counters != nullptr;\n  const u64 seed" << i
            << " = counted" << i << " ? a" << i << ".counter_cells[0] : a" << i << ".seed;\n  const u64 offset" << i
            << " = counted" << i << " ? a" << i << ".counters[blockIdx.x] : a" << i << ".offset;\n  const D" << i
            << " of" << i << "(a" << i << ");\n";
    }
    if (e_.has_sums()) text_ << "  u64 sums[" << e_.reductions.size() << "] = {};\n";
    text_ << "  u64 round = 0;\n  for (i64 base = thread; base < args.size; base += threads * " << numbers
          << ", ++round) {\n";
    for (std::size_t i = 0; i < e_.draws.size(); ++i) {
      text_ << "    " << stored_name(e_.draws[i].type) << " n" << i << "[" << numbers << "];\n    of" << i
            << ".make(philox(seed" << i << ", static_cast<u64>(thread), offset" << i << " / 4 + round), n" << i
            << ");\n";
    }
    text_ << "#pragma unroll\n    for (int k = 0; k < " << numbers
          << "; ++k) {\n      const i64 at = base + k * threads;\n      if (at < args.size) run<1>(args, "
             "static_cast<Index>(at)";
    for (std::size_t i = 0; i < e_.draws.size(); ++i) text_ << ", n" << i << "[k]";
    if (e_.has_sums()) text_ << ", sums";
    text_ << ");\n    }\n  }\n";
    write_sums();
    text_ << "  __syncthreads();\n  if (threadIdx.x == 0) {\n";
    for (std::size_t i = 0; i < e_.draws.size(); ++i) {
      text_ << "    if (counted" << i << ") a" << i << ".counters[blockIdx.x] = offset" << i << " + a" << i
            << ".counter_cells[1];\n";
    }
    text_ << "  }\n}\n";
  }

  /// Each block's part, and zeros for those that no block has.
  void write_sums() {
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) {
      if (!e_.is_sum(i)) continue;
      const int sum = e_.code[static_cast<std::size_t>(e_.results[i])].number;
      text_ << "  {\n    u64* const parts = static_cast<u64*>(args.arrays[" << i
            << "]);\n    const u64 own = block_sum(sums[" << sum
            << "]);\n    if (threadIdx.x == 0) parts[blockIdx.x] = own;\n"
               "    for (i64 i = gridDim.x + thread; i < args.parts; i += threads) parts[i] = 0;\n  }\n";
    }
  }

  const Expression& e_;
  std::ostringstream text_;
};

}  // namespace

std::string cuda_source(const Expression& expression) {
  return expression.has_rows() ? rows_source(expression) : Writer(expression).source();
}

CudaLaunch cuda_launch(const Expression& expression, void* const* addresses, std::span<const kernels::Value> scalars,
                       std::span<const kernels::RandomArgs> draws, int multiprocessors) {
  if (expression.has_rows()) return rows_launch(expression, addresses, scalars);
  const std::size_t outputs = expression.outputs.size();
  const std::size_t arrays = outputs + expression.inputs.size();
  const std::int64_t width = vector_width(expression);
  const auto layout = [&](std::size_t i) -> const Layout& {
    return i < outputs ? expression.outputs[i] : expression.inputs[i - outputs];
  };
  bool is_aligned = true;
  bool is_strided = !expression.windows.empty();
  for (std::size_t i = 0; i < arrays; ++i) {
    const Layout& of = layout(i);
    const std::int64_t bytes = width * element_size(of.type);
    const bool is_vector = !is_elsewhere(of) && (of.is_dense || inner_stride(expression, of) == 1);
    if (is_vector && reinterpret_cast<std::uintptr_t>(addresses[i]) % static_cast<std::uintptr_t>(bytes) != 0) {
      is_aligned = false;
    }
    if (of.is_dense) continue;
    is_strided = true;
    for (int axis = 0; is_vector && axis < expression.ndim - 1; ++axis) {
      if (of.strides[axis] % width != 0) is_aligned = false;
    }
  }
  if (expression.ndim > 1 && expression.extents[expression.ndim - 1] % width != 0) is_aligned = false;
  if (is_stencil(expression) && expression.size / width < multiprocessors * threads_for_vectors) is_aligned = false;
  CudaLaunch launch;
  ParameterBlock packer;
  packer.add(expression.size);
  packer.add(is_aligned && width > 1 ? expression.size / width * width : std::int64_t{0});
  if (expression.has_sums()) packer.add(expression.parts);
  for (std::size_t i = 0; i < arrays; ++i) packer.add(addresses[i]);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    packer.add(kernels::scalar_bits(expression.scalars[i], scalars[i]));
  }
  if (is_strided) {
    for (int axis = 0; axis < expression.ndim; ++axis) packer.add(expression.extents[axis]);
    for (int axis = 0; axis < expression.ndim; ++axis) {
      packer.add(is_narrow(expression) ? divisor(expression.extents[axis]) : Divisor{0, 0});
    }
    for (std::size_t i = 0; i < arrays; ++i) {
      for (int axis = 0; axis < expression.ndim; ++axis) packer.add(layout(i).strides[axis]);
    }
  }
  for (const std::int64_t number : move_members(expression, addresses + outputs, width)) packer.add(number);
  for (const kernels::RandomArgs& draw : draws) packer.add(draw);
  launch.parameters = std::move(packer.all);
  if (!draws.empty()) {
    launch.grid = expression.grid;
    launch.block = kernels::random_block;
    return launch;
  }
  const std::int64_t turns = is_aligned ? (expression.size - 1) / width + 1 : expression.size;
  launch.grid = std::min((turns - 1) / block + 1, multiprocessors * blocks_per_multiprocessor);
  launch.block = block;
  return launch;
}

}  // namespace refrain::jit
