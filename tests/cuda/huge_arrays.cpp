// Arrays of more elements than 32 bits count.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/movement.hpp>
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

/// Counting, rolling, picking and joining, looked at where a count of 32 bits would not reach.
void move(std::int64_t n, rf::test::Mode mode) {
  const auto last = [n](const rf::Array& x, std::int64_t end) {
    return x.slice(n - end, n).cast(rf::DType::int64).to_vector<std::int64_t>();
  };
  {
    const rf::Array bytes = rf::test::run_as(mode, [&] { return (rf::arange(n) % 251).cast(rf::DType::uint8); });
    BOOST_TEST(last(bytes, 2) == (std::vector{(n - 2) % 251, (n - 1) % 251}), per_element());
  }
  rf::trim(rf::current_device());
  rf::Array x = rf::zeros({n}, {.dtype = rf::DType::uint8});
  x.slice(n - 3, n).assign(rf::array({5, 6, 7}, {.dtype = rf::DType::uint8}));
  BOOST_TEST(last(rf::test::run_as(mode, [&] { return rf::roll(x, 1, 0); }), 3) == (std::vector<std::int64_t>{0, 5, 6}),
             per_element());
  // Backwards, so that the first three are the last after it.
  BOOST_TEST(
      last(rf::test::run_as(mode, [&] { return rf::roll(x.flip(0), -3); }), 3) == (std::vector<std::int64_t>{7, 6, 5}),
      per_element());
  const rf::Array at = rf::array({n - 1, -std::int64_t{2}, n, std::int64_t{0}});
  BOOST_TEST(rf::test::run_as(mode, [&] { return rf::take(x, at); }).to_vector<std::uint8_t>() ==
                 (std::vector<std::uint8_t>{7, 6, 255, 0}),
             per_element());
  const rf::Array twice = rf::test::run_as(mode, [&] { return rf::concatenate({x.slice(n - 2, n), x}); });
  BOOST_TEST(twice.slice(n, n + 2).to_vector<std::uint8_t>() == (std::vector<std::uint8_t>{6, 7}), per_element());
  rf::synchronize();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_huge_arrays)

BOOST_AUTO_TEST_CASE(bytes_beyond_32_bits_of_them_are_counted_and_moved, *boost::unit_test::label("report-70")) {
  for (const std::int64_t n : {two_to_31 - 1, two_to_31 + 5, 2 * two_to_31 + 5}) {
    if (!has_memory(18 * n)) return;
    BOOST_TEST_CONTEXT(n) {
      move(n, rf::test::Mode::eager);
      move(n, rf::test::Mode::graph);
    }
    rf::trim(rf::current_device());
  }
}

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
