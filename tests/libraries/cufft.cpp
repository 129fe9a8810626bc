// cuFFT: a plan without a work area of its own, from before the capture.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <cufft.h>

#include <cmath>
#include <complex>
#include <numbers>

namespace rf = refrain;
using rf::test::require;

namespace {

constexpr int points = 1009;  // a prime, so that cuFFT needs its work area
constexpr int batch = 4;

class Plan {
 public:
  Plan() {
    require(cufftCreate(&plan_));
    require(cufftSetAutoAllocation(plan_, 0));
    require(cufftMakePlan1d(plan_, points, CUFFT_C2C, batch, &bytes_));
  }
  ~Plan() { static_cast<void>(cufftDestroy(plan_)); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  cufftHandle get() const { return plan_; }
  std::size_t bytes() const { return bytes_; }

 private:
  cufftHandle plan_ = 0;
  std::size_t bytes_ = 0;
};

class Transform {
 public:
  static constexpr std::int64_t input_size = std::int64_t{2} * points * batch;
  static constexpr double tolerance = 1e-5;

  std::int64_t workspace_bytes() const { return static_cast<std::int64_t>(plan_.bytes()); }

  rf::Array run(const rf::Array& x, const rf::Array& workspace) const {
    rf::Array y = rf::empty({input_size});
    rf::current_stream().enqueue(
        "transform", rf::read(x), rf::write(y), rf::write(workspace),
        [&](cudaStream_t stream, const cufftComplex* in, cufftComplex* out, void* scratch) {
          require(cufftSetStream(plan_.get(), stream));
          require(cufftSetWorkArea(plan_.get(), scratch));
          require(cufftExecC2C(plan_.get(), const_cast<cufftComplex*>(in), out, CUFFT_FORWARD));
        });
    return y;
  }

  static std::vector<double> expected(const std::vector<double>& x) {
    std::vector<std::complex<double>> roots(points);
    for (std::size_t i = 0; i < points; ++i) {
      roots[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / points);
    }
    std::vector<double> y(x.size());
    for (std::size_t first = 0; first < x.size() / 2; first += points) {
      for (std::size_t k = 0; k < points; ++k) {
        std::complex<double> sum;
        for (std::size_t i = 0; i < points; ++i) {
          sum += std::complex(x[2 * (first + i)], x[2 * (first + i) + 1]) * roots[i * k % points];
        }
        y[2 * (first + k)] = sum.real();
        y[2 * (first + k) + 1] = sum.imag();
      }
    }
    return y;
  }

 private:
  Plan plan_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(library_cufft)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Transform>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Transform>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(it_gives_the_numbers_of_a_plain_loop_in_every_mode) { rf::test::check_every_mode<Transform>(); }
BOOST_AUTO_TEST_CASE(branches_with_a_plan_each_run_side_by_side) { rf::test::check_branches<Transform>(); }
BOOST_AUTO_TEST_CASE(graphs_that_share_a_plan_do_not_share_its_work_area) { rf::test::check_two_graphs<Transform>(); }
BOOST_AUTO_TEST_CASE(plan_and_graph_may_be_destroyed_in_either_order) { rf::test::check_destruction<Transform>(); }

BOOST_AUTO_TEST_CASE(a_plan_that_is_made_in_a_capture_is_refused_with_the_label) {
  rf::test::check_refused("late plan", [](cudaStream_t, float*) {
    cufftHandle plan = 0;
    if (cufftPlan1d(&plan, points, CUFFT_C2C, batch) == CUFFT_SUCCESS) static_cast<void>(cufftDestroy(plan));
  });
  rf::test::check_first_use<Transform>(rf::test::Mode::graph);
}

BOOST_AUTO_TEST_SUITE_END()
