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
  const auto [graph, found] = capture(program);
  const GraphExec exec = graph.instantiate(fast);
  exec.replay();
  const std::vector<Array> exact = program();
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const std::vector<double> wanted = numbers(exact[k]);
    const std::vector<double> given = numbers(found[k]);
    double furthest = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) furthest = std::max(furthest, std::abs(wanted[i] - given[i]));
    BOOST_TEST(furthest <= 40 * 0x1p-24 * 30, "result " << k << " is off by " << furthest);
    if (current_device().kind == DeviceKind::host) BOOST_TEST(same_bits(exact[k], found[k]));
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
