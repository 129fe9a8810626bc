// Ops that need tables of extents and strides, and host bytes: whatever runs between two replays, these are the
// graph's.

#include "support.hpp"
#include "support_scopes.hpp"

#include <array>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;
namespace rf = refrain;
using rf::Optimize;
using rf::test::record;
using rf::test::Scope;
using rf::test::scopes;

namespace {

using Extents = std::array<std::int64_t, 5>;
constexpr Extents a_shape = {2, 1, 3, 1, 4};
constexpr Extents b_shape = {1, 5, 3, 2, 1};
constexpr Extents shape = {2, 5, 3, 2, 4};

std::int64_t count(const Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

/// Where the element at `index` of `shape` lies in an operand that is broadcast to it.
std::size_t place(const Extents& operand, const Extents& index) {
  std::int64_t at = 0;
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    at = at * operand[axis] + (operand[axis] == 1 ? 0 : index[axis]);
  }
  return static_cast<std::size_t>(at);
}

/// Operands of the broadcasting program, and what it gives by plain loops.
struct Operands {
  std::vector<float> a;
  std::vector<float> b;

  explicit Operands(std::mt19937& random) {
    const auto draw = [&](const Extents& extents) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < count(extents); ++i) values.push_back(static_cast<float>(random() % 100));
      return values;
    };
    a = draw(a_shape);
    b = draw(b_shape);
  }

  std::vector<float> expected() const {
    std::vector<float> all;
    for (std::int64_t flat = 0; flat < count(shape); ++flat) {
      Extents index{};
      std::int64_t rest = flat;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
      const float sum = a[place(a_shape, index)] + b[place(b_shape, index)];
      all.push_back(sum * static_cast<float>(1 + index[4]) - static_cast<float>(10 * (1 + index[2])));
    }
    return all;
  }
};

rf::Array broadcasting_program(const rf::Array& a, const rf::Array& b) {
  const std::vector<float> tens = {10, 20, 30};
  rf::Array shift = rf::empty({2, 5, 3, 2, 4});
  shift.assign(rf::from_host(tens, {3, 1, 1}));
  return (a + b) * rf::array({1, 2, 3, 4}) - shift;
}

/// Ops of other shapes, whose tables and host bytes would take the place of those before.
void run_others(std::mt19937& random) {
  for (int i = 0; i < 12; ++i) {
    const int ndim = 1 + static_cast<int>(random() % 8);
    std::vector<std::int64_t> wide;
    std::vector<std::int64_t> narrow;
    for (int axis = 0; axis < ndim; ++axis) {
      wide.push_back(1 + static_cast<std::int64_t>(random() % 4));
      narrow.push_back(random() % 2 == 0 ? 1 : wide.back());
    }
    const rf::Shape wide_shape{std::span<const std::int64_t>(wide)};
    const rf::Shape narrow_shape{std::span<const std::int64_t>(narrow)};
    const std::vector<float> values(static_cast<std::size_t>(narrow_shape.size()), -9);
    rf::Array target = rf::ones(wide_shape);
    target += rf::from_host(values, narrow_shape);
    target.assign(target * rf::array({-1.0}) + rf::rand(narrow_shape));
  }
  const std::vector<float> large(100000, -9);
  rf::from_host(large, {100000});
}

void replays_give_what_loops_give(Scope scope, Optimize optimize) {
  std::mt19937 random(29);
  const rf::Stream stream;
  rf::Array a = rf::zeros({2, 1, 3, 1, 4});
  rf::Array b = rf::zeros({1, 5, 3, 2, 1});
  rf::synchronize();
  const auto [graph, result] = record(scope, stream, [&] { return broadcasting_program(a, b); });
  const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
  for (int i = 0; i < 20; ++i) {
    run_others(random);
    const Operands operands(random);
    a.assign(rf::from_host(operands.a, a.shape()));
    b.assign(rf::from_host(operands.b, b.shape()));
    run_others(random);
    exec.replay(i % 2 == 0 ? stream : rf::current_stream());
    run_others(random);
    const std::vector<float> expected = operands.expected();
    BOOST_TEST(result.to_vector<float>() == expected, per_element());
    BOOST_TEST(broadcasting_program(a, b).to_vector<float>() == expected, per_element());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_tables)

BOOST_AUTO_TEST_CASE(tables_and_bytes_of_captured_ops_are_the_graphs_own, *label("report-29")) {
  for (const Scope scope : scopes) {
    for (const Optimize optimize : {Optimize::none, Optimize::all}) {
      BOOST_TEST_CONTEXT(scope) { replays_give_what_loops_give(scope, optimize); }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
