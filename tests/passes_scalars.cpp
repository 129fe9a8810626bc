// Values of one element are computed within the commands that read them, and no bit changes.

#include "support_passes.hpp"
#include "support_views.hpp"

#include <refrain/movement.hpp>
#include <refrain/param.hpp>

#include <cstdint>
#include <utility>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr Passes without_scalars{.scalars = false};

/// A value of one element that nothing takes in: `logsumexp` is fused with nothing.
Array one_of(const Array& x) { return logsumexp(x); }

/// What such an executable says and gives in three replays, compared with eager runs of the program from the same
/// start.
template <class Fn>
void require_same_with(Passes passes, const std::vector<std::pair<Array, Array>>& starts, Fn program, int nodes) {
  const auto reset = [&] {
    for (auto [array, start] : starts) array.assign(start);
  };
  reset();
  std::vector<Array> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(snapshot(program()));
  reset();
  const auto [graph, result] = capture(program);
  const GraphExec exec = graph.instantiate({.passes = passes});
  BOOST_TEST(exec.node_count() == nodes);
  for (int i = 0; i < 3; ++i) {
    exec.replay();
    BOOST_TEST(same_bits(result, expected[static_cast<std::size_t>(i)]));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_scalars, *label("sanitize"))

BOOST_AUTO_TEST_CASE(a_quotient_is_computed_where_it_is_read) {
  const Array x = wave({100, 20});
  const Array y = wave({100, 20}, 4);
  const auto program = [&] {
    const Array alpha = one_of(x) / one_of(y);
    return x * alpha - y;
  };
  const int apart = nodes_with(program, without_scalars);
  BOOST_TEST(nodes_with(program) == apart - 1);
  BOOST_TEST(nodes_with(program, only(&Passes::scalars)) == nodes_with(program, no_passes) - 1);
  const GraphExec exec = capture(program).first.instantiate();
  BOOST_TEST(says(exec, "scalars: 'div' at"));
  BOOST_TEST(says(exec, "is computed where it is read, in 1 command"));
  require_error(Errc::not_supported, [&] { exec.enable("div", false); }, {"fused", "optimize = none"});
}

BOOST_AUTO_TEST_CASE(casts_views_draws_and_moves_read_it_too) {
  const Array x = wave({100, 20});
  const Array y = wave({100, 20}, 4);
  const Array one = full({}, 0.75F);
  BOOST_TEST(nodes_with([&] { return (y * sqrt(abs(one))).cast(DType::float16); }) == 1);
  BOOST_TEST(nodes_with([&] {
               const Array alpha = x.select(1).select(3) * 0.5F + 1;
               return (x - alpha) * (x.flip(1) + alpha);
             }) == 1);
  BOOST_TEST(nodes_with([&] { return rand({300}) * (one * 2); }) == 1);
  BOOST_TEST(nodes_with([&] { return roll(x, 3, 1) * exp(one); }) == 1);
  const Array indices = from_host(std::vector<std::int64_t>{5, 0, 99, 5}, {4});
  BOOST_TEST(nodes_with([&] { return take(x, indices, 0) * exp(one); }) == 1);
}

BOOST_AUTO_TEST_CASE(each_of_several_readers_computes_it) {
  const Array x = wave({1000});
  const Array y = wave({300}, 4);
  const auto program = [&] {
    const Array alpha = one_of(x) * 0.25F;
    return one_of(x * alpha) + one_of(y * alpha + 1);
  };
  BOOST_TEST(nodes_with(program, without_scalars) == 6 + 1);
  BOOST_TEST(nodes_with(program) == 6);
}

BOOST_AUTO_TEST_CASE(scalars_of_scalars_go_with_them) {
  const Array x = wave({1000});
  const Array y = wave({1000}, 4);
  const auto program = [&] {
    const Array alpha = one_of(x) * 0.25F;
    const Array beta = exp(alpha) + one_of(y);
    return x * alpha + y * beta;
  };
  BOOST_TEST(nodes_with(program, only(&Passes::scalars)) == nodes_with(program, no_passes) - 3);
}

BOOST_AUTO_TEST_CASE(what_others_read_or_hold_stays_a_command) {
  const Array x = wave({1000});
  Array kept;
  const GraphExec exec = capture([&] {
                           kept = one_of(x) * 2;
                           return x * kept;
                         }).first.instantiate();
  BOOST_TEST(exec.node_count() == 3);
  exec.replay();
  BOOST_TEST(same_bits(kept, one_of(x) * 2));
  BOOST_TEST(nodes_with([&] {
               const Array alpha = one_of(x).reshape({1}) * 2;
               return x * alpha + one_of(alpha.expand({50}));
             }) == 4);
}

BOOST_AUTO_TEST_CASE(an_element_of_an_array_that_is_read_whole_stays_a_command) {
  const Array x = wave({1000});
  const auto [graph, y] = capture([&] {
    Array some = empty({4});
    some.slice(2, 3).assign(one_of(x).reshape({1}) * 2);
    return some + 1;
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 3);
  exec.replay();
  BOOST_TEST(same_bits(y.slice(2, 3), one_of(x).reshape({1}) * 2 + 1));
}

BOOST_AUTO_TEST_CASE(what_is_written_before_the_reader_runs_is_read_before_that) {
  Array powers = full({4}, 0.5F);
  const Array first = wave({1000}, 2);
  const auto program = [&] {
    const Array correction = 1 - powers.select(2);
    powers *= 0.5F;  // after the command above has read it
    return first / correction;
  };
  require_same_with({}, {{powers, full({4}, 0.5F)}}, program, 3);
  require_same_with(only(&Passes::scalars), {{powers, full({4}, 0.5F)}}, program, 3);
}

BOOST_AUTO_TEST_CASE(a_reader_that_writes_an_input_of_the_scalar_does_not_compute_it) {
  // Blocks of its kernel that come late would read what early ones have written.
  Array x = wave({1 << 15});
  const auto program = [&] {
    const Array own = x.select(0) * 2 + 1;
    x += own;
    return x;
  };
  require_same_with({}, {{x, wave({1 << 15})}}, program, 2);
  require_same_with(only(&Passes::scalars), {{x, wave({1 << 15})}}, program, 2);
  // Nor where it is one of several.
  Array counter = full({1}, 3);
  const auto counting = [&] {
    const Array own = counter * 2;
    const Array y = x * own;
    counter += own;
    return y * counter;
  };
  require_same_with(only(&Passes::scalars), {{x, wave({1 << 15})}, {counter, full({1}, 3)}}, counting, 4);
}

BOOST_AUTO_TEST_CASE(a_counter_is_moved_on_once_all_blocks_have_read_it) {
  Array counter = full({1}, 1);
  const Array x = wave({1 << 15});
  const Param<float> step(2, "step");
  const auto program = [&] {
    counter += step;
    return x / (counter * 0.5F);
  };
  const auto [graph, y] = capture(program);
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  BOOST_TEST(says(exec, "and what is kept of it is written afterwards"));
  BOOST_TEST(says(exec, "last: "));
  const auto require = [&](const GraphExec& of, float value) {
    of.replay();
    BOOST_TEST(holds(counter, value));
    BOOST_TEST(same_bits(of.output(y), x / (full({1}, value) * 0.5F)));
  };
  require(exec, 3);
  require(exec, 5);
  exec.set(step, 10);
  require(exec, 15);
  counter.assign(100);  // by others, between replays
  require(exec, 110);
  const GraphExec clone = exec.clone();
  exec.set(step, 1);
  require(clone, 120);
  require(exec, 121);
  require_error(Errc::not_supported, [&] { exec.enable("add", false); }, {"fused", "optimize = none"});
  Array other = full({1}, 7);
  exec.bind(counter, other);
  exec.replay();
  BOOST_TEST(holds(counter, 121));
  BOOST_TEST(holds(other, 8));
  BOOST_TEST(same_bits(y, x / (full({1}, 8) * 0.5F)));
  BOOST_TEST(exec.update(capture([&] { return other *= 2, x - (other + 1); }).first).in_place);
  exec.replay();
  BOOST_TEST(holds(other, 16));
}

BOOST_AUTO_TEST_CASE(every_block_reads_a_counter_before_it_is_moved_on) {
  Array counter = zeros({1});
  Array total = zeros({1 << 17});
  const Graph graph = capture([&] {
    counter += 1;
    total += counter * 2;
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1, exec.explain());
  constexpr int replays = 300;
  for (int i = 0; i < replays; ++i) exec.replay();
  BOOST_TEST(holds(counter, replays));
  BOOST_TEST(same_bits(total, full({1 << 17}, replays * (replays + 1))));
}

BOOST_AUTO_TEST_CASE(a_counter_that_others_read_is_moved_on_where_it_was) {
  Array counter = full({1}, 3);
  const Array x = wave({1000});
  const auto start = [&] { return std::vector<std::pair<Array, Array>>{{counter, full({1}, 3)}}; };
  // By rows, by what comes after a reader, by work that does not say what it touches.
  require_same_with(
      {}, start(), [&] { return counter += 2, x / exp(counter) + one_of(counter.expand({7})); }, 3);
  require_same_with(
      {}, start(),
      [&] {
        counter += 2;
        const Array y = x / exp(counter) + counter;
        counter *= 0.5F;  // the last that the command before it does
        return y;
      },
      2);
  require_same_with(
      {}, start(),
      [&] {
        counter += 2;
        const Array y = x / exp(counter);
        current_stream().launch_host_func([] {});
        return y * 2;
      },
      4);
}

BOOST_AUTO_TEST_CASE(blocks_of_large_commands_are_not_counted) {
  Array counter = full({1}, 3);
  const Array x = wave({1 << 20});
  const auto program = [&] { return counter += 2, x / exp(counter); };
  require_same_with({}, {{counter, full({1}, 3)}}, program, 2);
}

BOOST_AUTO_TEST_CASE(the_last_block_reads_what_all_have_written) {
  const Array x = wave({1 << 15});
  Array last;
  const auto program = [&] {
    const Array y = x * 2 + 1;
    last = y.select(0) - y.select(20000);
    return y;
  };
  const auto [graph, y] = capture(program);
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  for (int i = 0; i < 3; ++i) exec.replay();
  BOOST_TEST(same_bits(y, x * 2 + 1));
  BOOST_TEST(same_bits(last, y.select(0) - y.select(20000)));
}

BOOST_AUTO_TEST_CASE(work_that_does_not_say_what_it_touches_stays_between) {
  const Array one = full({}, 0.75F);
  const Array x = wave({1000});
  BOOST_TEST(nodes_with([&] {
               const Array alpha = exp(one);
               current_stream().launch_host_func([] {});
               return x * alpha;
             }) == 3);
}

BOOST_AUTO_TEST_CASE(rows_read_it_as_they_did) {
  const Array x = wave({50, 40});
  const Array one = full({}, 0.75F);
  const auto program = [&] { return sum(x * exp(one), 1); };
  BOOST_TEST(nodes_with(program) == 2);
}

BOOST_AUTO_TEST_CASE(parameters_reach_into_it) {
  const Array x = wave({1000});
  const Param<float> scale(2, "scale");
  const auto [graph, y] = capture([&] { return x * (one_of(x) * scale) + scale; });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 2);
  exec.set(scale, 5);
  exec.replay();
  BOOST_TEST(same_bits(y, x * (one_of(x) * 5.0F) + 5.0F));
  const Array other = wave({1000}, 9);
  exec.bind(x, other);
  exec.replay();
  BOOST_TEST(same_bits(y, other * (one_of(other) * 5.0F) + 5.0F));
}

BOOST_AUTO_TEST_CASE(large_readers_leave_long_scalars_alone) {
  const Array x = wave({1 << 20});
  BOOST_TEST(nodes_with([&] {
               Array alpha = one_of(x);
               for (int i = 0; i < 10; ++i) alpha = tanh(alpha * 0.1F);
               return x * alpha;
             }) == nodes_with([&] { return one_of(x); }) + 2);
}

BOOST_AUTO_TEST_CASE(rows_of_several_axes_are_not_what_a_last_block_adds_up) {
  const Array whole = arange(0, 32, 1, {.dtype = DType::int64}).reshape({4, 8});
  const Array column = arange(0, 4, 1, {.dtype = DType::int64}).reshape({4, 1});
  const auto program = [&] { return sum(randint(0, 10, {32 * 8192})) + sum(whole + column); };
  manual_seed(3);
  const Array expected = program();
  manual_seed(3);
  const auto [graph, total] = capture(program);
  graph.instantiate().replay();
  BOOST_TEST(same_bits(total, expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
