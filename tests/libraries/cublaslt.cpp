// cuBLASLt: no state but the handle; the algorithm is chosen before the capture, the workspace is an argument.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <cublasLt.h>

namespace rf = refrain;
using rf::test::gemm_k;
using rf::test::gemm_m;
using rf::test::gemm_n;
using rf::test::require;

namespace {

using Handle = rf::test::Owned<cublasLtHandle_t, cublasLtCreate, cublasLtDestroy>;
using Operation = rf::test::Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy>;
using Layout = rf::test::Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy>;
using Preference =
    rf::test::Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy>;

class Matmul {
 public:
  static constexpr std::int64_t input_size = std::int64_t{gemm_k} * gemm_n;
  static constexpr double tolerance = 1e-6;

  Matmul() {
    const Preference preference;
    const auto most = static_cast<std::uint64_t>(workspace_bytes());
    require(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                                 sizeof most));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    require(cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation_.get(), of_weights_.get(), of_x_.get(), of_y_.get(),
                                           of_y_.get(), preference.get(), 1, &found, &count));
    BOOST_REQUIRE(count == 1);
    algorithm_ = found.algo;
  }

  std::int64_t workspace_bytes() const { return std::int64_t{32} << 20; }

  rf::Array run(const rf::Array& x, const rf::Array& workspace) const {
    rf::Array y = rf::empty({std::int64_t{gemm_m} * gemm_n});
    rf::current_stream().enqueue(
        "matmul", rf::read(weights_), rf::read(x), rf::write(y), rf::write(workspace),
        [&](cudaStream_t stream, const float* a, const float* b, float* c, void* scratch) {
          const float one = 1;
          const float zero = 0;
          require(cublasLtMatmul(handle_.get(), operation_.get(), &one, a, of_weights_.get(), b, of_x_.get(), &zero, c,
                                 of_y_.get(), c, of_y_.get(), &algorithm_, scratch,
                                 static_cast<std::size_t>(workspace_bytes()), stream));
        });
    return y;
  }

  static std::vector<double> expected(const std::vector<double>& x) { return rf::test::gemm_expected(x); }

 private:
  Handle handle_;
  Operation operation_{CUBLAS_COMPUTE_32F, CUDA_R_32F};
  Layout of_weights_{CUDA_R_32F, gemm_m, gemm_k, gemm_m};
  Layout of_x_{CUDA_R_32F, gemm_k, gemm_n, gemm_k};
  Layout of_y_{CUDA_R_32F, gemm_m, gemm_n, gemm_m};
  cublasLtMatmulAlgo_t algorithm_{};
  rf::Array weights_ = rf::test::gemm_weights();
};

}  // namespace

BOOST_AUTO_TEST_SUITE(library_cublaslt)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Matmul>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Matmul>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(it_gives_the_numbers_of_a_plain_loop_in_every_mode) { rf::test::check_every_mode<Matmul>(); }
BOOST_AUTO_TEST_CASE(branches_with_a_handle_each_run_side_by_side) { rf::test::check_branches<Matmul>(); }
BOOST_AUTO_TEST_CASE(graphs_that_share_a_handle_do_not_share_its_workspace) { rf::test::check_two_graphs<Matmul>(); }
BOOST_AUTO_TEST_CASE(handle_and_graph_may_be_destroyed_in_either_order) { rf::test::check_destruction<Matmul>(); }

BOOST_AUTO_TEST_SUITE_END()
