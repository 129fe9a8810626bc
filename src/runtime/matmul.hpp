#pragma once

#include "kernels/args.hpp"

#include <refrain/linalg.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace refrain::runtime {

/// How one operand of a product lies; strides in elements. Of its rows and columns one walk is dense, the other is at
/// least as wide: what BLAS calls a matrix and its transpose.
struct MatmulOperand {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_strides[kernels::max_ndim] = {};  ///< 0 where broadcast
  int alignment = 0;                                   ///< bytes that each batch's first address is a multiple of

  bool is_transposed() const noexcept { return column_stride != 1; }
  std::int64_t leading() const noexcept { return is_transposed() ? column_stride : row_stride; }
  auto operator<=>(const MatmulOperand&) const = default;
};

/// out[i][j] = activation(sum over p of a[i][p] * b[p][j] + bias[j]) for each batch, without the addresses. `out` is
/// dense and row-major, and so is `bias`.
struct MatmulShape {
  kernels::Type type = kernels::Type::float32;  ///< of operands, bias and result
  MatmulPrecision precision = MatmulPrecision::exact;
  bool has_bias = false;
  bool has_relu = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int batch_ndim = 0;  ///< after merging axes; the last one is the fastest
  std::int64_t batch_extents[kernels::max_ndim] = {};
  MatmulOperand a;
  MatmulOperand b;
  int out_alignment = 0;  ///< as those of the operands; of result and bias

  /// Of the command's access of that number.
  int alignment(std::size_t access) const noexcept {
    return access == 1 ? a.alignment : access == 2 ? b.alignment : out_alignment;
  }
  auto operator<=>(const MatmulShape&) const = default;
};

/// How a backend computes a product: one way for each shape, eager and in graphs.
class MatmulPlan {
 public:
  MatmulPlan(const MatmulShape& of, std::int64_t with_workspace) : shape(of), workspace_bytes(with_workspace) {}
  virtual ~MatmulPlan() = default;

  const MatmulShape shape;
  const std::int64_t workspace_bytes;  ///< scratch memory that the command is given
};

/// Plans that were made, by shape. Bounded: all are dropped when it is full, and made again, equal, when asked
/// for.
class MatmulPlans {
 public:
  using Plan = std::shared_ptr<const MatmulPlan>;

  template <class Make>
  Plan get(const MatmulShape& shape, Make make) {
    const std::lock_guard lock(mutex_);
    const auto known = plans_.find(shape);
    if (known != plans_.end()) return known->second;
    if (plans_.size() >= capacity) plans_.clear();
    return plans_.emplace(shape, make()).first->second;
  }

 private:
  static constexpr std::size_t capacity = 1024;
  std::mutex mutex_;
  std::map<MatmulShape, Plan> plans_;
};

/// Calls `product(a, b, out)` with the elements that each batch's matrices begin at, for all axes of the batch but the
/// last `inner` ones.
template <class Product>
void for_each_batch(const MatmulShape& shape, int inner, Product product) {
  const int ndim = shape.batch_ndim - inner;
  std::int64_t out_step = shape.m * shape.n;
  for (int axis = ndim; axis < shape.batch_ndim; ++axis) out_step *= shape.batch_extents[axis];
  std::int64_t index[kernels::max_ndim] = {};
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t out = 0;
  for (;;) {
    product(a, b, out);
    out += out_step;
    int axis = ndim - 1;
    for (; axis >= 0; --axis) {
      const bool is_full = ++index[axis] == shape.batch_extents[axis];
      const std::int64_t steps = is_full ? 1 - shape.batch_extents[axis] : 1;
      a += steps * shape.a.batch_strides[axis];
      b += steps * shape.b.batch_strides[axis];
      if (!is_full) break;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace refrain::runtime
