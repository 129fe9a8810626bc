#pragma once

#include <refrain/source_location.hpp>

namespace refrain::host {

/// OpenBLAS, loaded at the first matrix product. It computes each on the calling thread alone, unless the program has
/// loaded it itself: then its number of threads is the program's.
struct Blas {
  // Of CBLAS, with its enumerations as what they are in C.
  using Int = int;
  template <class T>
  using Gemm = void(int order, int transpose_a, int transpose_b, Int m, Int n, Int k, T alpha, const T* a, Int lda,
                    const T* b, Int ldb, T beta, T* c, Int ldc);
  static constexpr int row_major = 101;
  static constexpr int as_it_is = 111;
  static constexpr int transposed = 112;

  Gemm<float>* sgemm;
  Gemm<double>* dgemm;

  /// @throws Error(Errc::not_supported) naming what to install
  static const Blas& get(SourceLocation where);
};

}  // namespace refrain::host
