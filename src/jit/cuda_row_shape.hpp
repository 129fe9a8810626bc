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
  /// For which each thread leaves registers, so that loads are under way while others compute: 128 each. A warp that
  /// keeps one row's elements until the end does with 96, or with 64 where it sums them in float32 too: 4096 rows of
  /// 1024 float32 normalised take 11.8 us with 128 and 10.7 with 96; summed in float32 10.9 with 96 and 9.4 with 64.
  int blocks_a_multiprocessor(int rows_kept, bool sums_float32) const noexcept {
    const int threads_a_multiprocessor = !is_warp() || rows_kept > 1 ? 512 : sums_float32 ? 1024 : 640;
    return threads_a_multiprocessor / block_size();
  }

 private:
  void cut_chunks(std::int64_t rows, int most_blocks);
};

}  // namespace refrain::jit
