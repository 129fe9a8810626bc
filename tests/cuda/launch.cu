// Kernels of the program's own, eager and in graphs.

#include "native_graph.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/cuda.hpp>

#include <cooperative_groups.h>

#include <future>
#include <vector>

namespace rf = refrain;
using rf::test::require_error;
using Numbers = std::vector<float>;

namespace {

__global__ void axpy(float a, const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += a * x[i];
}

__global__ void fill(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = value;
}

__global__ void count_blocks(long long* count) {
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(count), 1ULL);
}

/// Each block adds what its neighbour has written before the grid came together.
__global__ void add_neighbour(float* x, float* sums) {
  x[blockIdx.x] = static_cast<float>(blockIdx.x + 1);
  cooperative_groups::this_grid().sync();
  sums[blockIdx.x] = x[blockIdx.x] + x[(blockIdx.x + 1) % gridDim.x];
}

__global__ void cluster_extent(float* out) {
  const dim3 extent = cooperative_groups::this_cluster().dim_blocks();
  if (cooperative_groups::this_grid().thread_rank() == 0) *out = static_cast<float>(extent.x);
}

__global__ void through_shared(const float* x, float* y, int n) {
  extern __shared__ float kept[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) kept[i] = x[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) y[i] = kept[n - 1 - i];
}

struct Pair {
  float first;
  float second;
};

__global__ void write_pair(Pair pair, void* out) {
  static_cast<float*>(out)[0] = pair.first;
  static_cast<float*>(out)[1] = pair.second;
}

constexpr int size = 1000;
constexpr rf::LaunchConfig over_all{.grid = 4, .block = 256, .label = "axpy", .where = {}};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_launch, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_kernel_runs_eagerly_and_in_graphs_alike) {
  const auto program = [] {
    const rf::Stream side;
    rf::Array x = rf::full({size}, 2);
    rf::Array y = rf::full({size}, 1);
    rf::current_stream().launch(over_all, axpy, 3.0F, x, y, size);  // 7
    side.wait_stream(rf::current_stream());
    side.launch(over_all, axpy, 1.0F, y, x, size);  // x: 9
    rf::current_stream().wait_stream(side);
    return x + y;
  };
  BOOST_TEST(rf::test::holds(program(), 16));
  for (const bool live : rf::test::live_modes) {
    auto [graph, sum] = rf::capture(program, {.live = live});
    for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
      const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
      exec.replay();
      exec.replay();
      BOOST_TEST(rf::test::holds(sum, 16));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_launch_is_a_node_with_label_place_and_edges) {
  rf::Array x = rf::ones({size});
  rf::Array y = rf::ones({size});
  const auto body = [&] {
    rf::current_stream().launch({.grid = 4, .block = 256, .label = "mine"}, axpy, 1.0F, x, y, size);
    rf::current_stream().launch({.grid = 4, .block = 256}, axpy, 1.0F, y, x, size);
  };
  const rf::Graph graph = rf::capture(body);
  BOOST_REQUIRE_EQUAL(graph.node_count(), 2);
  BOOST_TEST(graph.nodes()[0].label == "mine");
  BOOST_TEST(graph.nodes()[0].kind == "kernel");
  BOOST_TEST((graph.nodes()[0].where.str().find("launch.cu:") != std::string::npos));
  BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}}));
  const rf::Graph live = rf::capture(body, {.live = true});
  BOOST_TEST(read_graph(graph.instantiate().native_graph()) == read_graph(live.native()));
}

BOOST_AUTO_TEST_CASE(array_arguments_are_ordered_as_those_of_any_op) {
  rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  rf::Array x = rf::test::slowly(2, 20);
  rf::Array y = rf::ones({x.size()});
  const int n = static_cast<int>(x.size());
  rf::synchronize();
  rf::test::keep_busy(rf::current_stream(), 10);
  x += 1;
  side.launch(over_all, axpy, 1.0F, x, y, n);  // nothing orders it after the op above
  BOOST_TEST(rf::test::of_kind(rf::diagnostics(), rf::DiagnosticKind::edge_added).size() == 1U);
  BOOST_TEST(y.to_vector<float>()[0] == 4);
  rf::set_hazards(rf::Hazards::error);
  y += 1;
  require_error(rf::Errc::illegal_state, [&] { side.launch(over_all, axpy, 1.0F, y, x, n); }, {"axpy", "add"});
}

BOOST_AUTO_TEST_CASE(an_array_that_is_only_written_needs_no_values) {
  rf::Array made = rf::empty({size});
  rf::current_stream().launch({.grid = 4, .block = 256}, fill, rf::write(made), 3.0F, size);
  BOOST_TEST(rf::test::holds(made, 3));
  auto [graph, captured] = rf::capture([] {
    rf::Array x = rf::empty({size});
    rf::current_stream().launch({.grid = 4, .block = 256}, fill, rf::write(x), 4.0F, size);
    return x;
  });
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(captured, 4));
}

BOOST_AUTO_TEST_CASE(slices_values_structs_and_void_pointers_are_arguments) {
  rf::Array x = rf::zeros({4});
  rf::current_stream().launch({.grid = 1, .block = 32}, fill, x.slice(1, 3), 5.0F, 2);
  BOOST_TEST(x.to_vector<float>() == (Numbers{0, 5, 5, 0}), boost::test_tools::per_element());
  rf::current_stream().launch({}, write_pair, Pair{1, 2}, x.slice(2, 4));
  BOOST_TEST(x.to_vector<float>() == (Numbers{0, 5, 1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_are_taken_when_the_kernel_is_recorded) {
  rf::Array x = rf::zeros({size});
  float value = 1;
  const rf::GraphExec exec =
      rf::capture([&] { rf::current_stream().launch({.grid = 4, .block = 256}, fill, x, value, size); }).instantiate();
  value = 2;
  exec.replay();
  BOOST_TEST(rf::test::holds(x, 1));
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_the_arrays_of_its_kernels) {
  rf::Array y = rf::zeros({size});
  rf::GraphExec exec;
  {
    const rf::Array x = rf::full({size}, 2);
    exec = rf::capture([&] { rf::current_stream().launch(over_all, axpy, 1.0F, x, y, size); }).instantiate();
  }
  for (int i = 0; i < 20; ++i) rf::full({size}, 100);  // would take the place of memory that is let go
  exec.replay();
  BOOST_TEST(rf::test::holds(y, 2));
}

BOOST_AUTO_TEST_CASE(cooperative_kernels_clusters_and_large_shared_memory_work_in_both_modes) {
  const auto program = [] {
    rf::Array x = rf::zeros({8});
    rf::Array sums = rf::zeros({8});
    rf::Array extent = rf::zeros({1});
    rf::Array long_x = rf::from_host(Numbers(24'000, 2.0F), {24'000});
    rf::Array reversed = rf::zeros({24'000});
    const rf::Stream stream = rf::current_stream();
    stream.launch({.grid = 8, .block = 1, .cooperative = true}, add_neighbour, x, sums);
    stream.launch({.grid = 4, .block = 32, .cluster = 2}, cluster_extent, extent);
    stream.launch({.grid = 1, .block = 256, .shared_bytes = 96'000}, through_shared, long_x, reversed, 24'000);
    return sums + extent + reversed.slice(0, 8);
  };
  const Numbers expected{7, 9, 11, 13, 15, 17, 19, 13};
  BOOST_TEST(program().to_vector<float>() == expected, boost::test_tools::per_element());
  for (const bool live : rf::test::live_modes) {
    auto [graph, result] = rf::capture(program, {.live = live});
    graph.instantiate().replay();
    BOOST_TEST(result.to_vector<float>() == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(threads_launch_one_kernel_with_more_and_with_less_shared_memory) {
  const auto run = [](int n) {
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    const rf::Array x = rf::full({n}, 2);
    rf::Array y = rf::zeros({n});
    const auto launch = [&] {
      stream.launch({.grid = 1, .block = 256, .shared_bytes = static_cast<std::size_t>(n) * sizeof(float)},
                    through_shared, x, y, n);
    };
    for (int i = 0; i < 50; ++i) {
      launch();
      rf::capture(launch).instantiate().replay();
    }
    return rf::test::holds(y, 2);
  };
  std::vector<std::future<bool>> threads;
  for (const int n : {13'000, 16'000, 20'000, 24'000}) threads.push_back(std::async(std::launch::async, run, n));
  for (auto& thread : threads) BOOST_TEST(thread.get());
}

BOOST_AUTO_TEST_CASE(a_kernel_in_a_graph_runs_once_a_replay_and_in_nested_graphs) {
  rf::Array count = rf::zeros({1}, {.dtype = rf::DType::int64});
  const rf::GraphExec inner =
      rf::capture([&] { rf::current_stream().launch({.grid = 3, .block = 32}, count_blocks, count); }).instantiate();
  const rf::GraphExec outer = rf::capture([&] {
                                inner.replay();
                                inner.replay();
                              }).instantiate();
  for (int i = 0; i < 5; ++i) outer.replay();
  BOOST_TEST(count.item<std::int64_t>() == 30);
}

BOOST_AUTO_TEST_CASE(what_no_kernel_can_have_is_refused_with_its_name) {
  rf::Array x = rf::zeros({4});
  const rf::Stream stream = rf::current_stream();
  const auto launch = [&](rf::LaunchConfig config) { return [&, config] { stream.launch(config, fill, x, 1.0F, 4); }; };
  require_error(rf::Errc::invalid_value, launch({.grid = 0, .label = "f"}), {"f", "a grid of {0, 1, 1}", "launch.cu:"});
  require_error(rf::Errc::invalid_value, launch({.block = {1024, 2}}), {"1024 threads"});
  require_error(rf::Errc::invalid_value, launch({.block = {1, 1, 65}}), {"a block of"});
  require_error(rf::Errc::invalid_value, launch({.grid = 3, .cluster = 2}), {"a cluster of", "does not divide"});
  rf::Array doubles = rf::zeros({4}, {.dtype = rf::DType::float64});
  require_error(rf::Errc::invalid_value, [&] { stream.launch({}, fill, doubles, 1.0F, 4); },
                {"argument 0", "float64", "float32"});
  const rf::Array on_host = rf::zeros({4}, {.device = rf::Device{rf::DeviceKind::host, 0}});
  require_error(rf::Errc::wrong_device, [&] { stream.launch({}, fill, on_host, 1.0F, 4); }, {"host:0", "to_device"});
  const rf::Stream host(rf::Device{rf::DeviceKind::host, 0});
  require_error(rf::Errc::not_supported, [&] { host.launch({}, fill, on_host, 1.0F, 4); }, {"host"});
  require_error(rf::Errc::invalid_value, [&] { stream.launch({}, fill, rf::Array(), 1.0F, 4); });
  BOOST_TEST(rf::test::holds(x, 0));
}

BOOST_AUTO_TEST_CASE(a_refused_launch_leaves_a_capture_intact) {
  rf::Array x = rf::zeros({size});
  const rf::Graph graph = rf::capture([&] {
    rf::current_stream().launch({.grid = 4, .block = 256}, fill, x, 1.0F, size);
    require_error(rf::Errc::invalid_value, [&] { rf::current_stream().launch({.grid = 0}, fill, x, 2.0F, size); });
    x += 1;
  });
  BOOST_TEST(graph.node_count() == 2);
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_SUITE_END()
