// Values, geometry and commands of the program's own kernels, given anew between replays.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_foreign.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/cuda.hpp>

#include <cooperative_groups.h>

#include <limits>

namespace rf = refrain;
using rf::test::holds;
using rf::test::require_error;
using Numbers = std::vector<float>;

namespace {

constexpr int size = 1000;
constexpr int blocks = 4;
constexpr int threads = 256;

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

__global__ void scale_and_add(float* x, float factor, float term, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = x[i] * factor + term;
}

struct Step {
  float dt;
  float speed;
  int rounds;
};

__global__ void advance(float* x, Step step, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; i < n && round < step.rounds; ++round) x[i] += step.dt * step.speed;
}

__global__ void is_greatest(unsigned long long value, float* out) {
  *out = value == 0xFFFF'FFFF'FFFF'FFFFULL ? 1.0F : 0.0F;
}

/// How the kernel was launched: grid, block, dynamic shared memory, blocks in a cluster.
__global__ void tell_geometry(float* out) {
  unsigned shared_bytes = 0;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (cooperative_groups::this_grid().thread_rank() != 0) return;
  out[0] = static_cast<float>(gridDim.x);
  out[1] = static_cast<float>(blockDim.x * blockDim.y);
  out[2] = static_cast<float>(shared_bytes);
  out[3] = static_cast<float>(cooperative_groups::this_cluster().num_blocks());
}

__global__ void through_shared(const float* x, float* y, int n) {
  extern __shared__ float kept[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) kept[i] = x[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) y[i] = kept[n - 1 - i];
}

__global__ void count_blocks_together(long long* count) {
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(count), 1ULL);
}

constexpr rf::LaunchConfig over_all{.grid = blocks, .block = threads, .label = "over all", .where = {}};

/// Whether the kernel has told this geometry.
void check_geometry(const rf::Array& told, const Numbers& expected) {
  BOOST_TEST(told.to_vector<float>() == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_exec_parameters, *boost::unit_test::label("sanitize"))

// Values

BOOST_AUTO_TEST_CASE(a_value_is_set_in_every_kernel_and_op_that_uses_it_and_in_no_other) {
  for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
    const rf::Param<float> a(2, "a");
    const rf::Param<float> b(3, "b");
    const rf::Param<int> n(size, "n");
    rf::Array x = rf::zeros({size});
    rf::Array y = rf::zeros({size});
    const rf::GraphExec exec = rf::capture([&] {
                                 const rf::Stream stream = rf::current_stream();
                                 stream.launch(over_all, scale_and_add, x, a, b, n);
                                 stream.launch(over_all, add, y, a, size);
                                 x += b;
                               }).instantiate({.optimize = optimize});
    exec.replay();  // x: 6
    BOOST_TEST(holds(x, 6));
    BOOST_TEST(holds(y, 2));
    exec.set(a, 10);
    exec.replay();  // 66
    BOOST_TEST(holds(x, 66));
    BOOST_TEST(holds(y, 12));
    exec.set(b, 1);
    exec.set(n, 500);
    exec.replay();  // 662 where the kernel reaches, 67 elsewhere
    BOOST_TEST(holds(x.slice(0, 500), 662));
    BOOST_TEST(holds(x.slice(500, size), 67));
    BOOST_TEST(holds(y, 22));
  }
}

BOOST_AUTO_TEST_CASE(a_struct_is_a_parameter) {
  const rf::Param<Step> step({0.5F, 4, 2}, "step");
  rf::Array x = rf::zeros({size});
  rf::current_stream().launch(over_all, advance, x, step, size);
  BOOST_TEST(holds(x, 4));
  const rf::GraphExec exec =
      rf::capture([&] { rf::current_stream().launch(over_all, advance, x, step, size); }).instantiate();
  exec.replay();
  BOOST_TEST(holds(x, 8));
  exec.set(step, {0.25F, 4, 10});
  exec.replay();
  BOOST_TEST(holds(x, 18));
}

BOOST_AUTO_TEST_CASE(an_address_is_a_parameter_of_an_undeclared_launch) {
  const foreign::Memory<float> one(2);
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  const rf::Param<float*> place(one, "place");
  const rf::GraphExec exec =
      rf::capture([&] { stream.launch({.grid = 1, .block = 32}, add, place, 1.0F, 1); }).instantiate();
  exec.replay();
  exec.set(place, one + 1);
  exec.replay();
  exec.replay();
  BOOST_TEST(foreign::read_after(stream.native(), one) == 1);
  BOOST_TEST(foreign::read_after(stream.native(), one + 1) == 2);
}

BOOST_AUTO_TEST_CASE(a_kernels_parameter_may_be_larger_than_any_ops) {
  constexpr unsigned long long greatest = std::numeric_limits<unsigned long long>::max();
  const rf::Param<unsigned long long> value(0);
  rf::Array out = rf::zeros({1});
  const rf::GraphExec exec =
      rf::capture([&] { rf::current_stream().launch({}, is_greatest, value, out); }).instantiate();
  exec.replay();
  BOOST_TEST(holds(out, 0));
  exec.set(value, greatest);
  exec.replay();
  BOOST_TEST(holds(out, 1));
}

BOOST_AUTO_TEST_CASE(one_executable_is_set_and_the_others_of_the_graph_are_not) {
  const rf::Param<float> step(1);
  rf::Array x = rf::zeros({size});
  const rf::Graph graph = rf::capture([&] { rf::current_stream().launch(over_all, add, x, step, size); });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec other = graph.instantiate({.optimize = rf::Optimize::none});
  const rf::GraphExec outer = rf::capture([&] {
                                one.replay();
                                one.replay();
                              }).instantiate();
  one.set(step, 50);
  one.replay();
  other.replay();
  graph.instantiate().replay();
  BOOST_TEST(holds(x, 52));
  outer.replay();  // as the graph has it
  BOOST_TEST(holds(x, 54));
  outer.set(step, 100);
  outer.replay();
  one.replay();
  BOOST_TEST(holds(x, 304));
}

BOOST_AUTO_TEST_CASE(replays_under_way_keep_value_and_geometry) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  const rf::Param<float> step(0);
  rf::Array x = rf::zeros({size});
  rf::Array count = rf::zeros({1}, {.dtype = rf::DType::int64});
  const rf::GraphExec exec =
      rf::capture([&] {
        stream.launch(over_all, add, x, step, size);
        stream.launch({.grid = 1, .block = 32, .cooperative = true, .label = "count"}, count_blocks_together, count);
      }).instantiate();
  exec.replay();  // loads the kernels
  rf::test::keep_busy(stream, 20);
  for (int i = 1; i <= 50; ++i) {
    exec.set(step, static_cast<float>(i));
    exec.set("count", {.grid = static_cast<unsigned>(i), .block = 32, .cooperative = true});
    exec.replay();
  }
  BOOST_TEST(holds(x, 50 * 51 / 2));
  BOOST_TEST(count.item<std::int64_t>() == 1 + 50 * 51 / 2);
}

// Geometry

BOOST_AUTO_TEST_CASE(a_labels_launches_take_another_geometry_and_the_others_keep_theirs) {
  rf::Array first = rf::zeros({4});
  rf::Array second = rf::zeros({4});
  rf::Array other = rf::zeros({4});
  const rf::GraphExec exec = rf::capture([&] {
                               const rf::Stream stream = rf::current_stream();
                               stream.launch({.grid = 2, .block = 32, .label = "mine"}, tell_geometry, first);
                               stream.launch({.grid = 3, .block = 32, .label = "mine"}, tell_geometry, second);
                               stream.launch({.grid = 4, .block = 32, .label = "other"}, tell_geometry, other);
                             }).instantiate();
  exec.replay();
  check_geometry(first, {2, 32, 0, 1});
  check_geometry(second, {3, 32, 0, 1});
  exec.set("mine", {.grid = 7, .block = {16, 4}, .shared_bytes = 1024});
  exec.replay();
  check_geometry(first, {7, 64, 1024, 1});
  check_geometry(second, {7, 64, 1024, 1});
  check_geometry(other, {4, 32, 0, 1});
  exec.set("mine", {.grid = 1, .block = 1, .shared_bytes = 100'000});
  exec.replay();
  check_geometry(first, {1, 1, 100'000, 1});
}

BOOST_AUTO_TEST_CASE(shared_memory_may_grow_beyond_what_needs_no_consent) {
  constexpr int most = 24'000;
  Numbers values(most);
  for (int i = 0; i < most; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const rf::Array x = rf::from_host(values, {most});
  rf::Array y = rf::zeros({most});
  const rf::Param<int> n(1000);
  const rf::GraphExec exec =
      rf::capture([&] {
        rf::current_stream().launch({.grid = 1, .block = threads, .shared_bytes = 4000, .label = "reverse"},
                                    through_shared, x, y, n);
      }).instantiate();
  exec.replay();
  exec.set("reverse", {.grid = 1, .block = threads, .shared_bytes = most * sizeof(float)});
  exec.set(n, most);
  exec.replay();
  const Numbers reversed(values.rbegin(), values.rend());
  BOOST_TEST(y.to_vector<float>() == reversed, boost::test_tools::per_element());
  exec.set(n, 1000);  // the geometry stays
  y.assign(0);
  exec.replay();
  BOOST_TEST(y.to_vector<float>()[0] == 999);
}

BOOST_AUTO_TEST_CASE(clusters_and_cooperation_stay_in_another_grid) {
  rf::Array told = rf::zeros({4});
  rf::Array count = rf::zeros({1}, {.dtype = rf::DType::int64});
  const rf::GraphExec exec =
      rf::capture([&] {
        const rf::Stream stream = rf::current_stream();
        stream.launch({.grid = 4, .block = 32, .cluster = 2, .label = "pairs"}, tell_geometry, told);
        stream.launch({.grid = 2, .block = 32, .cooperative = true, .label = "together"}, count_blocks_together, count);
      }).instantiate();
  exec.replay();
  check_geometry(told, {4, 32, 0, 2});
  exec.set("pairs", {.grid = 8, .block = 64, .cluster = 2});
  exec.set("together", {.grid = 9, .block = 64, .cooperative = true});
  exec.replay();
  check_geometry(told, {8, 64, 0, 2});
  BOOST_TEST(count.item<std::int64_t>() == 11);
}

BOOST_AUTO_TEST_CASE(what_a_node_cannot_become_is_refused_and_nothing_changes) {
  rf::Array told = rf::zeros({4});
  const rf::GraphExec exec =
      rf::capture([&] {
        told += 1;
        rf::current_stream().launch({.grid = 2, .block = 32, .label = "mine"}, tell_geometry, told);
      }).instantiate();
  const auto set = [&](const rf::LaunchConfig& config) { return [&exec, config] { exec.set("mine", config); }; };
  require_error(rf::Errc::not_supported, set({.grid = 2, .block = 32, .cluster = 2}),
                {"[set] 'mine'", "cluster", "exec_parameters.cu:"});
  require_error(rf::Errc::not_supported, set({.grid = 2, .block = 32, .cooperative = true}), {"'mine'"});
  require_error(rf::Errc::not_supported, set({.grid = 2, .block = 32, .priority = -1}), {"'mine'"});
  require_error(rf::Errc::invalid_value, set({.grid = 0, .block = 32}), {"a grid of {0, 1, 1}", "exec_parameters.cu:"});
  require_error(rf::Errc::invalid_value, set({.grid = 1, .block = {1024, 2}}), {"1024 threads"});
  require_error(rf::Errc::invalid_value, set({.grid = 3, .cluster = 2}), {"does not divide"});
  require_error(rf::Errc::invalid_value, [&] { exec.set("add", {.grid = 1}); }, {"'add': labels no launch", "'mine'"});
  exec.replay();
  check_geometry(told, {2, 32, 0, 1});
}

// Commands

BOOST_AUTO_TEST_CASE(kernels_copies_and_literals_are_left_out_and_taken_in_again) {
  const runtime::Owned<float*, cudaFreeHost> landing = [] {
    runtime::Owned<float*, cudaFreeHost> memory;
    CUDA_REQUIRE(cudaMallocHost(memory.out(), sizeof(float)));
    return memory;
  }();
  *landing = 0;
  rf::Array x = rf::zeros({1});
  rf::Array literal;
  const rf::GraphExec exec = rf::capture([&] {
                               rf::current_stream().launch({.label = "mine"}, add, x, 1.0F, 1);
                               literal = rf::from_host(Numbers{100}, {1});
                               x += literal;
                               rf::copy_to(x, rf::borrowed(std::span(static_cast<float*>(landing), 1)));
                               literal *= 0;
                             }).instantiate({.optimize = rf::Optimize::none});
  const auto landed = [&] {
    exec.replay();
    rf::synchronize();
    return *landing;
  };
  BOOST_TEST(landed() == 101);
  exec.enable("mine", false);
  BOOST_TEST(landed() == 201);
  exec.enable("copy_to", false);
  BOOST_TEST(landed() == 201);
  BOOST_TEST(holds(x, 301));
  exec.enable("copy_to", true);
  exec.enable("from_host", false);  // the zero that the replay before has left
  BOOST_TEST(landed() == 301);
  exec.enable("mine", true);
  exec.enable("mine", true);
  BOOST_TEST(landed() == 302);
}

BOOST_AUTO_TEST_CASE(what_is_set_in_a_kernel_that_is_left_out_holds_once_it_is_taken_in_again) {
  const rf::Param<float> step(1);
  rf::Array x = rf::zeros({size});
  const rf::GraphExec exec =
      rf::capture([&] { rf::current_stream().launch(over_all, add, x, step, size); }).instantiate();
  exec.enable("over all", false);
  exec.set(step, 10);
  exec.set("over all", {.grid = 2, .block = threads});
  exec.replay();
  BOOST_TEST(holds(x, 0));
  exec.enable("over all", true);
  exec.replay();
  BOOST_TEST(holds(x.slice(0, 512), 10));
  BOOST_TEST(holds(x.slice(512, size), 0));
}

BOOST_AUTO_TEST_CASE(an_enqueued_function_of_plain_nodes_is_left_out_whole) {
  const runtime::Fork fork;
  rf::Array x = rf::zeros({size});
  rf::Array y;
  const rf::GraphExec exec =
      rf::capture([&] {
        x += 1;
        rf::current_stream().enqueue("mine", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
          CUDA_REQUIRE(cudaMemsetAsync(to, 0, sizeof(float), stream));
          fork.begin(stream);
          add<<<blocks, threads, 0, stream>>>(to, 10, 500);
          add<<<blocks, threads, 0, fork.side>>>(to + 500, 10, 500);
          fork.join(stream);
          add<<<blocks, threads, 0, stream>>>(to, 100, size);
        });
        y = x * 2;
      }).instantiate();
  exec.replay();
  BOOST_TEST(holds(y.slice(0, 1), 220));
  BOOST_TEST(holds(y.slice(1, size), 222));
  exec.enable("mine", false);
  exec.replay();
  BOOST_TEST(holds(y.slice(1, size), 224));
  exec.enable("mine", true);
  exec.replay();
  BOOST_TEST(holds(y.slice(1, size), 446));
}

BOOST_AUTO_TEST_CASE(a_graph_with_empty_nodes_is_left_out_too) {
  rf::Array x = rf::zeros({1});
  float* address = nullptr;
  rf::current_stream().enqueue("address", rf::readwrite(x), [&](cudaStream_t, float* own) { address = own; });
  runtime::Stream stream;
  runtime::begin(stream);
  add<<<1, 32, 0, stream>>>(address, 1, 1);
  const runtime::Graph graph = runtime::end(stream);
  cudaGraphNode_t first = nullptr;
  std::size_t count = 1;
  CUDA_REQUIRE(cudaGraphGetNodes(graph, &first, &count));
  cudaGraphNode_t join = nullptr;
  CUDA_REQUIRE(cudaGraphAddEmptyNode(&join, graph, &first, 1));
  const rf::GraphExec exec = rf::capture([&] { rf::current_stream().add_graph(graph, "mine"); }).instantiate();
  exec.replay();
  exec.enable("mine", false);
  exec.replay();
  exec.enable("mine", true);
  exec.replay();
  rf::synchronize();
  BOOST_TEST(holds(x, 2));
}

BOOST_AUTO_TEST_CASE(an_enqueued_function_that_is_a_child_graph_cannot_be_left_out) {
  rf::Array x = rf::zeros({size});
  const rf::GraphExec exec =
      rf::capture([&] {
        rf::current_stream().enqueue("mine", rf::readwrite(x), [](cudaStream_t stream, float* to) {
          add<<<blocks, threads, 0, stream>>>(to, 1, size);
          CUDA_REQUIRE(cudaLaunchHostFunc(
              stream, [](void*) {}, nullptr));
        });
        x += 1;
      }).instantiate();
  require_error(rf::Errc::not_supported, [&] { exec.enable("mine", false); },
                {"[enable] 'mine'", "foreign", "left out"});
  exec.replay();
  BOOST_TEST(holds(x, 2));
}

BOOST_AUTO_TEST_SUITE_END()
