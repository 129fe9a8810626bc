// Fused commands with reductions whose elements are read elsewhere, in part, or along several axes.

#include "support.hpp"
#include "support_passes.hpp"
#include "support_views.hpp"

#include <refrain/movement.hpp>
#include <refrain/reduce.hpp>

#include <functional>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// How many commands the program is; its results are those of the eager one.
int nodes_of(const std::function<std::vector<Array>()>& program) {
  const std::vector<Array> expected = program();
  const auto [graph, results] = capture(program);
  const GraphExec exec = graph.instantiate();
  exec.replay();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST(same_bits(results[i], expected[i]), "result " << i << "\n" << exec.explain());
  }
  return exec.node_count();
}

Array product_of(const Array& left, const Array& right) { return dot(left.flatten(), right.flatten()); }

Array by_softmax(const Array& x) {
  const Array weights = exp(x - max(x, 1, true));
  return weights / sum(weights, 1, true);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_row_moves, *label("sanitize"))

BOOST_AUTO_TEST_CASE(an_iteration_of_conjugate_gradients_is_a_command) {
  constexpr int iterations = 4;
  std::vector<Shape> shapes{{16, 24}, {9, 31}, {2, 2}, {64, 128}};
  if (current_device().kind == DeviceKind::cuda)
    shapes.insert(shapes.end(), {{256, 256}, {100, 100}, {128, 130}, {129, 256}});
  for (const Shape& shape : shapes) {
    const Array b = wave(shape);
    BOOST_TEST_CONTEXT("shape " << shape.str()) {
      BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
                   Array x = zeros(shape);
                   Array r = b;
                   Array p = b;
                   Array rr = product_of(r, r);
                   for (int k = 0; k < iterations; ++k) {
                     const Array q = poisson(p);
                     const Array alpha = rr / product_of(p, q);
                     x += alpha * p;
                     r = r - alpha * q;
                     const Array next = product_of(r, r);
                     p = r + next / rr * p;
                     rr = next;
                   }
                   return {x};
                 }) == iterations);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_are_rolled_as_they_are_read) {
  std::vector<std::int64_t> lengths{5, 100, 1500, 4096};
  if (current_device().kind == DeviceKind::cuda) lengths.insert(lengths.end(), {20000, 65536});
  for (const std::int64_t n : lengths) {
    for (const std::int64_t rows : {3, 300}) {
      if (n * rows > 2000000) continue;
      const Array x = wave({rows, n}, 3);
      const Array ones = wave({rows, 1});
      BOOST_TEST_CONTEXT(rows << " rows of " << n) {
        BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {by_softmax(roll(x, 2, 1))}; }) == 1);
        BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {by_softmax(roll(x, -1, 0) + x)}; }) == 1);
        BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
                     const Array y = x - roll(x, {1, 3}, {0, 1});
                     return {y, sum(y * y, 1), max(y, 1, true) * y};
                   }) == 1);
        // What rows are reduced to, rolled among them.
        BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {x * roll(ones, 1, 0) - sum(x, 1, true)}; }) == 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rolls_are_needed_again_after_a_reduction) {
  const Array x = wave({4, 1000}, 3);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array left = roll(x, 1, 1);
               const Array late = roll(x, -7, 1);
               return {left * sum(left, 1, true) + late};
             }) == 1);
}

BOOST_AUTO_TEST_CASE(rows_are_taken_as_they_are_read) {
  const Array table = wave({50, 200}, 3);
  const Array indices = from_host(std::vector<std::int64_t>{4, 49, 0, -1, 7, 7}, {6});
  const Array columns = (wave({6, 200}, 2) * 100).cast(DType::int32);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {by_softmax(take(table, indices, 0))}; }) == 1);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {by_softmax(take(table, columns))}; }) == 1);
}

BOOST_AUTO_TEST_CASE(parts_of_rows_are_updated_as_they_are_read) {
  const Array x = wave({6, 300}, 3);
  const Array y = wave({6, 300}, 5);
  const auto updated = [&](auto part_of) {
    return nodes_of([&]() -> std::vector<Array> {
      Array z = x * 2;
      part_of(z) -= part_of(y);
      return {z - sum(z, 1, true), z + max(z)};
    });
  };
  BOOST_TEST(updated([](const Array& a) { return a.slice({.begin = 3}, 1); }) == 2);  // rows of two kinds
  const auto updated_rows = [&](auto part_of) {
    return nodes_of([&]() -> std::vector<Array> {
      Array z = x * 2;
      part_of(z) -= part_of(y);
      return {z - sum(z, 1, true)};
    });
  };
  BOOST_TEST(updated_rows([](const Array& a) { return a.slice({.begin = 3}, 1); }) == 1);
  BOOST_TEST(updated_rows([](const Array& a) { return a.slice({.begin = 1, .end = 3}, 0); }) == 1);
  BOOST_TEST(updated_rows([](const Array& a) { return a.slice({.begin = 1, .end = 3}, 0).slice({.end = 7}, 1); }) == 1);
  BOOST_TEST(updated_rows([](const Array& a) { return a.slice({.step = 2}, 1); }) == 1);
}

BOOST_AUTO_TEST_CASE(a_row_is_several_axes) {
  const Array x = wave({4, 8, 9, 10}, 3);
  const Array column = wave({9, 1});
  const Array turned = wave({4, 10, 9, 8}, 5).transpose(1, 3);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array y = x * turned;
               return {y - mean(y, {1, 2, 3}, true)};
             }) == 1);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array y = x + column;
               return {y / sum(y), y};
             }) == 1);
  // Rows are written that have gaps.
  Array kept = zeros({4, 8, 9, 12}).slice({.end = 10}, 3);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               kept.assign(x - max(x, {1, 2, 3}, true));
               return {kept};
             }) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_read_elsewhere_is_not_written_over) {
  for (const std::int64_t n : {60, 3000}) {
    const std::vector<float> before = wave({4, n}, 3).to_vector<float>();
    Array x = from_host(before, {4, n});
    const auto program = [&] { x -= roll(x, 1, 1) * mean(x, 1, true); };
    program();
    const std::vector<float> expected = x.to_vector<float>();
    x.assign(from_host(before, {4, n}));
    const GraphExec exec = capture(program).instantiate();
    exec.replay();
    BOOST_TEST((x.to_vector<float>() == expected));
    BOOST_TEST(exec.node_count() == 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
