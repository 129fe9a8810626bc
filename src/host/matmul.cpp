#include "host/matmul.hpp"

#include "host/blas.hpp"
#include "kernels/half.hpp"
#include "kernels/math.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace refrain::host {

namespace {

using runtime::MatmulOperand;
using runtime::MatmulShape;

template <class T>
Blas::Gemm<T>* gemm() {
  if constexpr (std::is_same_v<T, float>) {
    return Blas::get({}).sgemm;
  } else {
    return Blas::get({}).dgemm;
  }
}

/// A matrix as BLAS takes it.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t leading;
  bool is_transposed;
};

template <class T>
Matrix<T> matrix(const MatmulOperand& operand, const T* data) {
  return {data, operand.leading(), operand.is_transposed()};
}

template <class T>
void multiply(const MatmulShape& shape, std::int64_t rows, const Matrix<T>& a, const Matrix<T>& b, T* out) {
  const auto transpose = [](bool is_transposed) { return is_transposed ? Blas::transposed : Blas::as_it_is; };
  gemm<T>()(Blas::row_major, transpose(a.is_transposed), transpose(b.is_transposed), static_cast<Blas::Int>(rows),
            static_cast<Blas::Int>(shape.n), static_cast<Blas::Int>(shape.k), T{1}, a.data,
            static_cast<Blas::Int>(a.leading), b.data, static_cast<Blas::Int>(b.leading), T{0}, out,
            static_cast<Blas::Int>(shape.n));
}

/// What follows the sum, for one row of it.
template <class Sum, class Stored>
void finish(const MatmulShape& shape, const Sum* sums, const Stored* bias, Stored* out) {
  for (std::int64_t j = 0; j < shape.n; ++j) {
    Sum sum = sums[j];
    if (shape.has_bias) sum += static_cast<Sum>(bias[j]);
    if (shape.has_relu) sum = kernels::math::maximum(sum, Sum{0});
    out[j] = static_cast<Stored>(sum);
  }
}

template <class T>
void run(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* out) {
  runtime::for_each_batch(shape, 0, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_out) {
    T* const result = static_cast<T*>(out) + at_out;
    multiply<T>(shape, shape.m, matrix(shape.a, static_cast<const T*>(a) + at_a),
                matrix(shape.b, static_cast<const T*>(b) + at_b), result);
    if (!shape.has_bias && !shape.has_relu) return;
    for (std::int64_t i = 0; i < shape.m; ++i) {
      finish(shape, result + i * shape.n, static_cast<const T*>(bias), result + i * shape.n);
    }
  });
}

/// Some rows of the operand, dense and in float.
template <class Stored>
std::vector<float> widened(const MatmulOperand& operand, const Stored* data, std::int64_t rows, std::int64_t columns) {
  std::vector<float> wide(static_cast<std::size_t>(rows * columns));
  float* to = wide.data();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      *to++ = static_cast<float>(data[i * operand.row_stride + j * operand.column_stride]);
    }
  }
  return wide;
}

/// The 16-bit types: in float, some rows at a time.
template <class Stored>
void run_widened(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* out) {
  constexpr std::int64_t rows_at_once = 256;
  std::vector<float> sums(static_cast<std::size_t>(std::min(shape.m, rows_at_once) * shape.n));
  runtime::for_each_batch(shape, 0, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_out) {
    const std::vector<float> right = widened(shape.b, static_cast<const Stored*>(b) + at_b, shape.k, shape.n);
    for (std::int64_t row = 0; row < shape.m; row += rows_at_once) {
      const std::int64_t rows = std::min(shape.m - row, rows_at_once);
      const std::vector<float> left =
          widened(shape.a, static_cast<const Stored*>(a) + at_a + row * shape.a.row_stride, rows, shape.k);
      multiply<float>(shape, rows, {left.data(), shape.k, false}, {right.data(), shape.n, false}, sums.data());
      for (std::int64_t i = 0; i < rows; ++i) {
        finish(shape, sums.data() + i * shape.n, static_cast<const Stored*>(bias),
               static_cast<Stored*>(out) + at_out + (row + i) * shape.n);
      }
    }
  });
}

}  // namespace

std::shared_ptr<const runtime::MatmulPlan> plan_matmul(const MatmulShape& shape, SourceLocation where) {
  static auto& plans = *new runtime::MatmulPlans;
  return plans.get(shape, [&] {
    const std::int64_t largest = std::max({shape.m, shape.n, shape.k, shape.a.leading(), shape.b.leading()});
    if (largest > std::numeric_limits<Blas::Int>::max()) {
      throw Error(Errc::not_supported, "matmul", "an extent or stride of " + std::to_string(largest),
                  "is beyond OpenBLAS's integers; multiply parts of the matrices", where);
    }
    (void)Blas::get(where);
    return std::make_shared<const runtime::MatmulPlan>(shape, 0);
  });
}

void matmul(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* out) {
  switch (shape.type) {
    case kernels::Type::float16: run_widened<kernels::Half>(shape, a, b, bias, out); break;
    case kernels::Type::bfloat16: run_widened<kernels::BFloat>(shape, a, b, bias, out); break;
    case kernels::Type::float64: run<double>(shape, a, b, bias, out); break;
    default: run<float>(shape, a, b, bias, out); break;
  }
}

}  // namespace refrain::host
