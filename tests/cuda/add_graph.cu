// CUDA graphs of the program's own as commands.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_reference.hpp"
#include "support_runtime.hpp"

#include <refrain/cuda.hpp>

#include <functional>

namespace rf = refrain;
using rf::test::Mode;
using rf::test::require_error;

namespace {

constexpr int size = 4;

__global__ void add(float* x, float value) { x[threadIdx.x] += value; }
__global__ void multiply(float* x, float factor) { x[threadIdx.x] *= factor; }

/// Where an array is. Graphs bake that in.
float* address_of(const rf::Array& x) {
  float* address = nullptr;
  rf::current_stream().enqueue("address", rf::readwrite(x), [&](cudaStream_t, float* own) { address = own; });
  return address;
}

/// What the work would be if it was captured plainly.
runtime::Graph graph_of(const std::function<void(cudaStream_t stream)>& work) {
  const runtime::Stream stream;
  runtime::begin(stream);
  work(stream);
  return runtime::end(stream);
}

runtime::Graph adds(float* x, float value) {
  return graph_of([=](cudaStream_t stream) { add<<<1, size, 0, stream>>>(x, value); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_add_graph, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_graph_runs_between_the_commands_around_it_in_every_mode) {
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::Array x = rf::ones({size});
      const runtime::Graph graph = graph_of([to = address_of(x)](cudaStream_t stream) {
        add<<<1, size, 0, stream>>>(to, 3);
        multiply<<<1, size, 0, stream>>>(to, 2);
      });
      rf::test::run_as(mode, [&] {
        x += 1;
        rf::current_stream().add_graph(graph, "mine");  // 10
        x *= 5;
        rf::current_stream().add_graph(graph, "mine");  // 106
        return rf::Array();
      });
      BOOST_TEST(rf::test::holds(x, 106));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_copy_is_taken) {
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::Array x = rf::zeros({size});
      float* const to = address_of(x);
      rf::test::run_as(mode, [&] {
        const runtime::Graph graph = adds(to, 3);
        rf::current_stream().add_graph(graph, "mine");
        // Neither a change of the graph nor its end is seen.
        void* arguments[] = {const_cast<float**>(&to), nullptr};
        float more = 100;
        arguments[1] = &more;
        cudaKernelNodeParams params{};
        params.func = reinterpret_cast<void*>(add);
        params.gridDim = 1;
        params.blockDim = size;
        params.kernelParams = arguments;
        cudaGraphNode_t node = nullptr;
        CUDA_REQUIRE(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
        return rf::Array();
      });
      BOOST_TEST(rf::test::holds(x, 3));
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_repeat_it) {
  rf::Array x = rf::zeros({size});
  for (const bool live : rf::test::live_modes) {
    x.assign(0);
    const rf::Graph graph = [&] {
      const runtime::Graph mine = adds(address_of(x), 3);
      return rf::capture([&] { rf::current_stream().add_graph(mine, "mine"); }, {.live = live});
    }();
    for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
      const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
      exec.replay();
      exec.replay();
    }
    BOOST_TEST(rf::test::holds(x, 12));
  }
}

BOOST_AUTO_TEST_CASE(host_nodes_children_copies_and_fills_are_parts_of_a_graph) {
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::Array x = rf::zeros({size});
      rf::Array y = rf::full({size}, 7);
      float* const from = address_of(y);
      float* const to = address_of(x);
      int calls = 0;
      rf::test::run_as(mode, [&] {
        runtime::Graph graph = graph_of([&](cudaStream_t stream) {
          CUDA_REQUIRE(cudaMemcpyAsync(to, from, size * sizeof(float), cudaMemcpyDeviceToDevice, stream));
          CUDA_REQUIRE(cudaMemsetAsync(from, 0, size * sizeof(float), stream));
          CUDA_REQUIRE(cudaLaunchHostFunc(
              stream, [](void* count) { ++*static_cast<int*>(count); }, &calls));
        });
        cudaGraphNode_t last = nullptr;
        std::size_t count = 1;
        CUDA_REQUIRE(cudaGraphGetNodes(graph, nullptr, &count));
        std::vector<cudaGraphNode_t> nodes(count);
        CUDA_REQUIRE(cudaGraphGetNodes(graph, nodes.data(), &count));
        const runtime::Graph child = adds(to, 1);
        CUDA_REQUIRE(cudaGraphAddChildGraphNode(&last, graph, &nodes.back(), 1, child));
        rf::current_stream().add_graph(graph, "mine");
        return rf::Array();
      });
      BOOST_TEST(rf::test::holds(x, 8));
      BOOST_TEST(rf::test::holds(y, 0));
      BOOST_TEST(calls == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(branches_of_a_graph_stay_parallel_and_all_end_before_later_work) {
  rf::Array x = rf::zeros({2 * size});
  float* const to = address_of(x);
  const runtime::Event forked;
  const runtime::Event joined;
  const runtime::Stream side;
  const runtime::Graph mine = graph_of([&](cudaStream_t stream) {
    CUDA_REQUIRE(cudaEventRecord(forked, stream));
    CUDA_REQUIRE(cudaStreamWaitEvent(side, forked));
    add<<<1, size, 0, stream>>>(to, 1);
    add<<<1, size, 0, side>>>(to + size, 2);
    CUDA_REQUIRE(cudaEventRecord(joined, side));
    CUDA_REQUIRE(cudaStreamWaitEvent(stream, joined));
  });
  const auto body = [&] {
    x += 1;
    rf::current_stream().add_graph(mine, "mine");
    x *= 10;
  };
  const rf::Graph live = rf::capture(body, {.live = true});
  const rf::GraphExec exec = rf::capture(body).instantiate();
  const std::set<std::pair<int, int>> expected = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  BOOST_TEST((read_graph(exec.native_graph()).edges == expected));
  BOOST_TEST((read_graph(live.native()).edges == expected));
  exec.replay();
  BOOST_TEST(rf::test::holds(x.slice(0, size), 20));
  BOOST_TEST(rf::test::holds(x.slice(size, 2 * size), 30));
}

BOOST_AUTO_TEST_CASE(nodes_are_copied_whatever_the_order_they_were_made_in) {
  rf::Array x = rf::ones({size});
  float* to = address_of(x);
  float values[] = {3, 2};
  void* adds_3[] = {&to, &values[0]};
  void* times_2[] = {&to, &values[1]};
  runtime::Graph mine;
  CUDA_REQUIRE(cudaGraphCreate(mine.out(), 0));
  cudaKernelNodeParams params{};
  params.gridDim = 1;
  params.blockDim = size;
  params.func = reinterpret_cast<void*>(multiply);
  params.kernelParams = times_2;
  cudaGraphNode_t second = nullptr;
  CUDA_REQUIRE(cudaGraphAddKernelNode(&second, mine, nullptr, 0, &params));
  params.func = reinterpret_cast<void*>(add);
  params.kernelParams = adds_3;
  cudaGraphNode_t first = nullptr;
  CUDA_REQUIRE(cudaGraphAddKernelNode(&first, mine, nullptr, 0, &params));
#if CUDART_VERSION >= 13000
  CUDA_REQUIRE(cudaGraphAddDependencies(mine, &first, &second, nullptr, 1));
#else
  CUDA_REQUIRE(cudaGraphAddDependencies(mine, &first, &second, 1));
#endif
  for (const Mode mode : rf::test::all_modes) {
    x.assign(1);
    rf::test::run_as(mode, [&] {
      rf::current_stream().add_graph(mine, "mine");
      return rf::Array();
    });
    BOOST_TEST(rf::test::holds(x, 8), mode);
  }
}

BOOST_AUTO_TEST_CASE(it_is_one_undeclared_node_with_label_and_place) {
  const rf::Array x = rf::zeros({size});
  const runtime::Graph mine = adds(address_of(x), 1);
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          rf::bench::empty(rf::current_stream());
          rf::current_stream().add_graph(mine, "mine");
          rf::bench::empty(rf::current_stream());
        },
        {.live = live});
    BOOST_REQUIRE_EQUAL(graph.node_count(), 3);
    const rf::GraphNode node = graph.nodes()[1];
    BOOST_TEST(node.label == "mine");
    BOOST_TEST(node.kind == "foreign");
    BOOST_TEST((node.where.str().find("add_graph.cu:") != std::string::npos));
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
    const auto found = rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::foreign_undeclared);
    BOOST_REQUIRE_EQUAL(found.size(), 1U);
    BOOST_TEST((found[0].text.find("'mine' at ") != std::string::npos), found[0].text);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_graph_does_nothing_and_keeps_the_order_around_it) {
  rf::Array x = rf::ones({size});
  runtime::Graph empty;
  CUDA_REQUIRE(cudaGraphCreate(empty.out(), 0));
  for (const Mode mode : rf::test::all_modes) {
    x.assign(1);
    rf::test::run_as(mode, [&] {
      x += 1;
      rf::current_stream().add_graph(empty, "nothing");
      x *= 5;
      return rf::Array();
    });
    BOOST_TEST(rf::test::holds(x, 10), mode);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_with_a_graph_runs_in_other_graphs) {
  rf::Array x = rf::zeros({size});
  const runtime::Graph mine = adds(address_of(x), 1);
  const rf::GraphExec inner = rf::capture([&] { rf::current_stream().add_graph(mine, "mine"); }).instantiate();
  for (const bool live : rf::test::live_modes) {
    x.assign(0);
    const rf::GraphExec outer = rf::capture(
                                    [&] {
                                      inner.replay();
                                      x *= 10;
                                      inner.replay();
                                    },
                                    {.live = live})
                                    .instantiate();
    outer.replay();
    BOOST_TEST(rf::test::holds(x, 11));
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_added_is_refused_with_its_label_and_leaves_a_capture_intact) {
  rf::Array x = rf::zeros({size});
  const runtime::Graph mine = adds(address_of(x), 1);
  const rf::Stream host(rf::Device{rf::DeviceKind::host, 0});
  const auto refused = [&] {
    const rf::Stream stream = rf::current_stream();
    require_error(rf::Errc::invalid_value, [&] { stream.add_graph(nullptr, "mine"); },
                  {"[mine] a null graph", "add_graph.cu:"});
    require_error(rf::Errc::invalid_value, [&] { stream.add_graph(mine, ""); }, {"[add_graph]", "add_graph.cu:"});
    require_error(rf::Errc::not_supported, [&] { host.add_graph(mine, "mine"); }, {"[mine]", "host", "add_graph.cu:"});
  };
  refused();
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          x += 1;
          refused();
          rf::current_stream().add_graph(mine, "mine");
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
  }
  BOOST_TEST(rf::test::holds(x, 4));
}

BOOST_AUTO_TEST_SUITE_END()
