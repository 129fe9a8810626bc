// CUB: algorithms on a stream, with temporary storage that the caller gives.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>

namespace rf = refrain;
using rf::test::require;

namespace {

constexpr int count = 100'000;

/// The numbers sorted, their running sums, their sum.
class Algorithms {
 public:
  static constexpr std::int64_t input_size = count;
  static constexpr double tolerance = 1e-6;

  Algorithms() {
    const float* x = nullptr;
    float* y = nullptr;
    for (const auto call : {sort, scan, sum}) {
      std::size_t bytes = 0;
      require(call(nullptr, bytes, x, y, nullptr));
      bytes_ = std::max(bytes_, bytes);
    }
  }

  std::int64_t workspace_bytes() const { return static_cast<std::int64_t>(bytes_); }

  rf::Array run(const rf::Array& x, const rf::Array& workspace) const {
    rf::Array y = rf::empty({2 * count + 1});
    rf::current_stream().enqueue("algorithms", rf::read(x), rf::write(y), rf::write(workspace),
                                 [&](cudaStream_t stream, const float* in, float* out, void* scratch) {
                                   std::size_t bytes = bytes_;
                                   require(sort(scratch, bytes, in, out, stream));
                                   require(scan(scratch, bytes, in, out + count, stream));
                                   require(sum(scratch, bytes, in, out + 2 * count, stream));
                                 });
    return y;
  }

  static std::vector<double> expected(const std::vector<double>& x) {
    std::vector<double> y = x;
    std::sort(y.begin(), y.end());
    double sum = 0;
    for (const double value : x) y.push_back(sum += value);
    y.push_back(sum);
    return y;
  }

 private:
  static cudaError_t sort(void* workspace, std::size_t& bytes, const float* x, float* y, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(workspace, bytes, x, y, count, 0, 8 * sizeof(float), stream);
  }
  static cudaError_t scan(void* workspace, std::size_t& bytes, const float* x, float* y, cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSum(workspace, bytes, x, y, count, stream);
  }
  static cudaError_t sum(void* workspace, std::size_t& bytes, const float* x, float* y, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(workspace, bytes, x, y, count, stream);
  }

  std::size_t bytes_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(library_cub)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Algorithms>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Algorithms>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(it_gives_the_numbers_of_a_plain_loop_in_every_mode) { rf::test::check_every_mode<Algorithms>(); }
BOOST_AUTO_TEST_CASE(branches_with_temporary_storage_each_run_side_by_side) { rf::test::check_branches<Algorithms>(); }
BOOST_AUTO_TEST_CASE(graphs_do_not_share_temporary_storage) { rf::test::check_two_graphs<Algorithms>(); }
BOOST_AUTO_TEST_CASE(a_graph_needs_nothing_that_is_left_of_the_call) { rf::test::check_destruction<Algorithms>(); }

BOOST_AUTO_TEST_SUITE_END()
