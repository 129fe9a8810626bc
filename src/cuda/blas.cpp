#include "cuda/blas.hpp"

#include "cuda/scopes.hpp"
#include "runtime/environment.hpp"
#include "runtime/library.hpp"

#include <refrain/error.hpp>

#include <array>
#include <mutex>
#include <string>

namespace refrain::cuda {

namespace {

constexpr int blas_version = CUDART_VERSION / 1000;

Errc code_of(cublasStatus_t status) noexcept {
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED: return Errc::out_of_memory;
    case CUBLAS_STATUS_INVALID_VALUE: return Errc::invalid_value;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED: return Errc::not_supported;
    default: return Errc::backend;
  }
}

}  // namespace

const Blas& Blas::get(SourceLocation where) {
  static const Blas all = [&] {
    const std::string name = "libcublasLt.so." + std::to_string(blas_version);
    const runtime::Library library(
        {name, REFRAIN_CUDA_LIBRARIES "/" + name}, "matmul",
        "install cuBLAS of CUDA " + std::to_string(blas_version) + ", or put its folder into LD_LIBRARY_PATH", where);
    Blas found{};
    library.find(found.create, "cublasLtCreate");
    library.find(found.create_product, "cublasLtMatmulDescCreate");
    library.find(found.destroy_product, "cublasLtMatmulDescDestroy");
    library.find(found.set_product, "cublasLtMatmulDescSetAttribute");
    library.find(found.create_layout, "cublasLtMatrixLayoutCreate");
    library.find(found.destroy_layout, "cublasLtMatrixLayoutDestroy");
    library.find(found.set_layout, "cublasLtMatrixLayoutSetAttribute");
    library.find(found.create_preference, "cublasLtMatmulPreferenceCreate");
    library.find(found.destroy_preference, "cublasLtMatmulPreferenceDestroy");
    library.find(found.set_preference, "cublasLtMatmulPreferenceSetAttribute");
    library.find(found.find_algorithms, "cublasLtMatmulAlgoGetHeuristic");
    library.find(found.multiply, "cublasLtMatmul");
    library.find(found.describe, "cublasLtGetStatusString");
    return found;
  }();
  return all;
}

cublasLtHandle_t blas_handle(int device, SourceLocation where) {
  static std::mutex mutex;
  static std::array<cublasLtHandle_t, runtime::most_devices> handles{};
  const Blas& blas = Blas::get(where);
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[static_cast<std::size_t>(device)];
  if (handle == nullptr) {
    const DeviceScope current(device);
    const CallScope call;
    check(blas.create(&handle), "cublasLtCreate", where);
  }
  return handle;
}

void check(cublasStatus_t status, const char* expression, SourceLocation where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  // A launch has failed: what CUDA has to say about it tells more, as that the device is lost.
  if (status == CUBLAS_STATUS_EXECUTION_FAILED) check(cudaPeekAtLastError(), expression, where);
  throw Error(code_of(status), "cublasLt", expression, Blas::get(where).describe(status), where);
}

}  // namespace refrain::cuda
