// Matrix products in graphs: their scratch memory, other arrays in their place, many graphs, clones.

#include "support.hpp"
#include "support_memory.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <refrain/linalg.hpp>

#include <list>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// A product whose sums are long: cuBLASLt splits them, which takes scratch memory.
constexpr std::int64_t depth = 16384;

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_graphs, *label("sanitize"))

BOOST_AUTO_TEST_CASE(scratch_memory_is_the_graphs_whatever_is_trimmed, *label("report-32")) {
  const Array a = wave({32, depth}, 0);
  const Array b = wave({depth, 32}, 1);
  const Array expected = snapshot(matmul(a, b));
  const Array total = snapshot(sum(a));
  auto [graph, outputs] = capture([&] { return std::pair{matmul(a, b), sum(a)}; });
  const GraphExec exec = graph.instantiate();
  exec.replay();
  for (int round = 0; round < 3; ++round) {
    synchronize();
    trim(current_device());
    std::list<Array> others;
    for (int i = 0; i < 20; ++i) others.push_back(full({1 << 18}, -1));
    exec.replay();
    BOOST_TEST(same_bits(outputs.first, expected));
    BOOST_TEST(same_bits(outputs.second, total));
    for (const Array& other : others) BOOST_TEST(holds(other, -1));
  }
}

BOOST_AUTO_TEST_CASE(many_graphs_cost_what_one_costs_each, *label("report-46")) {
  const Array a = wave({64, 64}, 0);
  const auto make = [&] {
    auto captured = capture([&] { return matmul(matmul(a, a), a); });
    GraphExec exec = captured.first.instantiate();
    exec.replay();
    return std::pair{std::move(exec), std::move(captured.second)};
  };
  const auto in_use = [] {
    synchronize();
    return memory_stats(current_device()).live;
  };
  std::vector<std::pair<GraphExec, Array>> kept;
  kept.push_back(make());
  const auto before = in_use();
  kept.push_back(make());
  const auto one = in_use() - before;
  for (int i = 0; i < 98; ++i) kept.push_back(make());
  BOOST_TEST(in_use() - before == 99 * one);
  BOOST_TEST(one <= (4 << 20));
  for (const auto& [exec, output] : kept) BOOST_TEST(same_bits(output, kept.front().second));
}

BOOST_AUTO_TEST_CASE(a_graph_that_goes_leaves_the_scratch_memory_of_the_others, *label("report-49")) {
  const Array a = wave({32, depth}, 2);
  const Array b = wave({depth, 32}, 3);
  const Array expected = snapshot(matmul(a, b));
  std::vector<std::pair<GraphExec, Array>> all;
  for (int i = 0; i < 10; ++i) {
    auto [graph, output] = capture([&] { return matmul(a, b); });
    all.emplace_back(graph.instantiate(), output);
    all.back().first.replay();
  }
  for (const std::ptrdiff_t gone : {5, 0, 7}) {
    all.erase(all.begin() + gone);
    trim(current_device());
    const Array other = full({1 << 20}, -1);
    for (const auto& [exec, output] : all) {
      exec.replay();
      BOOST_TEST(same_bits(output, expected));
    }
    BOOST_TEST(holds(other, -1));
  }
}

BOOST_AUTO_TEST_CASE(other_arrays_take_the_place_of_operands_bias_and_result) {
  const Array x = wave({24, 40}, 4);
  const Array weight = wave({16, 40}, 5);
  const Array bias = wave({16}, 6);
  auto [graph, y] = capture([&] { return linear(x, weight, bias, Activation::relu); });
  const GraphExec exec = graph.instantiate();
  exec.replay();
  BOOST_TEST(same_bits(y, linear(x, weight, bias, Activation::relu)));
  const Array other_x = wave({24, 40}, 7);
  const Array other_weight = wave({16, 40}, 8);
  const Array other_bias = wave({16}, 9);
  const Array other_y = zeros({24, 16});
  exec.bind(x, other_x);
  exec.bind(weight, other_weight);
  exec.bind(bias, other_bias);
  exec.bind(y, other_y);
  exec.replay();
  BOOST_TEST(same_bits(other_y, linear(other_x, other_weight, other_bias, Activation::relu)));
  BOOST_TEST(same_bits(y, linear(x, weight, bias, Activation::relu)));
  exec.bind(x, x);
  exec.replay();
  BOOST_TEST(same_bits(other_y, linear(x, other_weight, other_bias, Activation::relu)));
}

BOOST_AUTO_TEST_CASE(blocks_that_begin_at_odd_places) {
  const Array weight = wave({16, 40}, 11);
  const Array whole = wave({1 + 24 * 40}, 10);
  const Array odd = whole.slice(1, 1 + 24 * 40).reshape({24, 40});
  const Memory memory(24 * 40 + 1);
  Array blob = from_blob(memory.at(1), {24, 40});
  blob.assign(odd);
  for (const Array& x : {odd, blob}) {
    const auto program = [&] { return matmul(x, weight.transpose(0, 1)); };
    const Array eager = program();
    for (const Mode mode : graph_modes) BOOST_TEST(same_bits(run_as(mode, program), eager));
    // An executable is planned for the arrays that it was recorded with, and for such as are aligned better.
    const Array even = x + 0;
    auto [graph, y] = capture([&] { return matmul(even, weight.transpose(0, 1)); });
    const GraphExec exec = graph.instantiate();
    require_error(Errc::not_supported, [&] { exec.bind(even, x); }, {"matmul", "multiples of 16 bytes", "x + 0"});
    exec.replay();
    BOOST_TEST(same_bits(y, matmul(even, weight.transpose(0, 1))));
  }
  auto [graph, y] = capture([&] { return matmul(blob, weight.transpose(0, 1)); });
  const GraphExec exec = graph.instantiate();
  const Array even = wave({24, 40}, 12);
  exec.bind(blob, even);
  exec.replay();
  Array as_blob = from_blob(memory.at(1), {24, 40});
  as_blob.assign(even);
  BOOST_TEST(same_bits(y, matmul(as_blob, weight.transpose(0, 1))));
}

BOOST_AUTO_TEST_CASE(clones_and_updates_compute_their_own) {
  const Array a = wave({32, depth}, 12);
  const Array b = wave({depth, 32}, 13);
  auto [graph, y] = capture([&] { return matmul(a, b); });
  const GraphExec exec = graph.instantiate();
  const GraphExec clone = exec.clone();
  exec.replay();
  clone.replay();
  BOOST_TEST(same_bits(y, matmul(a, b)));
  BOOST_TEST(same_bits(clone.output(y), matmul(a, b)));
  const Array c = wave({32, depth}, 14);
  auto [other, z] = capture([&] { return matmul(c, b); });
  exec.update(other);
  exec.replay();
  BOOST_TEST(same_bits(z, matmul(c, b)));
}

BOOST_AUTO_TEST_CASE(a_graph_in_a_graph_has_its_own_scratch_memory) {
  const Array a = wave({32, depth}, 15);
  const Array b = wave({depth, 32}, 16);
  auto [graph, y] = capture([&] { return matmul(a, b); });
  const GraphExec inner = graph.instantiate();
  const Array twice = run_as(Mode::graph, [&, y = y] {
    inner.replay();
    const Array first = y + 0;
    inner.replay();
    return first + y;
  });
  BOOST_TEST(same_bits(twice, matmul(a, b) * 2));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
