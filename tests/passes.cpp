// What each pass of the optimiser does to small programs, and that it changes no bit.

#include "support.hpp"
#include "support_memory.hpp"
#include "support_passes.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <string>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(passes, *label("sanitize"))

// Dead work

BOOST_AUTO_TEST_CASE(what_nothing_reads_is_left_out_and_said) {
  const Array x = wave({100});
  const auto program = [&] {
    const Array unused = exp(x) * 2;
    return x + 1;
  };
  BOOST_TEST(nodes_with(program, only(&Passes::dead_work)) == 1);
  BOOST_TEST(nodes_with(program, no_passes) == 3);
  const GraphExec exec = capture(program).first.instantiate({.passes = only(&Passes::dead_work)});
  BOOST_TEST(says(exec, "dead work: 'exp'"));
  exec.enable("exp", false);  // nobody can tell
}

BOOST_AUTO_TEST_CASE(draws_that_nothing_reads_move_the_generator_all_the_same) {
  const auto program = [] {
    const Array unused = rand({1000});
    return randn({1000});
  };
  BOOST_TEST(nodes_with(program, only(&Passes::dead_work)) == 1);
  BOOST_TEST(nodes_with(program) == 1);
}

BOOST_AUTO_TEST_CASE(outputs_inputs_and_functions_are_never_dead) {
  Array x = wave({100});
  Array kept;
  int calls = 0;
  const auto [graph, output] = capture([&] {
    kept = x * 2;
    x += 1;
    current_stream().launch_host_func([&] { ++calls; });
    return x * 3;
  });
  const GraphExec exec = graph.instantiate({.passes = only(&Passes::dead_work)});
  BOOST_TEST(exec.node_count() == 4);
}

// Order

BOOST_AUTO_TEST_CASE(only_what_conflicts_keeps_its_order) {
  Array a = wave({100});
  Array b = wave({100}, 5);
  const auto program = [&] {
    a += 1;
    b += 1;
    return a * b;
  };
  const Graph graph = capture(program).first;
  BOOST_TEST(graph.edge_count() == 2);
  const GraphExec exec = graph.instantiate({.passes = only(&Passes::order)});
  BOOST_TEST(exec.edge_count() == 2);
  BOOST_TEST(exec.to_dot().find("n0 -> n1") == std::string::npos);
  BOOST_TEST(nodes_with([&] { return exp(a) + log(b); }, only(&Passes::order)) == 3);
}

BOOST_AUTO_TEST_CASE(undeclared_work_keeps_its_place_among_all) {
  Array a = wave({100});
  Array b = wave({100}, 5);
  const Graph graph = capture([&] {
    a += 1;
    current_stream().launch_host_func([] {});
    b += 1;
  });
  const GraphExec exec = graph.instantiate({.passes = only(&Passes::order)});
  BOOST_TEST(exec.edge_count() == 2);
  BOOST_TEST(exec.to_dot().find("n1 -> n2") != std::string::npos);
}

// Memory

BOOST_AUTO_TEST_CASE(temporaries_that_do_not_live_at_once_share_memory) {
  const Array x = wave({1 << 18});
  const auto program = [&] {
    Array y = x;
    for (int i = 0; i < 10; ++i) y = y * 0.5F;
    return y;
  };
  const std::int64_t one = x.size_bytes();
  BOOST_TEST(bytes_of(program, no_passes) == 10 * one);  // nine temporaries and the output
  BOOST_TEST(bytes_of(program, only(&Passes::memory)) == 3 * one);
  BOOST_TEST(bytes_of(program, {}) == one);  // fused, there are none
  BOOST_TEST(nodes_with(program, only(&Passes::memory)) == 10);
}

BOOST_AUTO_TEST_CASE(branches_that_may_run_at_once_share_no_memory) {
  const Array x = wave({1 << 16});
  const Stream side;
  const auto program = [&] {
    side.wait_stream(current_stream());
    Array left = x;
    for (int i = 0; i < 4; ++i) left = left * 0.5F;
    Array right = x;
    {
      const StreamGuard on(side);
      for (int i = 0; i < 4; ++i) right = right + 1;
    }
    current_stream().wait_stream(side);
    return left + right;
  };
  BOOST_TEST(nodes_with(program, only(&Passes::memory)) == 9);
  // Two blocks in turns for each branch, and the output.
  BOOST_TEST(bytes_of(program, only(&Passes::memory)) == 5 * x.size_bytes());
}

BOOST_AUTO_TEST_CASE(a_command_that_leaves_nothing_in_shared_memory_cannot_be_left_out) {
  const Array x = wave({1 << 12});
  const GraphExec exec =
      capture([&] { return exp(log(abs(sin(cos(x))))); }).first.instantiate({.passes = only(&Passes::memory)});
  require_error(Errc::not_supported, [&] { exec.enable("abs", false); },
                {"temporary whose memory others use", "passes.memory = false"});
}

// Fusion

BOOST_AUTO_TEST_CASE(a_chain_is_one_command) {
  const Array x = wave({1000});
  const Array y = wave({1000}, 3);
  const auto program = [&] {
    Array z = x;
    for (int i = 0; i < 50; ++i) {
      z = z * 0.999F;
      z = z + y;
    }
    return z;
  };
  BOOST_TEST(nodes_with(program) == 1);
  BOOST_TEST(nodes_with(program, only(&Passes::fusion)) == 1);
  BOOST_TEST(says(capture(program).first.instantiate(), "fusion: 100 commands are one: 'mul' at"));
}

BOOST_AUTO_TEST_CASE(so_is_one_of_single_elements) {
  const Array start = full({}, 0.5F);
  const auto program = [&] {
    const Array power = start * 0.9F;
    const Array rest = 1 - power;
    return rest / power;
  };
  BOOST_TEST(nodes_with(program) == 1);
}

BOOST_AUTO_TEST_CASE(branches_of_several_streams_are_one_command) {
  const std::vector<Stream> streams(8);
  const Array x = wave({1000});
  const auto program = [&] {
    std::vector<Array> parts;
    for (const Stream& stream : streams) {
      stream.wait_stream(current_stream());
      const StreamGuard on(stream);
      Array z = x;
      for (int i = 0; i < 16; ++i) z = z * 0.999F + 0.1F;
      parts.push_back(z);
    }
    Array sum = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      current_stream().wait_stream(streams[i]);
      sum = sum + parts[i];
    }
    return sum;
  };
  BOOST_TEST(nodes_with(program) == 1);
}

BOOST_AUTO_TEST_CASE(draws_are_part_of_it_and_go_on_from_replay_to_replay) {
  BOOST_TEST(nodes_with([] { return randn({50, 50}) * 3 + (randn({50, 50}) + 5); }) == 1);
  BOOST_TEST(nodes_with([] { return rand({300000}) + randint(0, 10, {300000}).cast(DType::float32); }) == 1);
  BOOST_TEST(nodes_with([] { return rand({1 << 20}, {.dtype = DType::float64}) * 2; }) == 1);
  BOOST_TEST(nodes_with([] { return normal(1, 2, {33, 31}, {.dtype = DType::float16}) * 2; }) == 1);
  // Numbers that are laid out over other threads are made by a command of their own.
  BOOST_TEST(nodes_with([] { return rand({1000}).slice(0, 500) + rand({500}); }) == 2);
}

BOOST_AUTO_TEST_CASE(broadcasts_casts_choices_and_views_are_part_of_it) {
  const Array x = wave({12, 40});
  const Array row = wave({40}, 7);
  const Array column = wave({12, 1}, 9);
  BOOST_TEST(nodes_with([&] { return (x * row + column) * 2 - row; }) == 1);
  BOOST_TEST(nodes_with([&] { return where(x < row, x.cast(DType::float16), (x - row).cast(DType::float16)) * 2; }) ==
             1);
  BOOST_TEST(nodes_with([&] { return (x.transpose(0, 1) + 1) * column.transpose(0, 1); }) == 1);
  BOOST_TEST(nodes_with([&] { return x.flip(1) * 2 + x.slice({.step = -1}); }) == 1);
  BOOST_TEST(nodes_with([&] { return (x > 0).cast(DType::int64) * 3 + (x < row).cast(DType::int64); }) == 1);
  const Array inner = wave({4, 1}, 2);
  BOOST_TEST(nodes_with([&] { return (x + row).reshape({3, 4, 40}) * inner; }) == 1);
}

BOOST_AUTO_TEST_CASE(elements_that_another_position_writes_keep_them_apart) {
  const Array base = wave({100});
  BOOST_TEST(nodes_with([&] {
               const Array x = base * 3;
               x.slice(0, 50) += x.slice(50, 100);
               x.slice(25, 75) *= 0.5F;
               return x + 0;
             }) == 4);
  const Array square = wave({10, 10});
  BOOST_TEST(nodes_with([&] {
               const Array doubled = square * 2;
               return doubled.transpose(0, 1) + doubled;
             }) == 2);
}

BOOST_AUTO_TEST_CASE(in_place_ops_and_swaps_read_before_they_write) {
  Array a = wave({100});
  Array b = wave({100}, 5);
  Array c = wave({100}, 6);
  const auto program = [&] {
    const Array old = a + 0;
    a.assign(b);
    b.assign(old);
    c += a;
    c *= b;
    return c - old;
  };
  const std::vector<float> before_a = a.to_vector<float>();
  const std::vector<float> before_b = b.to_vector<float>();
  const GraphExec exec = capture(program).first.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.replay();
  BOOST_TEST((a.to_vector<float>() == before_b));
  BOOST_TEST((b.to_vector<float>() == before_a));
  exec.replay();
  BOOST_TEST((a.to_vector<float>() == before_a));
}

BOOST_AUTO_TEST_CASE(values_that_others_read_are_written_too) {
  const Array x = wave({1000});
  Array kept;
  auto [graph, output] = capture([&] {
    kept = x * 2;
    const Array used = kept + 1;
    return std::pair{sum(used), used * 3};
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.replay();
  BOOST_TEST(same_bits(kept, x * 2));
  BOOST_TEST(same_bits(output.first, sum(x * 2 + 1)));
  BOOST_TEST(same_bits(output.second, (x * 2 + 1) * 3));
}

BOOST_AUTO_TEST_CASE(parameters_and_bindings_reach_into_it) {
  const Array x = wave({1000});
  const Param<float> scale(2, "scale");
  auto [graph, y] = capture([&] { return (x + 1) * scale - scale; });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.set(scale, 5);
  exec.replay();
  BOOST_TEST(same_bits(y, (x + 1) * 5.0F - 5.0F));
  const Array other = wave({1000}, 9);
  exec.bind(x, other);
  const Array target = zeros({1000});
  exec.bind(y, target);
  exec.replay();
  BOOST_TEST(same_bits(target, (other + 1) * 5.0F - 5.0F));
  const Array odd = wave({1001}, 9).slice(1, 1001);
  exec.bind(x, odd);
  exec.replay();
  BOOST_TEST(same_bits(target, (odd + 1) * 5.0F - 5.0F));
  require_error(Errc::not_supported, [&] { exec.enable("add", false); }, {"fused", "optimize = none"});
}

BOOST_AUTO_TEST_CASE(two_names_of_the_same_memory_stay_two_when_one_is_bound) {
  const Memory memory(8);
  const Array x = from_blob(memory.at(), {8});
  const Array same = from_blob(memory.at(), {8});
  Array written = from_blob(memory.at(), {8});
  const auto [graph, y] = capture([&] { return (x + 1) * (same + 2); });
  const auto [writes, z] = capture([&] {
    written.assign(5);
    return x + 1;
  });
  const GraphExec exec = graph.instantiate();
  const GraphExec writing = writes.instantiate();
  exec.bind(same, full({8}, 10));
  exec.replay();
  BOOST_TEST(holds(y, 12));
  writing.replay();
  BOOST_TEST(holds(z, 6));
  writing.bind(x, full({8}, 10));
  writing.replay();
  BOOST_TEST(holds(z, 11));
}

BOOST_AUTO_TEST_CASE(why_commands_stay_apart_is_said) {
  const Array x = wave({10, 10});
  const auto [graph, y] = capture([&] {
    const Array doubled = x * 2;
    return doubled.transpose(0, 1) + doubled;
  });
  BOOST_TEST(says(graph.instantiate(), "stays apart from 'mul' at"));
}

BOOST_AUTO_TEST_CASE(graphs_in_graphs_clones_and_updates_are_fused_too) {
  Array x = wave({1000});
  const GraphExec inner = capture([&] {
                            x *= 0.5F;
                            x += 1;
                          }).instantiate();
  auto [graph, y] = capture([&] {
    inner.replay();
    const Array first = x * 2;
    inner.replay();
    return first + x;
  });
  const Array before = snapshot(x);
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.replay();
  const Array once = before * 0.5F + 1;
  BOOST_TEST(same_bits(y, once * 2 + (once * 0.5F + 1)));
  auto [other, z] = capture([&] { return (x + 1) * (x + 2); });
  BOOST_TEST(exec.update(other).in_place);
  exec.replay();
  BOOST_TEST(same_bits(z, (x + 1) * (x + 2)));
  const GraphExec clone = exec.clone();
  clone.replay();
  BOOST_TEST(same_bits(clone.output(z), (x + 1) * (x + 2)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
