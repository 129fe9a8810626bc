#pragma once

#include "jit/expression.hpp"

#include <cstdint>

namespace refrain::jit {

/// How rows are laid out over threads: a warp a row, a block, or a cluster of blocks.
struct RowShape {
  /// `most_blocks`: of a cluster.
  RowShape(const Expression& expression, int most_blocks);

  static constexpr int warp = 32;
  static constexpr int block = 256;
  static constexpr int elements_a_turn = 4;

  int threads = block;          ///< of a row, in a block
  int blocks = 1;               ///< of a row: a cluster
  int cut = 1;                  ///< of a cluster: blocks of a chunk
  int width = elements_a_turn;  ///< elements side by side, of a turn
  int step = 0;                 ///< elements of a row from one turn of a thread to its next
  int rows_a_block = 1;         ///< a warp each
  int turns = 1;                ///< that a thread has of a row
  bool is_whole = false;        ///< no thread has less

  bool is_warp() const noexcept { return threads == warp; }
  bool is_cluster() const noexcept { return blocks > 1; }
  int block_size() const noexcept { return is_warp() ? warp * rows_a_block : threads; }
  /// For which each thread leaves registers, for loads to be under way while others compute: 128 each.
  int blocks_a_multiprocessor() const noexcept { return most_threads / block_size(); }

 private:
  static constexpr int most_threads = 512;  ///< of a multiprocessor, so many at least

  void cut_chunks(std::int64_t rows, int most_blocks);
};

}  // namespace refrain::jit
