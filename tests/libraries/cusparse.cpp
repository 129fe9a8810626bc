// cuSPARSE: a handle from before the capture; descriptors are host objects, made where the addresses are known.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <cusparse.h>

namespace rf = refrain;
using rf::test::require;

namespace {

constexpr std::int64_t rows = 2000;
constexpr std::int64_t most_per_row = 5;

using Handle = rf::test::Owned<cusparseHandle_t, cusparseCreate, cusparseDestroy>;

/// Row r has r % 6 numbers, compressed.
struct Sparse {
  std::vector<std::int32_t> begins{0};
  std::vector<std::int32_t> columns;
  std::vector<float> values;

  Sparse() {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < row % (most_per_row + 1); ++i) {
        columns.push_back(static_cast<std::int32_t>((row * 17 + i * (rows / most_per_row)) % rows));
        values.push_back(static_cast<float>((row + 3 * i) % 13 - 6) / 8.0F);
      }
      begins.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
};

const Sparse& sparse() {
  static const Sparse matrix;
  return matrix;
}

/// What cuSPARSE calls the matrix and the vectors.
class Descriptors {
 public:
  Descriptors(const int* begins, const int* columns, const float* values, const float* x, float* y) {
    require(cusparseCreateConstCsr(&matrix_, rows, rows, sparse().size(), begins, columns, values, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    require(cusparseCreateConstDnVec(&x_, rows, x, CUDA_R_32F));
    require(cusparseCreateDnVec(&y_, rows, y, CUDA_R_32F));
  }
  ~Descriptors() {
    static_cast<void>(cusparseDestroySpMat(matrix_));
    static_cast<void>(cusparseDestroyDnVec(x_));
    static_cast<void>(cusparseDestroyDnVec(y_));
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  /// Calls cusparseSpMV or a function with the same arguments but the last.
  template <class Call, class Last>
  void call(Call call, cusparseHandle_t handle, Last last) const {
    const float one = 1;
    const float zero = 0;
    require(call(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, x_, &zero, y_, CUDA_R_32F,
                 CUSPARSE_SPMV_ALG_DEFAULT, last));
  }

 private:
  cusparseConstSpMatDescr_t matrix_ = nullptr;
  cusparseConstDnVecDescr_t x_ = nullptr;
  cusparseDnVecDescr_t y_ = nullptr;
};

class Product {
 public:
  static constexpr std::int64_t input_size = rows;
  static constexpr double tolerance = 1e-6;

  Product() {
    rf::Array x = rf::zeros({rows});
    rf::Array y = rf::zeros({rows});
    enqueue("size", x, y, rf::zeros({1}),
            [&](cudaStream_t, const int* begins, const int* columns, const float* values, const float* in, float* out,
                void*) {
              Descriptors(begins, columns, values, in, out).call(cusparseSpMV_bufferSize, handle_.get(), &bytes_);
            });
  }

  std::int64_t workspace_bytes() const { return static_cast<std::int64_t>(bytes_); }

  rf::Array run(const rf::Array& x, const rf::Array& workspace) const {
    rf::Array y = rf::empty({rows});
    enqueue("product", x, y, workspace,
            [&](cudaStream_t stream, const int* begins, const int* columns, const float* values, const float* in,
                float* out, void* scratch) {
              require(cusparseSetStream(handle_.get(), stream));
              Descriptors(begins, columns, values, in, out).call(cusparseSpMV, handle_.get(), scratch);
            });
    return y;
  }

  static std::vector<double> expected(const std::vector<double>& x) {
    std::vector<double> y(x.size());
    for (std::size_t row = 0; row < y.size(); ++row) {
      const auto end = static_cast<std::size_t>(sparse().begins[row + 1]);
      for (auto i = static_cast<std::size_t>(sparse().begins[row]); i < end; ++i) {
        y[row] += sparse().values[i] * x[static_cast<std::size_t>(sparse().columns[i])];
      }
    }
    return y;
  }

 private:
  template <class Fn>
  void enqueue(const char* label, const rf::Array& x, rf::Array& y, const rf::Array& workspace, Fn fn) const {
    rf::current_stream().enqueue(label, rf::read(begins_), rf::read(columns_), rf::read(values_), rf::read(x),
                                 rf::write(y), rf::write(workspace), fn);
  }

  Handle handle_;
  rf::Array begins_ = rf::from_host(sparse().begins, {rows + 1});
  rf::Array columns_ = rf::from_host(sparse().columns, {sparse().size()});
  rf::Array values_ = rf::from_host(sparse().values, {sparse().size()});
  std::size_t bytes_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(library_cusparse)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Product>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Product>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(it_gives_the_numbers_of_a_plain_loop_in_every_mode) { rf::test::check_every_mode<Product>(); }
BOOST_AUTO_TEST_CASE(branches_with_a_handle_each_run_side_by_side) { rf::test::check_branches<Product>(); }
BOOST_AUTO_TEST_CASE(graphs_that_share_a_handle_do_not_share_its_workspace) { rf::test::check_two_graphs<Product>(); }
BOOST_AUTO_TEST_CASE(handle_and_graph_may_be_destroyed_in_either_order) { rf::test::check_destruction<Product>(); }

BOOST_AUTO_TEST_CASE(a_handle_that_is_made_in_a_capture_is_refused_with_the_label) {
  rf::test::check_refused("late handle", [](cudaStream_t, float*) {
    cusparseHandle_t handle = nullptr;
    if (cusparseCreate(&handle) == CUSPARSE_STATUS_SUCCESS) static_cast<void>(cusparseDestroy(handle));
    void* buffer = nullptr;  // and the buffer that comes with it
    if (cudaMalloc(&buffer, 1024) == cudaSuccess) static_cast<void>(cudaFree(buffer));
  });
  rf::test::check_first_use<Product>(rf::test::Mode::graph);
}

BOOST_AUTO_TEST_SUITE_END()
