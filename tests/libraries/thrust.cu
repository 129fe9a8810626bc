// Thrust: par_nosync on the stream, with an allocator that hands out a workspace.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/system/system_error.h>
#include <thrust/transform.h>

#include <algorithm>
#include <new>

namespace rf = refrain;

namespace {

constexpr int count = 50'000;

/// Hands out a workspace from its begin; all of it is free again when the object is gone.
class Arena {
 public:
  using value_type = char;

  Arena(void* begin, std::int64_t bytes) : begin_(static_cast<char*>(begin)), bytes_(bytes) {}

  char* allocate(std::ptrdiff_t bytes) {
    constexpr std::int64_t alignment = 256;
    char* const given = begin_ + used_;
    used_ += (bytes + alignment - 1) / alignment * alignment;
    if (used_ > bytes_) throw std::bad_alloc();
    return given;
  }
  void deallocate(char*, std::size_t) {}

 private:
  char* begin_;
  std::int64_t bytes_;
  std::int64_t used_ = 0;
};

struct Negative {
  __host__ __device__ float operator()(float value) const { return -value; }
};

/// The numbers with the other sign and sorted, their running sums.
class Algorithms {
 public:
  static constexpr std::int64_t input_size = count;
  static constexpr double tolerance = 1e-6;

  std::int64_t workspace_bytes() const { return std::int64_t{8} << 20; }

  rf::Array run(const rf::Array& x, const rf::Array& workspace) const {
    rf::Array y = rf::empty({2 * count});
    rf::current_stream().enqueue("algorithms", rf::read(x), rf::write(y), rf::write(workspace),
                                 [&](cudaStream_t stream, const float* in, float* out, void* scratch) {
                                   Arena arena(scratch, workspace_bytes());
                                   const auto here = thrust::cuda::par_nosync(arena).on(stream);
                                   thrust::transform(here, in, in + count, out, Negative());
                                   thrust::sort(here, out, out + count);
                                   thrust::inclusive_scan(here, out, out + count, out + count);
                                 });
    return y;
  }

  static std::vector<double> expected(const std::vector<double>& x) {
    std::vector<double> y;
    for (const double value : x) y.push_back(-value);
    std::sort(y.begin(), y.end());
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(sum += y[i]);
    return y;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(library_thrust)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Algorithms>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Algorithms>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(it_gives_the_numbers_of_a_plain_loop_in_every_mode) { rf::test::check_every_mode<Algorithms>(); }
BOOST_AUTO_TEST_CASE(branches_with_a_workspace_each_run_side_by_side) { rf::test::check_branches<Algorithms>(); }
BOOST_AUTO_TEST_CASE(graphs_do_not_share_a_workspace) { rf::test::check_two_graphs<Algorithms>(); }
BOOST_AUTO_TEST_CASE(a_graph_needs_nothing_that_is_left_of_the_call) { rf::test::check_destruction<Algorithms>(); }

// A sum that the host is told waits for the stream; Thrust says so by an exception.
BOOST_AUTO_TEST_CASE(an_algorithm_that_answers_the_host_fails_and_leaves_the_capture_intact) {
  rf::Array x = rf::ones({count});
  const rf::Graph graph = rf::capture([&] {
    x += 1;
    const rf::Array workspace = rf::test::workspace_of(1 << 20);
    const auto enqueue = [&] {
      rf::current_stream().enqueue("sum for the host", rf::read(x), rf::write(workspace),
                                   [](cudaStream_t stream, const float* in, void* scratch) {
                                     Arena arena(scratch, 1 << 20);
                                     thrust::reduce(thrust::cuda::par_nosync(arena).on(stream), in, in + count);
                                   });
    };
    BOOST_CHECK_THROW(enqueue(), thrust::system_error);
    x += 1;
  });
  BOOST_TEST(graph.node_count() == 2);
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(x, 3));
  rf::test::check_first_use<Algorithms>(rf::test::Mode::graph);
}

// Without an allocator Thrust takes its memory in stream order, which goes into one executable.
BOOST_AUTO_TEST_CASE(memory_that_thrust_allocates_for_itself_goes_into_one_executable) {
  rf::Array x = rf::ones({count});
  const rf::Graph graph = rf::capture([&] {
    x += 1;
    rf::current_stream().enqueue("sort", rf::readwrite(x), [](cudaStream_t stream, float* values) {
      thrust::sort(thrust::cuda::par_nosync.on(stream), values, values + count);
    });
    x += 1;
  });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  exec.replay();
  BOOST_TEST(rf::test::holds(x, 5));
  rf::test::require_error(rf::Errc::not_supported, [&] { graph.instantiate(); }, {"sort", "workspace"});
}

BOOST_AUTO_TEST_SUITE_END()
