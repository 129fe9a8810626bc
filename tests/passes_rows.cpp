// Reductions with the elementwise work before and after them as one command: no bit changes, whatever the rows are.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <refrain/random.hpp>
#include <refrain/reduce.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// How many commands an executable of the program has; its results are those of the eager program.
template <class Fn>
int nodes_of(Fn&& fn) {
  const std::vector<Array> eager = fn();
  auto [graph, outputs] = capture(fn);
  const GraphExec exec = graph.instantiate();
  exec.replay();
  for (std::size_t i = 0; i < eager.size(); ++i) BOOST_TEST(same_bits(outputs[i], eager[i]), "output " << i);
  return exec.node_count();
}

/// Rows with the largest number, sums, and what is left when both are taken out of them.
std::vector<Array> softmax_by_hand(const Array& x) {
  const Array powers = exp(x - max(x, -1, true));
  return {powers / sum(powers, -1, true)};
}

std::vector<Array> norm_by_hand(const Array& x) {
  const Array centred = x - mean(x, -1, true);
  const Array deviation = sqrt(mean(centred * centred, -1, true) + 1e-3);
  return {centred / deviation, deviation, mean(x, -1, true)};
}

bool is_cuda() { return current_device().kind == DeviceKind::cuda; }

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_rows, *label("sanitize"))

BOOST_AUTO_TEST_CASE(rows_of_any_length_are_one_command) {
  for (const std::int64_t n : {2, 31, 32, 100, 128, 129, 512, 1000, 1024, 1025, 1028, 4096, 8191, 8192}) {
    for (const std::int64_t rows : {1, 3, 300}) {
      if (n > 4096 && rows > 3) continue;
      const Array x = wave({rows, n}, static_cast<int>(n + rows));
      BOOST_TEST_CONTEXT(rows << " rows of " << n) {
        BOOST_TEST(nodes_of([&] { return softmax_by_hand(x); }) == 1);
        BOOST_TEST(nodes_of([&] { return norm_by_hand(x); }) == 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(softmax_takes_in_what_is_around_it) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const std::int64_t n : {3, 128, 1000, 1024, 8192}) {
      if (dtype != DType::float32 && n != 1000 && n != 1024) continue;
      const std::int64_t rows = n > 4096 ? 3 : 300;
      const Array x = (wave({rows, n}, static_cast<int>(n)) * 4).cast(dtype);
      const Array mask = where(wave({n}, 5) > 0.9F, full({n}, -inf), zeros({n})).cast(dtype);
      BOOST_TEST_CONTEXT(dtype << ", rows of " << n) {
        BOOST_TEST(nodes_of([&] { return std::vector<Array>{softmax(x * 0.125F + mask)}; }) == 1);
        BOOST_TEST(nodes_of([&] { return std::vector<Array>{softmax(x) * x + mask}; }) == 1);
        BOOST_TEST(nodes_of([&] {
                     const Array shares = softmax(x + mask);
                     return std::vector<Array>{shares, sum(shares * x, 1), softmax(shares)};
                   }) == 1);
        BOOST_TEST(nodes_of([&] { return std::vector<Array>{softmax(x.reshape({rows, 1, n}) - mask)}; }) == 1);
      }
    }
    const std::vector<float> odd_rows = {inf, 1, 2, -inf, -inf, -inf, nan, 1, 2, 3, 3, inf, 0, -0.0F, 0};
    const Array odd = from_host(odd_rows, {5, 3}).cast(dtype);
    const auto program = [&] { return std::vector<Array>{softmax(odd + 0.0F)}; };
    const auto [graph, found] = capture(program);
    const GraphExec exec = graph.instantiate();
    exec.replay();
    BOOST_TEST(exec.node_count() == 1);
    BOOST_TEST(same_bits(found[0], program()[0]), dtype);
  }
}

BOOST_AUTO_TEST_CASE(softmax_along_columns_and_alone_is_the_command) {
  const Array x = wave({300, 40});
  BOOST_TEST(nodes_of([&] { return std::vector<Array>{softmax(x * 2, 0)}; }) == 2);
  BOOST_TEST(nodes_of([&] { return std::vector<Array>{softmax(x)}; }) == 1);
}

BOOST_AUTO_TEST_CASE(a_cluster_of_blocks_takes_longer_rows) {
  for (const std::int64_t n : {8193, 16384, 20000, 65535, 65536, 65537}) {
    const Array x = wave({2, n}, 3);
    const bool is_one = is_cuda() && n <= 65536;
    BOOST_TEST_CONTEXT(n) {
      BOOST_TEST((nodes_of([&] { return softmax_by_hand(x); }) == 1) == is_one);
      BOOST_TEST((nodes_of([&] { return norm_by_hand(x); }) == 1) == is_one);
    }
  }
}

BOOST_AUTO_TEST_CASE(blocks_of_a_cluster_keep_the_order_of_sums) {
  for (const std::int64_t n : {8193, 16384, 20000, 32768, 40001, 65536}) {
    for (const std::int64_t rows : {1, 3, 9, 40}) {
      if (n * rows > 500000) continue;
      for (const DType dtype : {DType::float64, DType::float16, DType::int32}) {
        const Array x = (wave({rows, n}, 3) * 7).cast(dtype);
        const auto program = [&]() -> std::vector<Array> {
          const Array total = sum(x, 1, true).cast(dtype);
          const Array rest = x - total;
          // More than are exchanged at once, and one more phase.
          return {rest,         prod(x, 1),   max(x, 1), min(x, 1), any(x > 100, 1), all(x < 100, 1),
                  sum(rest, 1), sum(x * x, 1)};
        };
        BOOST_TEST_CONTEXT(rows << " rows of " << n << " of " << to_string(dtype)) {
          const int nodes = nodes_of(program);
          if (is_cuda() && dtype != DType::int32) BOOST_TEST(nodes == 1);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_rows_have_is_written_over_by_clusters_too) {
  const std::int64_t n = 20000;
  const Array x = wave({3, n}, 3);
  Array kept = wave({3, 1}, 4);
  const std::vector<float> before = kept.to_vector<float>();
  // What is read of each row is needed only when all results are there.
  const auto program = [&] {
    const Array total = sum(x, 1, true);
    const Array y = x * total + kept;
    kept.assign(total);
    return y;
  };
  const Array expected = snapshot(program());
  const std::vector<float> after = kept.to_vector<float>();
  kept.assign(from_host(before, {3, 1}));
  const auto [graph, y] = capture(program);
  graph.instantiate().replay();
  BOOST_TEST(same_bits(y, expected));
  BOOST_TEST((kept.to_vector<float>() == after));
}

BOOST_AUTO_TEST_CASE(every_reduction_and_dtype) {
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                            DType::float32, DType::float64}) {
    for (const std::int64_t n : {7, 130, 1500}) {
      for (const std::int64_t rows : {2, 300}) {
        const Array x = (wave({rows, n}, 5) * 3).cast(dtype);
        BOOST_TEST_CONTEXT(to_string(dtype) << ", " << rows << " rows of " << n) {
          const bool is_number = dtype != DType::bool_;
          // The copy before them, and what is made of the results, are part of the command.
          const auto with = [&](auto reduce) {
            return nodes_of([&]() -> std::vector<Array> {
              const Array before = is_number ? (x + x).cast(dtype) : logical_not(x);
              const Array result = reduce(before);
              return {before, result, result.cast(DType::float32) + 1};
            });
          };
          BOOST_TEST(with([](const Array& a) { return sum(a, 1, true); }) == 1);
          BOOST_TEST(with([](const Array& a) { return prod(a, 1); }) == 1);
          BOOST_TEST(with([](const Array& a) { return mean(a, 1); }) <= 2);  // of integers, after a cast
          BOOST_TEST(with([](const Array& a) { return max(a, 1, true); }) == 1);
          BOOST_TEST(with([](const Array& a) { return min(a, 1); }) == 1);
          BOOST_TEST(with([](const Array& a) { return any(a, 1); }) == 1);
          BOOST_TEST(with([](const Array& a) { return all(a, 1, true); }) == 1);
          if (!is_floating(dtype)) continue;
          BOOST_TEST(with([](const Array& a) { return norm(a, 1); }) == 1);
          BOOST_TEST(with([](const Array& a) { return var(a, 1, 1, true); }) == 1);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_special_stay_so) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array x = from_host(std::vector<float>{-0.0F, -0.0F, -0.0F, inf, 1, -inf, nan, 2, 3, -inf, -inf, -inf}, {4, 3});
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array y = x * 1;
               return {sum(y, 1),  prod(y, 1), max(y, 1), min(y, 1),
                       norm(y, 1), any(y, 1),  all(y, 1), y + max(y, 1, true)};
             }) == 1);
}

BOOST_AUTO_TEST_CASE(results_of_all_elements_go_on_into_them) {
  const Array x = wave({64, 64}, 2);
  const Array y = wave({64, 64}, 4);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array ratio = dot(x.flatten(), y.flatten()) / dot(y.flatten(), y.flatten());
               const Array left = x - ratio * y;
               return {left, ratio, norm(left)};
             }) == 1);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {sqrt(sum(x * x) + 1) * 2}; }) == 1);
}

BOOST_AUTO_TEST_CASE(chunks_of_long_rows_are_made_as_they_are_summed) {
  const Array x = wave({8192 * 20}, 2);
  // The chunks' sums, then theirs.
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {sqrt(sum(x * x + 1))}; }) == 2);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array y = x * 2;
               return {y, max(y) + 1};
             }) == 2);
  const Array many = wave({2, 8192 * 17}, 2);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {sum(many * 3, 1) - 1}; }) == 2);
  // A last chunk that is shorter stays with the reduction's own kernel.
  const Array ragged = wave({8192 * 20 + 4}, 2);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> { return {sqrt(sum(ragged * ragged))}; }) == 3);
}

BOOST_AUTO_TEST_CASE(rows_may_lie_anyhow) {
  const Array base = wave({6, 10, 40}, 3);
  const auto scaled = [](const Array& x, Axes axes) {
    return nodes_of([&]() -> std::vector<Array> { return {x * 2 - sum(x * 2, axes, true)}; });
  };
  BOOST_TEST(scaled(base, {1, 2}) == 1);
  BOOST_TEST(scaled(base, {0, 1, 2}) == 1);
  BOOST_TEST(scaled(base.flip(2), {2}) == 1);
  BOOST_TEST(scaled(base.slice({.step = 2}, 2), {2}) == 1);
  BOOST_TEST(scaled(base.slice({.begin = 1}, 2), {2}) == 1);  // not aligned
  BOOST_TEST(scaled(base.slice({.begin = 1, .end = 5}, 0), {2}) == 1);
  BOOST_TEST(scaled(base.transpose(0, 1), {2}) == 1);
  BOOST_TEST(scaled(base.transpose(1, 2), {2}) == 1);
  BOOST_TEST(scaled(wave({40}, 3).expand({9, 40}), {1}) == 1);
  BOOST_TEST(scaled(wave({9, 1}, 3).expand({9, 40}), {1}) == 1);
  // Rows that lie side by side have a kernel of their own.
  BOOST_TEST(scaled(base, {0}) == 3);
}

BOOST_AUTO_TEST_CASE(what_all_rows_have_in_common_is_read_in_any_phase) {
  for (const std::int64_t rows : {3, 512}) {
    const Array x = wave({rows, 1024}, 3);
    const Array scale = wave({1024}, 5);
    const Array shift = wave({1024}, 7);
    BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
                 const Array scaled = (x - mean(x, 1, true)) * scale;
                 return {scaled / sqrt(sum(scaled * scaled, 1, true) + 1) * shift + scale};
               }) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_result_that_is_written_over_leaves_rows_right) {
  for (const std::int64_t n : {100, 3000}) {
    const Array x = wave({300, n}, 3);
    Array kept = wave({300, 1}, 4);
    Array total = zeros({300, 1});
    const std::vector<float> before = kept.to_vector<float>();
    const auto program = [&] {
      total.assign(sum(x, 1, true));
      const Array z = x + kept;
      kept *= 2;
      total.assign(kept);
      return z;
    };
    const Array expected = snapshot(program());
    kept.assign(from_host(before, {300, 1}));
    const auto [graph, z] = capture(program);
    graph.instantiate().replay();
    BOOST_TEST(same_bits(z, expected));
    BOOST_TEST(same_bits(total, kept));
  }
}

BOOST_AUTO_TEST_CASE(rows_of_two_kinds_are_two_commands) {
  const Array x = wave({32, 48}, 3);
  BOOST_TEST(nodes_of([&]() -> std::vector<Array> {
               const Array rows = x - mean(x, 1, true);
               return {rows - mean(rows)};
             }) == 2);
}

BOOST_AUTO_TEST_CASE(what_is_written_in_place_is_read_first) {
  for (const std::int64_t n : {100, 3000}) {
    Array x = wave({5, n}, 3);
    Array totals = zeros({5, 1});
    const std::vector<float> before = x.to_vector<float>();
    const auto program = [&] {
      x -= mean(x, 1, true);
      totals += sum(abs(x), 1, true);
      x *= totals;
    };
    program();
    const std::vector<float> expected = x.to_vector<float>();
    const std::vector<float> expected_totals = totals.to_vector<float>();
    x.assign(from_host(before, {5, n}));
    totals.assign(0);
    const GraphExec exec = capture(program).instantiate();
    BOOST_TEST(exec.node_count() == 1);
    exec.replay();
    BOOST_TEST((x.to_vector<float>() == expected));
    BOOST_TEST((totals.to_vector<float>() == expected_totals));
  }
}

BOOST_AUTO_TEST_CASE(parameters_and_bindings_reach_into_rows) {
  const Array x = wave({20, 50}, 3);
  const Param<float> scale(2, "scale");
  auto [graph, y] = capture([&] { return x * scale - max(x * scale, 1, true); });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.set(scale, 5);
  exec.replay();
  BOOST_TEST(same_bits(y, x * 5.0F - max(x * 5.0F, 1, true)));
  const Array other = wave({20, 50}, 9);
  exec.bind(x, other);
  exec.replay();
  BOOST_TEST(same_bits(y, other * 5.0F - max(other * 5.0F, 1, true)));
}

BOOST_AUTO_TEST_CASE(a_reduction_stays_alone_where_few_blocks_would_do_much) {
  const Array x = wave({8192}, 3);
  const auto nodes = nodes_of([&]() -> std::vector<Array> {
    Array y = x;
    for (int i = 0; i < 100; ++i) y = y * 0.999F + 0.1F;
    return {sum(y)};
  });
  BOOST_TEST(nodes == 2);
}

BOOST_AUTO_TEST_CASE(integers_are_summed_as_they_are_drawn) {
  constexpr std::int64_t n = std::int64_t{8192} * 1100;
  const auto hits = []() -> std::vector<Array> {
    const Array x = rand({n});
    const Array y = rand({n});
    const Array inside = sum(x * x + y * y < 1);
    return {inside, inside * 4.0 / n};
  };
  const auto several = []() -> std::vector<Array> {
    const Array x = randint(-1000, 1000, {n});
    return {sum(x), sum(x > 10), sum(x > 500), x.slice({.end = 100}, 0) + 0};
  };
  struct Case {
    std::function<std::vector<Array>()> program;
    std::size_t most_nodes;  ///< the draws with their sums, whose parts their last block adds up; of several sums one
  };
  for (const auto& [program, most_nodes] : {Case{hits, 1}, Case{several, 4}}) {
    manual_seed(3);
    std::vector<std::vector<Array>> eager;
    for (int i = 0; i < 3; ++i) eager.push_back(program());
    manual_seed(3);
    auto [graph, outputs] = capture(program);
    const GraphExec exec = graph.instantiate();
    for (const auto& expected : eager) {
      exec.replay();
      for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(same_bits(outputs[i], expected[i]), "output " << i);
    }
    if (is_cuda()) BOOST_TEST(exec.node_count() <= most_nodes);
  }
  // Of floating numbers the order counts.
  BOOST_TEST(capture([] { return sum(rand({n})); }).first.instantiate().node_count() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
