#include "cuda/matmul.hpp"

#include "cuda/blas.hpp"
#include "cuda/capture_alone.hpp"
#include "cuda/scopes.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/environment.hpp"

#include <refrain/error.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace refrain::cuda {

namespace {

using runtime::MatmulOperand;
using runtime::MatmulShape;

/// What an algorithm may take for splitting sums; as much as cuBLAS takes by default on Hopper.
constexpr std::size_t most_workspace = 32u << 20;

cudaDataType_t data_type(kernels::Type type) {
  switch (type) {
    case kernels::Type::float16: return CUDA_R_16F;
    case kernels::Type::bfloat16: return CUDA_R_16BF;
    case kernels::Type::float64: return CUDA_R_64F;
    default: return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const MatmulShape& shape) {
  if (shape.type == kernels::Type::float64) return CUBLAS_COMPUTE_64F;
  if (shape.type != kernels::Type::float32) return CUBLAS_COMPUTE_32F;
  switch (shape.precision) {
    case MatmulPrecision::exact: break;
    case MatmulPrecision::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case MatmulPrecision::bfloat16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    case MatmulPrecision::float16: return CUBLAS_COMPUTE_32F_FAST_16F;
  }
  return CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue(const MatmulShape& shape) {
  if (shape.has_bias) return shape.has_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return shape.has_relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

/// Of a product in the library's terms: column-major, so that out, row-major, is (b^T a^T): its first operand is b.
class Product {
 public:
  Product(const Blas& blas, const MatmulShape& shape) : blas_(blas) {
    try {
      describe(shape);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Product() { destroy(); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  cublasLtMatmulDesc_t desc() const noexcept { return desc_; }
  cublasLtMatrixLayout_t first() const noexcept { return first_; }
  cublasLtMatrixLayout_t second() const noexcept { return second_; }
  cublasLtMatrixLayout_t out() const noexcept { return out_; }

  void set_bias(const void* bias) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(blas_.set_product(desc_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  template <class T>
  void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
    check(blas_.set_layout(layout, attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
  }

  void describe(const MatmulShape& shape) {
    const cudaDataType_t type = data_type(shape.type);
    check(blas_.create_product(&desc_, compute_type(shape), type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, shape.b.is_transposed() ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, shape.a.is_transposed() ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(shape));
    if (shape.has_bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    make(first_, type, shape.b, shape.n, shape.k);
    make(second_, type, shape.a, shape.k, shape.m);
    check(blas_.create_layout(&out_, type, static_cast<std::uint64_t>(shape.n), static_cast<std::uint64_t>(shape.m),
                              shape.n),
          "cublasLtMatrixLayoutCreate");
    if (shape.batch_ndim == 0) return;
    const int last = shape.batch_ndim - 1;
    const auto batch = [&](cublasLtMatrixLayout_t layout, std::int64_t stride) {
      set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(shape.batch_extents[last]));
      set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    };
    batch(first_, shape.b.batch_strides[last]);
    batch(second_, shape.a.batch_strides[last]);
    batch(out_, shape.m * shape.n);
  }

  /// Of an operand that is rows x columns after its transposition.
  void make(cublasLtMatrixLayout_t& layout, cudaDataType_t type, const MatmulOperand& operand, std::int64_t rows,
            std::int64_t columns) {
    if (operand.is_transposed()) std::swap(rows, columns);
    check(blas_.create_layout(&layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                              operand.leading()),
          "cublasLtMatrixLayoutCreate");
  }

  void destroy() noexcept {
    for (const cublasLtMatrixLayout_t layout : {first_, second_, out_}) {
      if (layout != nullptr) (void)blas_.destroy_layout(layout);
    }
    if (desc_ != nullptr) (void)blas_.destroy_product(desc_);
  }

  const Blas& blas_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr;
  cublasLtMatrixLayout_t second_ = nullptr;
  cublasLtMatrixLayout_t out_ = nullptr;
};

/// What the library recommends.
cublasLtMatmulHeuristicResult_t choose(int device, const MatmulShape& shape, const Product& product,
                                       SourceLocation where) {
  const Blas& blas = Blas::get(where);
  const cublasLtHandle_t handle = blas_handle(device, where);
  cublasLtMatmulPreference_t preference = nullptr;
  check(blas.create_preference(&preference), "cublasLtMatmulPreferenceCreate", where);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return blas.set_preference(preference, attribute, &value, sizeof value);
  };
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  cublasStatus_t status = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
  const auto set_alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute, int bytes) {
    if (status == CUBLAS_STATUS_SUCCESS) status = set(attribute, static_cast<std::uint32_t>(bytes));
  };
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.b.alignment);  // its first operand is our second
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.a.alignment);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.out_alignment);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.out_alignment);
  if (status == CUBLAS_STATUS_SUCCESS) {
    const DeviceScope current(device);
    const CallScope call;
    status = blas.find_algorithms(handle, product.desc(), product.first(), product.second(), product.out(),
                                  product.out(), preference, 1, &result, &count);
  }
  (void)blas.destroy_preference(preference);
  check(status, "cublasLtMatmulAlgoGetHeuristic", where);
  if (count == 0) check(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic", where);
  return result;
}

class CudaMatmul final : public runtime::MatmulPlan {
 public:
  CudaMatmul(int device, const MatmulShape& shape, std::unique_ptr<Product> product,
             const cublasLtMatmulHeuristicResult_t& chosen)
      : MatmulPlan(shape, static_cast<std::int64_t>(chosen.workspaceSize)),
        device_(device),
        product_(std::move(product)),
        algorithm_(chosen.algo) {}

  void launch(cudaStream_t stream, const void* a, const void* b, const void* bias, void* out, void* workspace) const {
    const Blas& blas = Blas::get({});
    const std::lock_guard lock(mutex_);  // the bias is part of the description
    if (shape.has_bias) product_->set_bias(bias);
    const std::int64_t size = kernels::element_size(shape.type);
    const double one_64 = 1;
    const double zero_64 = 0;
    const float one_32 = 1;
    const float zero_32 = 0;
    const bool is_64 = shape.type == kernels::Type::float64;
    const void* const one = is_64 ? static_cast<const void*>(&one_64) : &one_32;
    const void* const zero = is_64 ? static_cast<const void*>(&zero_64) : &zero_32;
    const int inner = shape.batch_ndim > 0 ? 1 : 0;
    runtime::for_each_batch(shape, inner, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_out) {
      const void* const from_a = static_cast<const std::byte*>(a) + at_a * size;
      const void* const from_b = static_cast<const std::byte*>(b) + at_b * size;
      void* const to = static_cast<std::byte*>(out) + at_out * size;
      check(blas.multiply(blas_handle(device_, {}), product_->desc(), one, from_b, product_->first(), from_a,
                          product_->second(), zero, to, product_->out(), to, product_->out(), &algorithm_, workspace,
                          static_cast<std::size_t>(workspace_bytes), stream),
            "cublasLtMatmul");
    });
  }

 private:
  int device_;
  std::unique_ptr<Product> product_;
  cublasLtMatmulAlgo_t algorithm_;
  mutable std::mutex mutex_;
};

}  // namespace

std::shared_ptr<const runtime::MatmulPlan> plan_matmul(int device, const MatmulShape& shape, SourceLocation where) {
  static auto& plans = *new std::array<runtime::MatmulPlans, runtime::most_devices>;
  return plans[static_cast<std::size_t>(device)].get(shape, [&] {
    const Blas& blas = Blas::get(where);
    auto product = std::make_unique<Product>(blas, shape);
    const auto chosen = choose(device, shape, *product, where);
    return std::make_shared<const CudaMatmul>(device, shape, std::move(product), chosen);
  });
}

void launch_matmul(cudaStream_t stream, const runtime::MatmulCommand& command, void* const* addresses) {
  const auto at = [&](int access) { return access >= 0 ? addresses[access] : nullptr; };
  const RelaxedWhileCapturing relaxed;  // a kernel's first use may load it
  static_cast<const CudaMatmul&>(*command.plan)
      .launch(stream, addresses[1], addresses[2], at(command.bias_access), addresses[0], at(command.workspace_access));
}

OwnedGraph matmul_graph(int device, int priority, const runtime::MatmulCommand& command, void* const* addresses) {
  return capture_alone(device, priority, [&](cudaStream_t stream) { launch_matmul(stream, command, addresses); });
}

}  // namespace refrain::cuda
