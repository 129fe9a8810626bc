#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <refrain/source_location.hpp>

namespace refrain::cuda {

/// cuBLASLt, loaded at the first matrix product.
struct Blas {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmulDescCreate) create_product;
  decltype(&cublasLtMatmulDescDestroy) destroy_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms;
  decltype(&cublasLtMatmul) multiply;
  decltype(&cublasLtGetStatusString) describe;

  /// @throws Error(Errc::not_supported) naming what to install
  static const Blas& get(SourceLocation where);
};

/// The device's handle, made at the first use and kept.
cublasLtHandle_t blas_handle(int device, SourceLocation where);

/// The one place where a status of cuBLASLt becomes an Error.
/// @param expression what was called, for the text
void check(cublasStatus_t status, const char* expression, SourceLocation where = SourceLocation::current());

}  // namespace refrain::cuda
