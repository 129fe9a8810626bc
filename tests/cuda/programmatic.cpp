// Programmatic edges: kernels that are launched while the one before them still runs, on memory that is used again two
// kernels later.

#include "cuda/compat.hpp"
#include "cuda/device.hpp"
#include "kernels/cuda.cuh"
#include "kernels/dependency.hpp"
#include "support.hpp"
#include "support_passes.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <functional>
#include <vector>

namespace refrain::test {

namespace {

constexpr int rounds = 40;
constexpr std::int64_t sizes[] = {1, 33, 1000, 4096, 100000};

/// Nothing is fused or worked on in place, so that temporaries take turns in two blocks: each kernel writes what the
/// one before it reads from, and reads what the one before that has read.
Passes turns(bool is_programmatic = true) {
  Passes passes;
  passes.fusion = false;
  passes.scalars = false;
  passes.horizontal = false;
  passes.in_place = false;
  passes.programmatic = is_programmatic;
  return passes;
}

/// Fused, but for what reads other positions.
Passes fused_turns() {
  Passes passes;
  passes.scalars = false;
  passes.in_place = false;
  return passes;
}

int programmatic_edges(const GraphExec& exec) {
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaGraphGetEdges(exec.native_graph(), nullptr, nullptr, nullptr, &count));
#else
  REFRAIN_CUDA_CHECK(cudaGraphGetEdges_v2(exec.native_graph(), nullptr, nullptr, nullptr, &count));
#endif
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  std::vector<cudaGraphEdgeData> data(count);
  if (count == 0) return 0;
#if CUDART_VERSION >= 13000
  REFRAIN_CUDA_CHECK(cudaGraphGetEdges(exec.native_graph(), from.data(), to.data(), data.data(), &count));
#else
  REFRAIN_CUDA_CHECK(cudaGraphGetEdges_v2(exec.native_graph(), from.data(), to.data(), data.data(), &count));
#endif
  return static_cast<int>(std::count_if(data.begin(), data.end(), [](const cudaGraphEdgeData& each) {
    return each.type == cudaGraphDependencyTypeProgrammatic;
  }));
}

bool can_have_edges() {
  const int capability = cuda::compute_capability(current_device().index);
  if (capability >= kernels::dependency_capability && kernels::wait_for_dependencies(capability)) return true;
  BOOST_TEST_MESSAGE("no programmatic edges: they need compute capability 9.0 and code for it");
  return false;
}

/// Replays with other numbers each time, without waiting in between, are what eager runs are. `program`: of one array.
void require_same(const std::function<Array(const Array&)>& program, std::int64_t size, Passes passes,
                  int least_edges) {
  BOOST_TEST_CONTEXT(size << " elements") {
    Array x = wave({size});
    Array results = zeros({rounds, size});
    manual_seed(3);
    std::vector<Array> expected;
    for (int i = 0; i < rounds; ++i) expected.push_back(program(wave({size}, i)) + 0);
    auto [graph, y] = capture([&] { return program(x); });
    const GraphExec exec = graph.instantiate({.passes = passes});
    if (can_have_edges()) BOOST_TEST(programmatic_edges(exec) >= least_edges);
    manual_seed(3);
    std::vector<Array> inputs;
    for (int i = 0; i < rounds; ++i) inputs.push_back(wave({size}, i));
    synchronize();
    for (int i = 0; i < rounds; ++i) {
      x.assign(inputs[static_cast<std::size_t>(i)]);
      exec.replay();
      results.select(i).assign(y);
    }
    for (int i = 0; i < rounds; ++i) BOOST_TEST(same_bits(results.select(i), expected[static_cast<std::size_t>(i)]));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_programmatic, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(small_kernels_of_a_line_have_programmatic_edges) {
  const Array x = wave({1000});
  const auto [graph, y] = capture([&] { return exp(sin(abs(x))) + roll(x, 1); });  // without `y` it is dead work
  const GraphExec exec = graph.instantiate({.passes = turns()});
  if (!can_have_edges()) return;
  BOOST_TEST(programmatic_edges(exec) > 0);
  BOOST_TEST(says(exec, "programmatic: "));
  BOOST_TEST(programmatic_edges(graph.instantiate({.passes = turns(false)})) == 0);
  BOOST_TEST(programmatic_edges(graph.instantiate({.optimize = Optimize::none})) == 0);
}

BOOST_AUTO_TEST_CASE(large_kernels_and_forks_have_none) {
  const Array large = wave({1 << 20});
  const GraphExec line = capture([&] { return exp(sin(abs(large))); }).first.instantiate({.passes = turns()});
  BOOST_TEST(programmatic_edges(line) == 0);
  BOOST_TEST(says(line, "lose by it"));
  const Array x = wave({1000});
  Passes branches = turns();
  branches.lanes = false;
  const GraphExec fork = capture([&] {
                           const Array y = abs(x);
                           return sin(y) + cos(y);
                         }).first.instantiate({.passes = branches});
  BOOST_TEST(programmatic_edges(fork) == 0);
  // A reduction does not wait itself.
  const GraphExec mixed = capture([&] { return sum(abs(x)) + 1; }).first.instantiate({.passes = turns()});
  BOOST_TEST(programmatic_edges(mixed) == 0);
}

BOOST_AUTO_TEST_CASE(memory_is_used_again_two_kernels_later) {
  for (const std::int64_t size : sizes) {
    const auto chain = [](const Array& x) {
      Array y = x;
      for (int i = 0; i < 30; ++i) {
        y = tanh(y);
        y = y * 1.5F;
        y = y + 0.1F;
      }
      return y;
    };
    require_same(chain, size, turns(), 80);
    const auto moving = [](const Array& x) {
      Array y = x;
      for (int i = 0; i < 30; ++i) y = roll(roll(y, 1) * 0.9F, 7);
      return y;
    };
    require_same(moving, size, turns(), 80);
  }
}

BOOST_AUTO_TEST_CASE(the_arena_of_a_line_is_two_blocks) {
  const Array x = wave({4096});
  const GraphExec exec = capture([&] {
                           Array y = x;
                           for (int i = 0; i < 30; ++i) y = tanh(y) * 1.5F;
                           return y;
                         }).first.instantiate({.passes = turns()});
  BOOST_TEST(exec.arena_use().size_bytes == 2 * x.size_bytes());
}

BOOST_AUTO_TEST_CASE(fused_kernels_wait_too) {
  for (const std::int64_t size : sizes) {
    // Each turn reads the one before it at other positions, so that it is a kernel of its own.
    const auto chain = [](const Array& x) {
      Array y = x;
      for (int i = 0; i < 30; ++i) y = (tanh(y) + y.flip(0)) * 0.5F;
      return y;
    };
    require_same(chain, size, fused_turns(), size == 1 ? 0 : 20);
    require_same(chain, size, {}, 0);
  }
}

BOOST_AUTO_TEST_CASE(draws_wait_before_they_read_their_counters) {
  for (const std::int64_t size : sizes) {
    const auto chain = [](const Array& x) {
      Array y = x;
      for (int i = 0; i < 10; ++i) y = (y + y.flip(0)) * rand({y.size()});
      return y;
    };
    require_same(chain, size, turns(), 0);
    require_same(chain, size, fused_turns(), 0);
    require_same(chain, size, {}, 0);
  }
}

BOOST_AUTO_TEST_CASE(a_kernel_that_is_left_out_passes_the_order_on) {
  const Array x = wave({100000});
  Array kept = zeros({100000});
  const Param<float> shift(2, "shift");
  auto [graph, y] = capture([&] {
    Array z = x;
    for (int i = 0; i < 20; ++i) z = tanh(z) * 1.5F;
    kept.assign(z);
    kept -= shift;
    return roll(kept, 1);
  });
  const GraphExec exec = graph.instantiate({.passes = turns()});
  exec.replay();
  const Array whole = snapshot(y);
  Array z = x;
  for (int i = 0; i < 20; ++i) z = tanh(z) * 1.5F;
  BOOST_TEST(same_bits(whole, roll(z - 2.0F, 1)));
  exec.enable("sub", false);
  for (int i = 0; i < rounds; ++i) exec.replay();
  BOOST_TEST(same_bits(y, roll(z, 1)));
  exec.set(shift, 3);  // still left out
  for (int i = 0; i < rounds; ++i) exec.replay();
  BOOST_TEST(same_bits(y, roll(z, 1)));
  exec.enable("sub", true);
  for (int i = 0; i < rounds; ++i) exec.replay();
  BOOST_TEST(same_bits(y, roll(z - 3.0F, 1)));
}

BOOST_AUTO_TEST_CASE(an_update_keeps_the_edges) {
  const Array x = wave({1000});
  const auto program = [&](float by) {
    return capture([&, by] {
      Array z = x;
      for (int i = 0; i < 20; ++i) z = roll(z * by, 1);
      return z;
    });
  };
  auto [graph, y] = program(0.5F);
  auto [other, z] = program(0.75F);
  const GraphExec exec = graph.instantiate({.passes = turns()});
  exec.replay();
  BOOST_TEST(exec.update(other).in_place);
  for (int i = 0; i < rounds; ++i) exec.replay();
  Array expected = x;
  for (int i = 0; i < 20; ++i) expected = roll(expected * 0.75F, 1);
  BOOST_TEST(same_bits(z, expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
