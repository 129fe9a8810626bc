#pragma once

#include "jit/cuda_row_shape.hpp"

#include <cstddef>
#include <ostream>
#include <span>

namespace refrain::jit {

/// Writes how blocks of a cluster exchange what they have reduced (kernels/reduce_fused.cuh).
class ClusterWriter {
 public:
  ClusterWriter(std::ostream& text, const RowShape& shape) : text_(text), shape_(shape) {}

  /// `Row`, and what is exchanged through. `most`: reductions of a phase.
  void begin(std::size_t most);
  /// The results `r3` of folds `f3` from each thread's lanes `l3`: after a barrier of the block a warp combines what
  /// the block has for a reduction and sends it to all, and all wait for what they are sent.
  void exchange(std::span<const std::size_t> reduced);

 private:
  void exchange_at_once(std::span<const std::size_t> reduced);

  std::ostream& text_;
  const RowShape& shape_;
  int exchanges_ = 0;
  int handed_turns_ = 1;
};

}  // namespace refrain::jit
