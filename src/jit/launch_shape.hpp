#pragma once

#include "jit/expression.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace refrain::jit {

/// Expressions of one structure, for one kernel to run.
using Further = std::span<const std::shared_ptr<const Expression>>;

/// How the threads of a fused kernel share the positions. All but `block` is part of the kernel's text. Rows have
/// a shape of their own (cuda_rows.cpp).
struct LaunchShape {
  static constexpr int most_threads = 256;    ///< of a block
  static constexpr int portable_cluster = 8;  ///< what every device with clusters takes

  int width = 1;  ///< neighbours that a thread takes at a time, of at most 16 bytes
  int block = most_threads;
  bool is_narrow = false;               ///< positions and offsets fit 32 bits
  bool has_one_turn = false;            ///< no thread has more than one turn, or of draws more than one number
  int most_cluster = portable_cluster;  ///< blocks of a cluster that does a row, at most

  std::int64_t blocks_for(std::int64_t turns) const noexcept { return (turns - 1) / block + 1; }
};

/// Parts of one kernel have 1, 2, 4, ... 128 blocks each.
inline constexpr int block_classes = 8;

/// Blocks of a launch at most; then threads have several turns.
std::int64_t most_blocks(int multiprocessors) noexcept;

/// Positions that one access of 16 bytes covers, of the widest type.
int vector_width(const Expression& expression);

/// Whether extents and strides let every array be accessed by so many neighbours at a time, if its address does.
bool has_vectors(const Expression& expression, int width);

/// The shape that takes the fewest cycles on a device of so many multiprocessors, as far as that can be told from sizes
/// and instructions.
LaunchShape launch_shape(const Expression& expression, Further further, int multiprocessors);

}  // namespace refrain::jit
