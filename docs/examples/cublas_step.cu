// A cuBLAS call between ops of Refrain's: x = A x + 1, recorded once and replayed. The handle is made before the
// capture, the workspace is an array of the graph's own.

#include <refrain/cuda.hpp>

#include <cublas_v2.h>

#include <cstdlib>
#include <iostream>

namespace rf = refrain;

namespace {

constexpr int n = 1000;
constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;  // what cuBLAS recommends for Hopper

void require(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::cerr << "cuBLAS: " << cublasGetStatusString(status) << "\n";
  std::exit(1);
}

rf::Array workspace() { return rf::empty({workspace_bytes / 8}, {.dtype = rf::DType::int64}); }

rf::Array multiply(cublasHandle_t handle, const rf::Array& matrix, const rf::Array& vector, const rf::Array& space) {
  rf::Array product = rf::empty({n});
  rf::current_stream().enqueue(
      "gemv", rf::read(matrix), rf::read(vector), rf::write(product), rf::write(space),
      [&](cudaStream_t stream, const float* a, const float* x, float* y, void* scratch) {
        const float one = 1;
        const float zero = 0;
        require(cublasSetStream(handle, stream));
        require(cublasSetWorkspace(handle, scratch, workspace_bytes));  // after the stream, which takes it back
        require(cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, a, n, x, 1, &zero, y, 1));
      });
  return product;
}

}  // namespace

int main() {
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle));
  const rf::Array matrix = rf::full({n, n}, 0.5 / n);
  rf::Array x = rf::zeros({n});
  {
    const rf::GraphExec step =
        rf::capture([&] { x.assign(multiply(handle, matrix, x, workspace()) + 1); }).instantiate();
    for (int i = 0; i < 100; ++i) step.replay();
    std::cout << step.explain();
  }
  const float reached = x.slice(0, 1).item<float>();  // 1 + 1/2 + 1/4 + ...
  std::cout << reached << "\n";
  require(cublasDestroy(handle));
  return reached > 1.999F && reached < 2.001F ? 0 : 1;
}
