#include "jit/launch_shape.hpp"

#include "jit/cuda_moves.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <vector>

namespace refrain::jit {

using kernels::element_size;
using kernels::ElementwiseOp;

namespace {

constexpr std::int64_t access_bytes = 16;

// Of a multiprocessor since Volta: four schedulers issue an instruction of a warp each a cycle, and an instruction's
// result can be used four cycles later.
constexpr int schedulers = 4;
constexpr int warp = 32;
constexpr int result_latency = 4;

/// Instructions of a thread besides the expression: where it is, and whether there is something to do.
constexpr int own_instructions = 20;

/// Cycles that an instruction takes to come from the second-level cache, once a launch: straight code is fetched ahead
/// of its warps, but in a small kernel they wait for it. Not measured alone: it breaks ties in favour of shorter code.
constexpr double fetch_cycles = 0.5;

/// Cycles from one block's launch on a multiprocessor to the next one's. Likewise: in favour of fewer blocks.
constexpr int block_cycles = 16;

/// Bytes a cycle of a whole device: 4 TB/s at 1.75 GHz.
constexpr double bytes_per_cycle = 2300;

/// Of a random number: Philox, and what makes a number of its bits.
constexpr int draw_instructions = 120;

/// Instructions of an op on float32, from their machine code, roughly; of other types a few more.
int instructions_of(const Instruction& instruction) {
  if (instruction.kind == Instruction::Kind::draw) return draw_instructions;
  if (instruction.kind != Instruction::Kind::op) return 0;
  switch (instruction.op) {
    case ElementwiseOp::div:
    case ElementwiseOp::sqrt:
    case ElementwiseOp::rsqrt:
    case ElementwiseOp::exp:
    case ElementwiseOp::log: return 10;
    case ElementwiseOp::expm1:
    case ElementwiseOp::log1p:
    case ElementwiseOp::tanh:
    case ElementwiseOp::sigmoid:
    case ElementwiseOp::silu:
    case ElementwiseOp::erf:
    case ElementwiseOp::gelu:
    case ElementwiseOp::floor_divide:
    case ElementwiseOp::remainder: return 30;
    case ElementwiseOp::sin:
    case ElementwiseOp::cos:
    case ElementwiseOp::pow: return 60;
    default: return 1;
  }
}

struct Work {
  int instructions = 0;  ///< at a position
  int depth = 0;         ///< of them one after another
  int arrays = 0;
  std::int64_t bytes = 0;  ///< of a position
  int widest = 1;          ///< positions of an access of 16 bytes
};

Work work_of(const Expression& expression) {
  Work work;
  work.widest = vector_width(expression);
  std::vector<int> depths;
  for (const Instruction& instruction : expression.code) {
    const int own = instructions_of(instruction);
    int before = 0;
    for (const int operand : instruction.operands) {
      if (operand >= 0) before = std::max(before, depths[static_cast<std::size_t>(operand)]);
    }
    depths.push_back(before + own);
    work.instructions += own;
    work.depth = std::max(work.depth, depths.back());
  }
  for (const auto* layouts : {&expression.inputs, &expression.outputs}) {
    for (const Layout& layout : *layouts) {
      ++work.arrays;
      work.bytes += element_size(layout.type);
    }
  }
  return work;
}

/// Threads a multiprocessor from which on a stencil's are given a vector each. A thread of it reads many single
/// elements for a vector's sake, and one element each keeps more multiprocessors busy.
constexpr std::int64_t threads_for_vectors = 512;

bool is_stencil(const Expression& expression) {
  return std::any_of(expression.inputs.begin(), expression.inputs.end(),
                     [](const Layout& input) { return !input.wraps.empty() || input.window >= 0; });
}

/// Of a stencil, whose loads are more than the cycles below count: whole vectors or none.
int stencil_width(const Expression& expression, int multiprocessors) {
  const int width = vector_width(expression);
  const bool is_wide =
      has_vectors(expression, width) && expression.size / width >= multiprocessors * threads_for_vectors;
  return is_wide ? width : 1;
}

/// Narrower accesses need more of them on the way for the same bandwidth.
constexpr double narrow_access = 1.1;

/// About how many cycles the kernel runs.
double cycles(const Work& work, std::span<const std::int64_t> sizes, const LaunchShape& shape, int multiprocessors) {
  std::int64_t blocks = 0;
  std::int64_t positions = 0;
  for (const std::int64_t size : sizes) {
    blocks += shape.blocks_for((size - 1) / shape.width + 1);
    positions += size;
  }
  const std::int64_t blocks_each = (blocks - 1) / multiprocessors + 1;
  const std::int64_t warps = (blocks_each * shape.block / warp - 1) / schedulers + 1;  // of a scheduler
  const std::int64_t code = std::int64_t{work.instructions} * shape.width + work.arrays + own_instructions;
  const std::int64_t issued = std::max(warps * code, std::int64_t{work.depth} * result_latency);
  const double moved =
      static_cast<double>(positions * work.bytes) / bytes_per_cycle * (shape.width == work.widest ? 1 : narrow_access);
  return std::max(static_cast<double>(issued), moved) + fetch_cycles * static_cast<double>(code) +
         static_cast<double>(blocks_each * block_cycles);
}

/// Width and block that take the fewest cycles.
void choose_fastest(LaunchShape& best, const Expression& expression, Further further,
                    std::span<const std::int64_t> sizes, int multiprocessors) {
  const Work work = work_of(expression);
  double least = 0;
  for (int width = expression.draws.empty() ? vector_width(expression) : 1; width > 0; width /= 2) {
    const auto fits = [&](const auto& part) { return has_vectors(*part, width); };
    if (!has_vectors(expression, width) || !std::all_of(further.begin(), further.end(), fits)) continue;
    for (int block = LaunchShape::most_threads; block >= warp; block /= 2) {
      LaunchShape shape = best;
      shape.width = width;
      shape.block = block;
      const double needed = cycles(work, sizes, shape, multiprocessors);
      if (least != 0 && needed >= least) continue;
      least = needed;
      best.width = width;
      best.block = block;
    }
  }
}

}  // namespace

std::int64_t most_blocks(int multiprocessors) noexcept {
  return std::int64_t{multiprocessors} * 4096;  // as the eager kernels (kernels/elementwise.cu)
}

int vector_width(const Expression& expression) {
  std::int64_t widest = 1;
  for (const auto* layouts : {&expression.inputs, &expression.outputs}) {
    for (const Layout& layout : *layouts) widest = std::max<std::int64_t>(widest, element_size(layout.type));
  }
  return static_cast<int>(access_bytes / widest);
}

bool has_vectors(const Expression& expression, int width) {
  for (const auto* layouts : {&expression.inputs, &expression.outputs}) {
    for (const Layout& layout : *layouts) {
      if (layout.is_dense || is_elsewhere(layout) || layout.strides[expression.ndim - 1] != 1) continue;
      for (int axis = 0; axis < expression.ndim - 1; ++axis) {
        if (layout.strides[axis] % width != 0) return false;
      }
    }
  }
  return expression.ndim == 1 || expression.extents[expression.ndim - 1] % width == 0;
}

LaunchShape launch_shape(const Expression& expression, Further further, int multiprocessors) {
  if (expression.has_rows()) return {};  // they have one of their own
  std::vector<std::int64_t> sizes = {expression.size};
  for (const auto& part : further) sizes.push_back(part->size);
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  LaunchShape best;
  best.is_narrow = is_narrow(expression) &&
                   std::all_of(further.begin(), further.end(), [](const auto& part) { return is_narrow(*part); });
  const bool has_draws = !expression.draws.empty();  // whose threads' numbers do not lie side by side
  if (!has_draws && is_stencil(expression)) {
    best.width = stencil_width(expression, multiprocessors);
  } else if (!expression.has_sums()) {  // whose parts are those of blocks of the layout
    choose_fastest(best, expression, further, sizes, multiprocessors);
  }
  if (has_draws) {
    best.has_one_turn = largest <= std::int64_t{expression.grid} * kernels::random_block;
    return best;
  }
  // Addresses that are not aligned are gone through one by one.
  const std::int64_t most = further.empty() ? most_blocks(multiprocessors) : std::int64_t{1} << (block_classes - 1);
  best.has_one_turn = largest <= most * best.block;
  return best;
}

}  // namespace refrain::jit
