// Arrays of more elements than 32 bits count.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

namespace rf = refrain;
using boost::test_tools::per_element;

namespace {

constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;

/// Whether the device has so much memory left, and a message where it has not.
bool has_memory(std::int64_t bytes) {
  std::size_t left = 0;
  std::size_t all = 0;
  CUDA_REQUIRE(cudaMemGetInfo(&left, &all));
  if (static_cast<std::int64_t>(left) > bytes) return true;
  BOOST_TEST_MESSAGE("skipped: it takes " << (bytes >> 30) << " GiB");
  return false;
}

/// A fill, an addition, sums, and reads and writes at the end, which a count of 32 bits would not reach.
void run(std::int64_t n, rf::DType dtype, rf::test::Mode mode) {
  const auto last = [n](const rf::Array& x) {
    return x.slice(n - 4, n).cast(rf::DType::int64).to_vector<std::int64_t>();
  };
  rf::Array x = rf::full({n}, 1, {.dtype = dtype});
  x.slice(n - 2, n).assign(3);
  const rf::Array sum = rf::test::run_as(mode, [&] { return x + x; });
  BOOST_TEST(last(sum) == (std::vector<std::int64_t>{2, 2, 6, 6}), per_element());
  const std::int64_t total =
      rf::test::run_as(mode, [&] { return rf::sum(x.cast(rf::DType::uint8)); }).item<std::int64_t>();
  BOOST_TEST(total == n + 4);
  if (rf::is_floating(dtype)) {
    BOOST_TEST(rf::sum(x).item<double>() == static_cast<double>(static_cast<float>(n + 4)));
  }
  // Every third one from the end on, as a view that is read and written.
  x.slice({.step = -3}).assign(0);
  BOOST_TEST(last(x) == (std::vector<std::int64_t>{0, 1, 3, 0}), per_element());
  BOOST_TEST(rf::argmin(x.flip(0).slice(1, n)).item<std::int64_t>() == 2);
  rf::synchronize();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_huge_arrays)

BOOST_AUTO_TEST_CASE(bytes_around_and_beyond_32_bits_of_them, *boost::unit_test::label("report-70")) {
  for (const std::int64_t n : {two_to_31 - 1, two_to_31, two_to_31 + 5, 2 * two_to_31 + 5}) {
    if (!has_memory(6 * n)) return;
    BOOST_TEST_CONTEXT(n) {
      run(n, rf::DType::uint8, rf::test::Mode::eager);
      run(n, rf::DType::uint8, rf::test::Mode::graph);
    }
    rf::trim(rf::current_device());
  }
}

BOOST_AUTO_TEST_CASE(floats_beyond_31_bits_of_them, *boost::unit_test::label("report-70")) {
  constexpr std::int64_t n = two_to_31 + 5;
  if (!has_memory(5 * n * 4)) return;
  run(n, rf::DType::float32, rf::test::Mode::eager);
  run(n, rf::DType::float32, rf::test::Mode::graph);
  rf::trim(rf::current_device());
}

BOOST_AUTO_TEST_SUITE_END()
