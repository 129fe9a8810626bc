// The memory plan of the optimiser: work in place, room that is used again, and room that executables share.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_passes.hpp"
#include "support_programs.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <refrain/linalg.hpp>

#include <string>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::int64_t size = 1 << 16;

/// In place besides what else is needed to see it.
Passes in_place() { return only(&Passes::order, &Passes::memory, &Passes::in_place); }
/// The same of fused commands.
Passes fused_in_place() { return only(&Passes::order, &Passes::fusion, &Passes::memory, &Passes::in_place); }

/// The arena of a checked executable, in arrays of the size.
template <class Fn>
double arrays_in_arena(Fn&& fn, Passes passes) {
  const GraphExec exec = checked_exec(fn, {.passes = passes});
  return static_cast<double>(exec.arena_use().size_bytes) / static_cast<double>(size * sizeof(float));
}

double size_to_live(const ArenaUse& use) {
  return static_cast<double>(use.size_bytes) / static_cast<double>(use.live_bytes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_memory, *label("sanitize"))

// In place

BOOST_AUTO_TEST_CASE(a_chain_works_in_one_array) {
  const Array x = wave({size});
  const auto program = [&] {
    Array y = x;
    for (int i = 0; i < 10; ++i) y = y * 0.5F + 0.25F;
    return y;
  };
  BOOST_TEST(bytes_of(program, in_place()) == 2 * x.size_bytes());  // the temporaries', and the output
  const GraphExec exec = checked_exec(program, {.passes = in_place()});
  BOOST_TEST(exec.node_count() == 20);
  BOOST_TEST(exec.arena_use().total_bytes == 19 * x.size_bytes());
  BOOST_TEST(exec.arena_use().live_bytes == x.size_bytes());
  BOOST_TEST(says(exec, "in place: 'add' at"));
  BOOST_TEST(says(exec, "in place: so do 2 commands more"));
}

BOOST_AUTO_TEST_CASE(in_place_needs_no_memory_plan) {
  const Array x = wave({size});
  const auto program = [&] { return exp(sin(abs(x))); };
  BOOST_TEST(arrays_in_arena(program, only(&Passes::in_place)) == 1);
  BOOST_TEST(arrays_in_arena(program, only(&Passes::memory)) == 2);
  BOOST_TEST(arrays_in_arena(program, no_passes) == 2);
}

BOOST_AUTO_TEST_CASE(elements_that_other_positions_read_are_not_written_over) {
  const Array x = wave({size});
  const Array square = wave({256, 256});
  BOOST_TEST(arrays_in_arena(
                 [&] {
                   const Array y = x * 2;
                   return (y + y.flip(0)) * 3;
                 },
                 in_place()) == 2);
  BOOST_TEST(arrays_in_arena(
                 [&] {
                   const Array y = square * 2;
                   return (y.transpose(0, 1) + 1) * 3;
                 },
                 in_place()) == 2);
  BOOST_TEST(arrays_in_arena(
                 [&] {
                   const Array y = square * 2;
                   return exp(y + y.select(0)) * 3;
                 },
                 in_place()) == 2);
  BOOST_TEST(arrays_in_arena([&] { return roll(x * 2, 5) * 3; }, in_place()) == 2);
}

BOOST_AUTO_TEST_CASE(rows_that_are_reduced_are_not_written_over) {
  const Array x = wave({256, 256});
  BOOST_TEST(arrays_in_arena([&] { return softmax(x * 2, -1) * 3; }, in_place()) == 2);
  const GraphExec exec = checked_exec([&] { return sum(x * 2, -1, true) + 1; }, {.passes = in_place()});
  BOOST_TEST(exec.arena_use().size_bytes == x.size_bytes() + 1024);
}

BOOST_AUTO_TEST_CASE(values_of_another_type_are_written_elsewhere) {
  const Array x = wave({size});
  const Passes alone = only(&Passes::in_place);
  BOOST_TEST(arrays_in_arena([&] { return (x * 2).cast(DType::float16).cast(DType::float32) + 1; }, alone) == 2.5);
  BOOST_TEST(arrays_in_arena([&] { return (x * 2).cast(DType::int32) + 1; }, alone) == 2);
}

BOOST_AUTO_TEST_CASE(values_that_are_needed_later_are_not_written_over) {
  const Array x = wave({size});
  BOOST_TEST(arrays_in_arena(
                 [&] {
                   const Array y = x * 2;
                   const Array z = exp(y);
                   return (y - z) * (y + 1) + z;
                 },
                 only(&Passes::memory, &Passes::in_place)) == 3);
  Array kept;
  auto [graph, output] = capture([&] {
    kept = x * 2;
    return exp(kept) + 1;
  });
  const GraphExec exec = graph.instantiate({.passes = in_place()});
  exec.replay();
  BOOST_TEST(same_bits(kept, x * 2));
  BOOST_TEST(same_bits(output, exp(x * 2) + 1));
}

BOOST_AUTO_TEST_CASE(a_branch_does_not_write_over_what_another_reads) {
  const Array x = wave({size});
  const Stream side;
  const auto program = [&] {
    const Array y = x * 2;
    side.wait_stream(current_stream());
    Array left;
    {
      const StreamGuard on(side);
      left = exp(y);
    }
    const Array right = sin(y);
    current_stream().wait_stream(side);
    return left * right;
  };
  BOOST_TEST(arrays_in_arena(program, in_place()) == 3);
}

BOOST_AUTO_TEST_CASE(parts_of_arrays_are_written_in_place_where_they_lie_alike) {
  const Array x = wave({size});
  const auto program = [&] {
    const Array y = x * 2;
    Array z = empty({size});
    z.slice(0, size / 2).assign(y.slice(0, size / 2) * 3);
    z.slice(size / 2, size).assign(y.slice(size / 2, size) + z.slice(0, size / 2));
    return z * 5;
  };
  checked_exec(program, {.passes = in_place()});
  checked_exec(program, {.passes = fused_in_place()});
  checked_exec(program);
}

BOOST_AUTO_TEST_CASE(fused_commands_work_in_place) {
  const Array x = wave({size});
  const auto one = [&] {
    const Array y = x * 2 + 1;
    const Array z = (y - sum(y)) * 0.5F;
    return (z * 3 + sum(z)) * 2;
  };
  const GraphExec exec = checked_exec(one, {.passes = fused_in_place()});
  BOOST_TEST(exec.arena_use().size_bytes < 2 * x.size_bytes() + x.size_bytes() / 2);  // z and z * 3
  // On the host the sums keep the commands before and after them apart; on CUDA a cluster of blocks does it all.
  BOOST_TEST(says(exec, "in place: 'fused") == (current_device().kind == DeviceKind::host));

  const auto several = [&] {
    const Array y = x * 2 + 1;
    const Array mean_y = mean(y);
    const Array u = exp(y - mean_y) + y;
    const Array v = y * mean_y - u;  // reads y once more when u is known, which lies in its place
    return (u + sum(v)) * (v + sum(u));
  };
  checked_exec(several, {.passes = fused_in_place()});
  checked_exec(several);
  const auto drawn = [&] {
    const Array y = x * 2 + 1;
    const Array z = (y - sum(y)) * rand({size});
    return z + max(z);
  };
  checked_exec(drawn, {.passes = fused_in_place()});
  const Array square = wave({256, 256});
  const auto strided = [&] {
    const Array y = (square * 2).transpose(0, 1).contiguous();
    const Array rows = sum(y, 1, true);
    return (y - rows) * y.select(3) + sum(rows);
  };
  checked_exec(strided, {.passes = fused_in_place()});
}

BOOST_AUTO_TEST_CASE(a_command_in_place_cannot_be_left_out) {
  const Array x = wave({1000});
  const GraphExec exec =
      capture([&] { return exp(abs(sin(x))); }).first.instantiate({.passes = only(&Passes::in_place)});
  require_error(Errc::not_supported, [&] { exec.enable("abs", false); }, {"temporary whose memory others use"});
}

// The plan

BOOST_AUTO_TEST_CASE(the_arena_is_as_large_as_what_lives_at_once) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    BOOST_TEST_CONTEXT("program " << seed) {
      const auto program = [&] { return program_of_many_sizes(seed); };
      Passes unfused = all_but(&Passes::fusion);
      unfused.scalars = unfused.horizontal = false;
      const ArenaUse use = checked_exec(program, {.passes = unfused}).arena_use();
      BOOST_TEST(use.live_bytes <= use.size_bytes);
      BOOST_TEST(use.size_bytes <= use.total_bytes);
      // Of a line. Where branches stay beside each other, what they use does too: see internal/arenas.cpp.
      BOOST_TEST(size_to_live(use) <= (current_device().kind == DeviceKind::host ? 1.1 : 1.7));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_arena_is_reported) {
  const Array x = wave({size});
  const auto rolled = capture([&] { return roll(x, 1) + roll(x, 2); });
  const GraphExec exec = rolled.first.instantiate({.passes = all_but(&Passes::fusion)});
  BOOST_TEST(says(exec, " bytes on " + current_device().str() + ", of which at most "));
  const GraphExec none = capture([&] { return x + 1; }).first.instantiate();
  BOOST_TEST(none.arena_use().size_bytes == 0);
  BOOST_TEST(none.arena_use().live_bytes == 0);
}

// Shared room

BOOST_AUTO_TEST_CASE(executables_of_one_graph_share_room) {
  const Array x = wave({size});
  const Stream one;
  const Stream two;
  const auto [graph, y] = capture([&] { return roll(roll(roll(x, 1), 2), 3); });
  synchronize();
  const auto before = memory_stats(current_device()).live;
  const GraphExec first = graph.instantiate();
  const auto of_one = memory_stats(current_device()).live - before;
  const GraphExec second = graph.instantiate();
  BOOST_TEST(memory_stats(current_device()).live - before == of_one);
  const GraphExec clone = first.clone();
  BOOST_TEST(memory_stats(current_device()).live - before == 2 * of_one);
  for (int i = 0; i < 20; ++i) {
    first.replay(one);
    second.replay(two);
    clone.replay(one);
  }
  BOOST_TEST(same_bits(y, roll(x, 6)));
  BOOST_TEST(same_bits(clone.output(y), roll(x, 6)));
}

/// Two graphs whose temporaries hold other numbers.
struct Two {
  explicit Two(const ArenaPool* pool) {
    std::tie(first_graph, first_output) = capture([this] { return roll(roll(roll(x, 1) * 2, 2), 3); });
    std::tie(second_graph, second_output) = capture([this] { return roll(roll(roll(x, 4) + 1, 5), 6); });
    synchronize();
    const auto before = memory_stats(current_device()).live;
    first = first_graph.instantiate({.arena_pool = pool});
    second = second_graph.instantiate({.arena_pool = pool});
    bytes = memory_stats(current_device()).live - before;
  }
  void check() const {
    BOOST_TEST(same_bits(first_output, roll(x, 6) * 2));
    BOOST_TEST(same_bits(second_output, roll(x, 15) + 1));
  }

  Array x = wave({size});
  Graph first_graph;
  Graph second_graph;
  Array first_output;
  Array second_output;
  GraphExec first;
  GraphExec second;
  std::int64_t bytes = 0;
};

BOOST_AUTO_TEST_CASE(two_graphs_share_a_pool_and_are_right, *label("conformance-37")) {
  const ArenaPool pool;
  const Two apart(nullptr);
  const Two shared(&pool);
  const std::int64_t arena = shared.first.arena_use().size_bytes;
  BOOST_TEST(arena > 0);
  BOOST_TEST(shared.second.arena_use().size_bytes == arena);
  BOOST_TEST(apart.bytes - shared.bytes == arena);
  for (const Two* two : {&apart, &shared}) {
    for (int i = 0; i < 5; ++i) {
      two->first.replay();
      if (i % 2 == 0) two->second.replay();
      two->second.replay();
      two->check();
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_that_share_a_pool_never_overlap, *label("conformance-38")) {
  const HazardsScope hazards(Hazards::error);  // to share room is no fault of the program
  const ArenaPool pool;
  const Two two(&pool);
  const Two apart(nullptr);
  synchronize();
  const Stream one;
  const Stream other;
  {
    Gate gate(one);
    apart.first.replay(one);
    apart.second.replay(other);
    other.synchronize();
    BOOST_TEST(gate.open());
  }
  {
    Gate gate(one);
    two.first.replay(one);
    two.second.replay(other);
    const Stream third;
    for (int i = 0; i < 20; ++i) {  // what `other` waits for nothing with would be done by then
      apart.second.replay(third);
      third.synchronize();
    }
    BOOST_TEST(!other.query());
    BOOST_TEST(gate.open());
  }
  for (int i = 0; i < 50; ++i) {
    two.first.replay(one);
    two.second.replay(other);
    if (i % 3 == 0) two.second.replay(other);
  }
  one.synchronize();
  other.synchronize();
  two.check();
  apart.check();
}

BOOST_AUTO_TEST_CASE(three_graphs_that_share_a_pool_are_right_in_every_order, *label("conformance-39")) {
  const ArenaPool pool;
  Array x = filled(1, size);
  std::vector<std::pair<GraphExec, Array>> all;
  for (int k = 1; k <= 3; ++k) {
    auto [graph, output] = capture([&] {
      x += static_cast<float>(k);
      return roll(roll(x, k) * static_cast<float>(k), 1);
    });
    all.emplace_back(graph.instantiate({.arena_pool = &pool}), output);
  }
  std::vector<std::size_t> order = {0, 1, 2};
  double expected = 1;
  do {
    for (const std::size_t i : order) {
      all[i].first.replay();
      expected += static_cast<double>(i + 1);
      BOOST_TEST(holds(all[i].second, expected * static_cast<double>(i + 1)));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(room_outlives_the_pool_and_ends_with_its_last_executable) {
  synchronize();
  const auto before = memory_stats(current_device()).live;
  {
    std::optional<ArenaPool> pool(std::in_place);
    const ArenaPool same = *pool;
    BOOST_TEST((same == *pool));
    BOOST_TEST((ArenaPool() != *pool));
    Two two(&*pool);
    pool.reset();
    two.first.replay();
    two.first = GraphExec();
    two.second.replay();
    synchronize();
    BOOST_TEST(same_bits(two.second_output, roll(two.x, 15) + 1));
    // Another graph comes into the room.
    const GraphUpdate update = two.second.update(two.first_graph);
    two.second.replay();
    BOOST_TEST(same_bits(two.first_output, roll(two.x, 6) * 2));
    BOOST_TEST(update.in_place);
  }
  synchronize();
  BOOST_TEST(memory_stats(current_device()).live == before);
}

BOOST_AUTO_TEST_CASE(a_pool_takes_graphs_of_any_size_in_any_order) {
  const ArenaPool pool;
  std::vector<GraphExec> execs;
  std::vector<Array> inputs;
  std::vector<Array> outputs;
  for (const std::int64_t n : {1000, 100000, 10, 50000}) {
    inputs.push_back(wave({n}));
    auto [graph, output] = capture([&] { return roll(roll(inputs.back(), 1), 2); });
    execs.push_back(graph.instantiate({.arena_pool = &pool}));
    outputs.push_back(output);
  }
  for (int round = 0; round < 3; ++round) {
    for (const GraphExec& exec : execs) exec.replay();
    for (std::size_t i = 0; i < outputs.size(); ++i) BOOST_TEST(same_bits(outputs[i], roll(inputs[i], 3)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
