// mlp: a call of cuBLASLt a layer, bias and relu in its epilogue, by the algorithm that is the fastest here.

#include "inputs.hpp"
#include "raw/program.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace refrain::bench {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS recommends for Hopper
constexpr int most_algorithms = 32;                             // that are tried
constexpr int trials = 5;
constexpr int calls_a_trial = 50;

void check(cublasStatus_t status, SourceLocation where = SourceLocation::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(cublasLtGetStatusName(status)) + " at " + where.str());
}
using bench::check;

template <class Handle, class Destroy>
std::shared_ptr<std::remove_pointer_t<Handle>> own(Handle handle, Destroy destroy) {
  return {handle, [destroy](Handle owned) { destroy(owned); }};
}

auto make_handle() {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle));
  return own(handle, cublasLtDestroy);
}

/// Column by column.
auto make_layout(int rows, int columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows));
  return own(layout, cublasLtMatrixLayoutDestroy);
}

/// relu(weight^T x + bias), sums and products in float32.
auto make_product(const float* bias) {
  cublasLtMatmulDesc_t product = nullptr;
  check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  auto owner = own(product, cublasLtMatmulDescDestroy);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return owner;
}

auto make_preference() {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference));
  auto owner = own(preference, cublasLtMatmulPreferenceDestroy);
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                             sizeof workspace_bytes));
  return owner;
}

EventHandle make_timing_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event));
  return own(event, cudaEventDestroy);
}

class Layer {
 public:
  Layer() {
    const std::vector<Algorithm> candidates = find_algorithms();
    const auto weight = make_device_copy(mlp_weight(0));
    const auto in = make_device_copy(mlp_input());
    const auto out = make_device_array<float>(mlp_batch * mlp_width);
    double least = std::numeric_limits<double>::infinity();
    for (const Algorithm& candidate : candidates) {
      const double taken = time(candidate, weight.get(), in.get(), out.get());
      if (taken < least) algorithm_ = candidate;
      least = std::min(least, taken);
    }
  }

  void launch(const float* weight, const float* in, float* out, cudaStream_t stream) const {
    launch(algorithm_, weight, in, out, stream);
  }

 private:
  using Algorithm = cublasLtMatmulAlgo_t;

  std::vector<Algorithm> find_algorithms() const {
    cublasLtMatmulHeuristicResult_t found[most_algorithms];
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle_.get(), product_.get(), weight_.get(), activations_.get(),
                                         activations_.get(), activations_.get(), make_preference().get(),
                                         most_algorithms, found, &count));
    std::vector<Algorithm> usable;
    for (int i = 0; i < count; ++i) {
      if (found[i].state == CUBLAS_STATUS_SUCCESS) usable.push_back(found[i].algo);
    }
    if (usable.empty()) throw std::runtime_error("cuBLASLt has no algorithm for the layers of mlp");
    return usable;
  }

  /// Milliseconds of so many calls; the least of the trials, the first of which loads the kernel.
  double time(const Algorithm& algorithm, const float* weight, const float* in, float* out) const {
    const StreamHandle stream = make_stream();
    const EventHandle begin = make_timing_event();
    const EventHandle end = make_timing_event();
    float least = std::numeric_limits<float>::infinity();
    for (int trial = 0; trial < trials; ++trial) {
      check(cudaEventRecord(begin.get(), stream.get()));
      for (int i = 0; i < calls_a_trial; ++i) launch(algorithm, weight, in, out, stream.get());
      check(cudaEventRecord(end.get(), stream.get()));
      check(cudaEventSynchronize(end.get()));
      float taken = 0;
      check(cudaEventElapsedTime(&taken, begin.get(), end.get()));
      least = std::min(least, taken);
    }
    return double{least};
  }

  void launch(const Algorithm& algorithm, const float* weight, const float* in, float* out, cudaStream_t stream) const {
    const float one = 1;
    const float zero = 0;
    check(cublasLtMatmul(handle_.get(), product_.get(), &one, weight, weight_.get(), in, activations_.get(), &zero, out,
                         activations_.get(), out, activations_.get(), &algorithm, workspace_.get(), workspace_bytes,
                         stream));
  }

  std::shared_ptr<float> bias_ = make_device_copy(std::vector<float>(mlp_width, mlp_bias));
  std::shared_ptr<std::byte> workspace_ = make_device_bytes(workspace_bytes);
  decltype(make_handle()) handle_ = make_handle();
  decltype(make_product(nullptr)) product_ = make_product(bias_.get());
  decltype(make_layout(0, 0)) weight_ = make_layout(mlp_width, mlp_width);
  decltype(make_layout(0, 0)) activations_ = make_layout(mlp_width, mlp_batch);
  Algorithm algorithm_{};
};

RawProgram mlp(int) {
  std::vector<std::shared_ptr<float>> weights;
  for (int layer = 0; layer < mlp_layers; ++layer) weights.push_back(make_device_copy(mlp_weight(layer)));
  constexpr std::size_t size = mlp_batch * mlp_width;
  const std::shared_ptr<float> turns[2] = {make_device_array<float>(size), make_device_array<float>(size)};
  static_assert(mlp_layers % 2 == 0);
  return {.step =
              [weights, layer = std::make_shared<const Layer>(), input = make_device_copy(mlp_input()),
               first = turns[0], second = turns[1]](cudaStream_t stream) {
                const float* in = input.get();
                for (std::size_t i = 0; i < weights.size(); ++i) {
                  float* const out = i % 2 == 0 ? first.get() : second.get();
                  layer->launch(weights[i].get(), in, out, stream);
                  in = out;
                }
              },
          .results = {{turns[1].get(), size * sizeof(float)}},
          .is_stateless = true,
          .tolerance = 1e-5};
}

}  // namespace

std::vector<Baseline> hand_mlp() { return {hand_graph("mlp", hand_mode, hand_summary, mlp)}; }

}  // namespace refrain::bench
