// Math::fast: fused commands may round a product and the sum it is added to as one, on CUDA; on the host they do not.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr InstantiateOptions fast{.math = Math::fast};

/// What an executable's only command gives where products are rounded before they are added, and where they are not.
float expected(const GraphExec& exec, float exact, float contracted) {
  BOOST_TEST_REQUIRE(exec.node_count() == 1);
  return current_device().kind == DeviceKind::cuda ? contracted : exact;
}

/// Squares x = 1 + 2^-12 and takes away what that is, rounded: 0, and 2^-24 with one rounding less.
struct Square {
  Array x = full({1000}, 1 + 0x1p-12F);
  Array y = full({1000}, 1 + 0x1p-11F);

  Array operator()() const { return x * x - y; }
};
constexpr float exact_rest = 0;
constexpr float contracted_rest = 0x1p-24F;

/// Requires of a program's results, of about `size`, that fast ones are as near to exact ones as 40 roundings.
template <class Program>
void require_close(const Program& program, double size) {
  const auto [graph, found] = capture(program);
  const GraphExec exec = graph.instantiate(fast);
  exec.replay();
  const std::vector<Array> exact = program();
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const std::vector<double> wanted = numbers(exact[k]);
    const std::vector<double> given = numbers(found[k]);
    double furthest = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) furthest = std::max(furthest, std::abs(wanted[i] - given[i]));
    BOOST_TEST(furthest <= 40 * 0x1p-24 * size, "result " << k << " is off by " << furthest);
    if (current_device().kind == DeviceKind::host) BOOST_TEST(same_bits(exact[k], found[k]));
  }
}

/// Whether CUDA devices fuse here: else nothing is contracted.
bool can_fuse() {
  if (capture(Square()).first.instantiate().node_count() == 1) return true;
  BOOST_TEST_MESSAGE("nothing is fused here");
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(math_modes, *label("sanitize"))

BOOST_AUTO_TEST_CASE(exact_is_the_default_and_gives_what_eager_calls_give) {
  const Square square;
  BOOST_TEST(holds(square(), exact_rest));
  BOOST_TEST((InstantiateOptions().math == Math::exact));
  for (const InstantiateOptions options : {InstantiateOptions{}, InstantiateOptions{.math = Math::exact}}) {
    const auto [graph, rest] = capture(square);
    graph.instantiate(options).replay();
    BOOST_TEST(holds(rest, exact_rest));
  }
}

BOOST_AUTO_TEST_CASE(fast_products_are_rounded_with_the_sum_on_cuda_and_before_it_on_the_host) {
  if (!can_fuse()) return;
  const auto [graph, rest] = capture(Square());
  const GraphExec exec = graph.instantiate(fast);
  exec.replay();
  BOOST_TEST(holds(rest, expected(exec, exact_rest, contracted_rest)));
  // Another executable of the same program is as exact as ever.
  graph.instantiate().replay();
  BOOST_TEST(holds(rest, exact_rest));
  exec.replay();
  BOOST_TEST(holds(rest, expected(exec, exact_rest, contracted_rest)));
}

BOOST_AUTO_TEST_CASE(what_is_not_fused_is_exact) {
  const auto [graph, rest] = capture(Square());
  graph.instantiate({.optimize = Optimize::none, .math = Math::fast}).replay();
  BOOST_TEST(holds(rest, exact_rest));
  graph.instantiate({.passes = {.fusion = false}, .math = Math::fast}).replay();
  BOOST_TEST(holds(rest, exact_rest));
}

BOOST_AUTO_TEST_CASE(clones_and_updates_keep_the_mode) {
  if (!can_fuse()) return;
  const Square square;
  const auto [graph, rest] = capture(square);
  const GraphExec exec = graph.instantiate(fast);
  const GraphExec clone = exec.clone();
  clone.replay();
  BOOST_TEST(holds(clone.output(rest), expected(clone, exact_rest, contracted_rest)));

  const auto [other, other_rest] = capture([&] { return square.x * square.x - (square.y + 0x1p-10F); });
  exec.update(other);
  exec.replay();
  BOOST_TEST(holds(other_rest, expected(exec, -0x1p-10F, -0x1p-10F + 0x1p-24F)));
  const auto [third, third_rest] = capture(square);
  exec.update(third);
  exec.replay();
  BOOST_TEST(holds(third_rest, expected(exec, exact_rest, contracted_rest)));
}

BOOST_AUTO_TEST_CASE(fast_results_are_within_rounding_of_exact_ones) {
  const Array x = wave({3, 1000});
  const Array y = wave({1000}, 3);
  const auto program = [&] {
    Array z = x;
    for (int i = 0; i < 20; ++i) z = z * 0.75F + y;
    return std::vector<Array>{z, exp(z * -0.5F + x) * y + z, gelu(x * y + 0.25F)};
  };
  require_close(program, 30);
}

BOOST_AUTO_TEST_CASE(fast_sums_of_rows_are_within_rounding_of_exact_ones) {
  for (const std::int64_t n : {100, 1000, 8192, 30'000}) {
    const Array x = wave({4, n});
    const Array y = wave({n}, 3);
    require_close([&] { return std::vector<Array>{softmax(x * y, 1)}; }, 1);
    require_close(
        [&] {
          const Array centered = x - mean(x, 1, true);
          return std::vector<Array>{centered / sqrt(mean(centered * centered, 1, true) + 1e-5F) * y};
        },
        3);
    require_close([&] { return std::vector<Array>{x / norm(x, 1, true), sqrt(var(x * y, 1, 1, true)) + x}; }, 3);
  }
}

BOOST_AUTO_TEST_CASE(fast_sums_of_rows_are_of_float32_on_cuda_and_those_of_halves_and_doubles_are_exact) {
  if (!can_fuse()) return;
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const Array x = from_host(std::vector<float>{0x1p24F, 1, 1}, {3}).cast(dtype);
    const auto [graph, total] = capture([&] { return sum(x * x / x, 0).cast(DType::float64); });
    const GraphExec exec = graph.instantiate(fast);
    exec.replay();
    const float narrow = dtype == DType::float32 ? 0x1p24F : 0x1p24F + 2;
    if (dtype != DType::bfloat16) BOOST_TEST(numbers(total).at(0) == expected(exec, 0x1p24F + 2, narrow));
    if (dtype == DType::float32) continue;
    graph.instantiate().replay();
    const std::vector<double> exact = numbers(total);
    exec.replay();
    BOOST_TEST(numbers(total) == exact, per_element());
  }
}

BOOST_AUTO_TEST_CASE(integers_and_draws_are_what_they_are) {
  const Array i = arange(1000);
  const auto program = [&] { return std::vector<Array>{rand({1000}), randint(0, 1000, {1000}) * 3 + i}; };
  manual_seed(3);
  const std::vector<Array> exact = program();
  const auto [graph, found] = capture(program);
  manual_seed(3);
  graph.instantiate(fast).replay();
  for (std::size_t k = 0; k < exact.size(); ++k) BOOST_TEST(same_bits(exact[k], found[k]));
}

BOOST_AUTO_TEST_CASE(the_mode_is_told) {
  const Graph graph = capture(Square()).first;
  const std::string exact = graph.instantiate().explain();
  const std::string told = graph.instantiate(fast).explain();
  BOOST_TEST(exact.find("fast math") == std::string::npos);
  BOOST_TEST(told.find("optimised, fast math") != std::string::npos, told);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
