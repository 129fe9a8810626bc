// Small commands that may run at once become parts of one, and no bit changes.

#include "support_passes.hpp"
#include "support_views.hpp"

#include <refrain/movement.hpp>
#include <refrain/param.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr Passes without_horizontal{.horizontal = false};

/// Arrays of these sizes, each with numbers of its own.
std::vector<Array> waves(std::initializer_list<std::int64_t> sizes) {
  std::vector<Array> all;
  for (const std::int64_t size : sizes) all.push_back(wave({size}, static_cast<int>(all.size()) * 5));
  return all;
}

/// A tensor that an optimiser moves, and what it keeps for that.
struct Tensor {
  Array parameter;
  Array gradient;
  Array first;
  Array second;

  explicit Tensor(std::int64_t size)
      : parameter(wave({size})), gradient(wave({size}, 3)), first(zeros({size})), second(zeros({size})) {}

  void update(const Array& correction1, const Array& correction2) {
    first *= 0.9F;
    first += gradient * 0.1F;
    second *= 0.99F;
    second += gradient * gradient * 0.01F;
    parameter -= first / correction1 / (sqrt(second / correction2) + 1e-8F) * 0.01F;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_horizontal, *label("sanitize"))

BOOST_AUTO_TEST_CASE(an_optimisers_step_on_many_tensors_is_one_command) {
  // 200 are as many as the parameters of one launch have room for.
  const auto run = [](std::int64_t smallest, Passes passes, int& nodes) {
    std::vector<Tensor> tensors;
    for (std::int64_t i = 0; i < 200; ++i) tensors.emplace_back(smallest + i * 37 % 64 * 30);
    Array power1 = ones({});
    Array power2 = ones({});
    const GraphExec exec = capture([&] {
                             power1 *= 0.9F;
                             power2 *= 0.99F;
                             const Array correction1 = 1 - power1;
                             const Array correction2 = 1 - power2;
                             for (Tensor& tensor : tensors) tensor.update(correction1, correction2);
                           }).instantiate({.passes = passes});
    nodes = exec.node_count();
    for (int i = 0; i < 3; ++i) exec.replay();
    std::vector<Array> results = {power1, power2};
    for (const Tensor& tensor : tensors) results.push_back(tensor.parameter);
    return results;
  };
  for (const std::int64_t smallest : {2, 64}) {
    int nodes = 0;
    int many_nodes = 0;
    const std::vector<Array> results = run(smallest, {}, nodes);
    const std::vector<Array> expected = run(smallest, no_passes, many_nodes);
    BOOST_TEST(nodes == 1);
    BOOST_TEST(many_nodes == 4 + 200 * 14);
    for (std::size_t i = 0; i < results.size(); ++i) BOOST_TEST(same_bits(results[i], expected[i]));
  }
}

BOOST_AUTO_TEST_CASE(parts_have_sizes_and_strides_of_their_own) {
  const std::vector<Array> some = waves({5, 2, 33, 1000, 4097, 60000});
  const Array summand = full({1}, 3);
  const auto program = [&] {
    std::vector<Array> parts;
    for (const Array& one : some) parts.push_back(logsumexp(one * 2 + summand, 0, true));
    return concatenate(parts);
  };
  BOOST_TEST(nodes_with(program) == 1 + 6 + 1);  // all additions and products, the reductions, what is put together
  BOOST_TEST(nodes_with(program, without_horizontal) == 6 + 6 + 1);
  BOOST_TEST(nodes_with(program, {.fusion = false}) == 2 + 6 + 1);
  const std::vector<Array> squares = {wave({3, 5}), wave({16, 16}), wave({40, 7})};
  const std::vector<Array> rows = {wave({1, 5}), wave({1, 16}), wave({1, 7})};
  const std::vector<Array> columns = {wave({3, 1}), wave({16, 1}), wave({40, 1})};
  BOOST_TEST(nodes_with([&] {
               std::vector<Array> parts;
               for (std::size_t i = 0; i < squares.size(); ++i) {
                 parts.push_back((squares[i] * rows[i] + columns[i]).flip(1).transpose(0, 1));
               }
               return logsumexp(parts[0]) + logsumexp(parts[1]) + logsumexp(parts[2]);
             }) == 1 + 3 + 1);
}

BOOST_AUTO_TEST_CASE(commands_of_other_structure_or_order_stay_apart) {
  const Array a = wave({100});
  const Array b = wave({50}, 5);
  BOOST_TEST(nodes_with([&] { return logsumexp(a * 2) + logsumexp(b + 2); }) == 2 + 2 + 1);
  BOOST_TEST(nodes_with([&] { return logsumexp(a * 2) + logsumexp(b * 3); }) == 1 + 2 + 1);
  BOOST_TEST(nodes_with([&] { return logsumexp(a * 2) + logsumexp(b * 3); }, without_horizontal) == 2 + 2 + 1);
  BOOST_TEST(nodes_with([&] {
               return logsumexp(a * 2) + logsumexp(b.cast(DType::float64) * 3).cast(DType::float32);
             }) == 2 + 2 + 1);
  // The second one reads, positions apart, what the first one writes.
  BOOST_TEST(nodes_with([&] {
               const Array square = a.reshape({10, 10}) * 2;
               return square.transpose(0, 1).contiguous() * 2;
             }) == 2);
}

BOOST_AUTO_TEST_CASE(commands_of_other_structure_at_the_same_positions_are_one) {
  Array x = wave({100, 30});
  Array r = wave({100, 30}, 5);
  const Array row = wave({30}, 2);
  const Array p = wave({100, 30}, 7);
  const Array expected_x = x + p * 2;
  const Array expected_r = r - p / 3 * row;
  const Param<float> last(3, "last");
  const auto [graph, z] = capture([&] {
    x += p * 2;
    r -= p / last * row;
    return exp(p);
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.replay();
  BOOST_TEST(same_bits(x, expected_x));
  BOOST_TEST(same_bits(r, expected_r));
  BOOST_TEST(same_bits(z, exp(p)));
  exec.set(last, 7);
  exec.replay();
  BOOST_TEST(same_bits(r, expected_r - p / 7 * row));
  BOOST_TEST(nodes_with([&] { return logsumexp(p * 2) + logsumexp(p.transpose(0, 1).contiguous() + 1); }) == 1 + 2 + 1);
}

BOOST_AUTO_TEST_CASE(groups_of_which_each_would_wait_for_the_other_are_not_made) {
  const Array a = wave({50, 2});
  const Array b = wave({30, 2}, 5);
  BOOST_TEST(nodes_with([&] {
               const Array left = logsumexp(-softmax(exp(a), 0));
               const Array right = logsumexp(exp(softmax(-b, 0)));
               return left + right;
             }) == 4 + 4 + 1);
}

BOOST_AUTO_TEST_CASE(draws_and_large_commands_are_no_parts) {
  const Array large = wave({1 << 17});
  const Array other = wave({1 << 17}, 3);
  BOOST_TEST(nodes_with([&] { return logsumexp(large * 2) + logsumexp(other * 2); }) == 2 + 2 + 1);
  BOOST_TEST(nodes_with([] { return logsumexp(rand({100}) * 2) + logsumexp(rand({300}) * 2); }) == 2 + 2 + 1);
}

BOOST_AUTO_TEST_CASE(a_part_does_not_wait_for_long_work) {
  const Array large = wave({1 << 22});
  const Array small = wave({100});
  const auto program = [&] {
    const Array late = logsumexp(large, 0, true).expand({100}).contiguous() * 2;
    return logsumexp(small * 2) + logsumexp(late);
  };
  BOOST_TEST(nodes_with(program) == nodes_with(program, without_horizontal));
}

BOOST_AUTO_TEST_CASE(parameters_reach_each_part_that_uses_them) {
  const Param<float> all(2, "all");
  const Param<float> last(10, "last");
  const std::vector<Array> some = waves({10, 300, 77});
  const auto [graph, results] = capture([&] {
    return std::vector<Array>{some[0] * all + all, some[1] * all + 1, some[2] * all + last};
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() <= 2);
  const auto require = [&](float a, float l) {
    exec.replay();
    BOOST_TEST(same_bits(results[0], some[0] * a + a));
    BOOST_TEST(same_bits(results[1], some[1] * a + 1));
    BOOST_TEST(same_bits(results[2], some[2] * a + l));
  };
  require(2, 10);
  exec.set(last, 20);
  require(2, 20);
  exec.set(all, 7);
  require(7, 20);
  const GraphExec clone = exec.clone();
  exec.set(all, 1);
  clone.replay();
  BOOST_TEST(same_bits(clone.output(results[1]), some[1] * 7 + 1));
  require(1, 20);
}

BOOST_AUTO_TEST_CASE(parts_can_be_bound_updated_and_are_named) {
  const std::vector<Array> some = waves({64, 128, 1000});
  const auto program = [&] {
    std::vector<Array> results;
    for (const Array& one : some) results.push_back(one * 2 + 1);
    return results;
  };
  const auto [graph, results] = capture(program);
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  BOOST_TEST(says(exec, "horizontal: 3 commands are one: 'fused mul, add' at"));
  require_error(Errc::not_supported, [&] { exec.enable("mul", false); }, {"fused", "optimize = none"});
  require_error(Errc::not_supported, [&] { exec.enable("fused mul, add", false); }, {"fused", "optimize = none"});
  const Array odd = wave({1001}, 9).slice(1, 1001);  // not aligned for vectors
  exec.bind(some[2], odd);
  exec.replay();
  BOOST_TEST(same_bits(results[0], some[0] * 2 + 1));
  BOOST_TEST(same_bits(results[2], odd * 2 + 1));
  const std::vector<Array> fewer = waves({5, 6000});
  const auto [other, others] = capture([&] { return std::pair{fewer[0] - 3, fewer[1] - 3}; });
  BOOST_TEST(exec.update(other).in_place);
  exec.replay();
  BOOST_TEST(same_bits(others.first, fewer[0] - 3));
  BOOST_TEST(same_bits(others.second, fewer[1] - 3));
}

BOOST_AUTO_TEST_CASE(what_one_launch_cannot_take_becomes_several) {
  const Array x = wave({16});
  std::vector<Array> targets;
  for (int i = 0; i < 1500; ++i) targets.push_back(wave({16}, i));
  const GraphExec exec = capture([&] {
                           for (Array& target : targets) target += x;
                         }).instantiate();
  BOOST_TEST(exec.node_count() > 1);
  BOOST_TEST(exec.node_count() <= 20);  // four kilobytes of parameters on old devices
  exec.replay();
  for (int i = 0; i < 1500; ++i) BOOST_REQUIRE(same_bits(targets[static_cast<std::size_t>(i)], wave({16}, i) + x));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
