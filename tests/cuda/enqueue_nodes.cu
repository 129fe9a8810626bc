// What functions become in graphs: nodes, edges, parts of other graphs.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_runtime.hpp"

#include <refrain/cuda.hpp>

#include <functional>

namespace rf = refrain;
using rf::test::require_error;

namespace {

constexpr int size = 1000;
constexpr int blocks = 4;
constexpr int threads = 256;
constexpr std::size_t bytes = size * sizeof(float);

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

__global__ void multiply(const float* from, float factor, float* to, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = from[i] * factor;
}

/// Adds to an array on a stream that a function is given.
struct Adds {
  float value;
  void operator()(cudaStream_t stream, float* x) const { add<<<blocks, threads, 0, stream>>>(x, value, size); }
};

struct Way {
  bool live;
  rf::Optimize optimize;
};
constexpr Way ways[] = {{false, rf::Optimize::none}, {false, rf::Optimize::all}, {true, rf::Optimize::all}};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue_nodes, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_function_is_one_node_with_label_place_and_edges) {
  rf::Array x = rf::ones({size});
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          x += 1;
          rf::current_stream().enqueue("mine", rf::readwrite(x), [](cudaStream_t stream, float* to) {
            Adds{1}(stream, to);
            Adds{2}(stream, to);
          });
          x += 1;
        },
        {.live = live});
    BOOST_REQUIRE_EQUAL(graph.node_count(), 3);
    const rf::GraphNode node = graph.nodes()[1];
    BOOST_TEST(node.label == "mine");
    BOOST_TEST(node.kind == "foreign");
    BOOST_TEST((node.where.str().find("enqueue_nodes.cu:") != std::string::npos));
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
    BOOST_TEST(runtime::node_count(graph.instantiate().native_graph()) == 4);
  }
}

BOOST_AUTO_TEST_CASE(the_nodes_are_those_that_live_capture_gives) {
  const runtime::Fork fork;
  rf::Array x = rf::ones({size});
  rf::Array y = rf::ones({size});
  const rf::Stream side;
  const auto body = [&] {
    x += 1;
    rf::current_stream().enqueue("chain", rf::read(x), rf::write(y),
                                 [](cudaStream_t stream, const float* from, float* to) {
                                   CUDA_REQUIRE(cudaMemsetAsync(to, 0, bytes, stream));
                                   CUDA_REQUIRE(cudaMemcpyAsync(to, from, bytes / 2, cudaMemcpyDeviceToDevice, stream));
                                   Adds{1}(stream, to);
                                 });
    side.wait_stream(rf::current_stream());
    side.enqueue("diamond", rf::readwrite(y), [&](cudaStream_t stream, float* to) {
      Adds{1}(stream, to);
      fork.begin(stream);
      add<<<1, threads, 0, fork.side>>>(to, 1, threads);
      add<<<1, threads, 0, stream>>>(to + threads, 1, threads);
      fork.join(stream);
      Adds{1}(stream, to);
    });
    rf::current_stream().wait_stream(side);
    y += 1;
  };
  const rf::Graph held_back = rf::capture(body);
  const rf::Graph live = rf::capture(body, {.live = true});
  const NativeGraph native = read_graph(live.native());
  BOOST_TEST(native.types.size() == 9U);
  BOOST_TEST(read_graph(held_back.instantiate({.optimize = rf::Optimize::none}).native_graph()) == native);
}

BOOST_AUTO_TEST_CASE(kernels_have_the_priority_of_the_stream) {
  const int highest = rf::Stream::priority_range(rf::current_device()).second;
  const rf::Stream urgent(highest);
  rf::Array x = rf::zeros({size});
  urgent.wait_stream(rf::current_stream());
  for (const bool live : rf::test::live_modes) {
    const rf::GraphExec exec =
        rf::capture([&] { urgent.enqueue("mine", rf::readwrite(x), Adds{1}); }, {.live = live}).instantiate();
    cudaGraphNode_t node = nullptr;
    std::size_t count = 1;
    CUDA_REQUIRE(cudaGraphGetNodes(exec.native_graph(), &node, &count));
    cudaKernelNodeAttrValue value{};
    CUDA_REQUIRE(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributePriority, &value));
    BOOST_TEST(value.priority == highest);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_with_a_function_runs_in_other_graphs) {
  for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
    rf::Array x = rf::zeros({size});
    const rf::GraphExec inner = rf::capture([&] {
                                  rf::Array made = rf::ones({size});
                                  rf::current_stream().enqueue("mine", rf::readwrite(made), rf::readwrite(x),
                                                               [](cudaStream_t stream, float* a, float* b) {
                                                                 Adds{1}(stream, a);
                                                                 Adds{2}(stream, b);
                                                               });
                                  x += made;
                                }).instantiate({.optimize = optimize});
    inner.replay();
    BOOST_TEST(rf::test::holds(x, 4));
    for (const bool live : rf::test::live_modes) {
      x.assign(0);
      const rf::GraphExec outer = rf::capture(
                                      [&] {
                                        inner.replay();
                                        x *= 2;
                                        inner.replay();
                                      },
                                      {.live = live})
                                      .instantiate({.optimize = optimize});
      outer.replay();
      BOOST_TEST(rf::test::holds(x, 12));
      inner.replay();
      BOOST_TEST(rf::test::holds(x, 16));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_graph_that_was_captured_live_runs_in_other_graphs_with_all_that_other_code_put_there) {
  rf::Array x = rf::zeros({size});
  float* address = nullptr;
  rf::current_stream().enqueue("address", rf::readwrite(x), [&](cudaStream_t, float* own) { address = own; });
  const std::function<void()> bodies[] = {
      [&] { rf::current_stream().enqueue("mine", rf::readwrite(x), Adds{3}); },
      [&] {
        x += 1;
        Adds{2}(rf::current_stream().native(), address);
      },
  };
  const rf::Stream own;
  const rf::StreamGuard on(own);
  own.wait_stream(rf::default_stream());
  for (const auto& body : bodies) {
    const rf::GraphExec inner = rf::capture(body, {.live = true}).instantiate();
    for (const bool live : rf::test::live_modes) {
      x.assign(0);
      const rf::Graph outer = rf::capture(
          [&] {
            x += 1;
            inner.replay();
            x *= 10;
            inner.replay();
          },
          {.live = live});
      BOOST_TEST((rf::test::labels(outer) == std::vector<std::string>{"add", "graph", "mul", "graph"}));
      BOOST_TEST((rf::test::edges(outer) == rf::test::Edges{{0, 1}, {1, 2}, {2, 3}}));
      outer.instantiate().replay();
      BOOST_TEST(rf::test::holds(x, 43));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_function_may_put_nothing_there_and_the_order_around_it_stays) {
  rf::Array x = rf::ones({size});
  const auto body = [&] {
    x += 1;
    rf::current_stream().enqueue("nothing", rf::readwrite(x), [](cudaStream_t, float*) {});
    x *= 5;
  };
  const rf::Graph held_back = rf::capture(body);
  const rf::Graph live = rf::capture(body, {.live = true});
  BOOST_TEST(held_back.node_count() == 3);
  const rf::GraphExec exec = held_back.instantiate();
  BOOST_TEST((read_graph(exec.native_graph()).edges == std::set<std::pair<int, int>>{{0, 1}}));
  BOOST_TEST((read_graph(live.native()).edges == std::set<std::pair<int, int>>{{0, 1}}));
  exec.replay();
  live.instantiate().replay();
  BOOST_TEST(rf::test::holds(x, 55));
}

// Memory in stream order

BOOST_AUTO_TEST_CASE(a_function_may_take_and_free_memory_in_stream_order) {
  const auto work = [](cudaStream_t stream, float* x) {
    float* scratch = nullptr;
    CUDA_REQUIRE(cudaMallocAsync(&scratch, bytes, stream));
    multiply<<<blocks, threads, 0, stream>>>(x, 3, scratch, size);
    multiply<<<blocks, threads, 0, stream>>>(scratch, 1, x, size);
    CUDA_REQUIRE(cudaFreeAsync(scratch, stream));
  };
  for (const Way& way : ways) {
    rf::Array x = rf::ones({size});
    rf::current_stream().enqueue("mine", rf::readwrite(x), work);
    const rf::Graph graph = rf::capture(
        [&] {
          x += 1;
          rf::current_stream().enqueue("mine", rf::readwrite(x), work);
          x += 1;
        },
        {.live = way.live});
    const rf::GraphExec exec = graph.instantiate({.optimize = way.optimize});
    exec.replay();
    exec.replay();
    BOOST_TEST(rf::test::holds(x, 43));  // 3, 13, 43
  }
}

BOOST_AUTO_TEST_CASE(such_a_function_is_in_one_executable_only) {
  rf::Array x = rf::ones({size});
  const rf::Graph graph = rf::capture([&] {
    rf::current_stream().enqueue("mine", rf::readwrite(x), [](cudaStream_t stream, float* to) {
      void* scratch = nullptr;
      CUDA_REQUIRE(cudaMallocAsync(&scratch, bytes, stream));
      Adds{1}(stream, to);
      CUDA_REQUIRE(cudaFreeAsync(scratch, stream));
    });
  });
  const rf::GraphExec exec = graph.instantiate();
  require_error(rf::Errc::not_supported, [&] { graph.instantiate(); }, {"[mine]", "workspace", "enqueue_nodes.cu:"});
  const rf::Graph outer = rf::capture([&] {
    exec.replay();
    x += 1;
  });
  require_error(rf::Errc::not_supported, [&] { outer.instantiate(); }, {"[mine]", "workspace", "enqueue_nodes.cu:"});
  exec.replay();
  exec.replay();
  BOOST_TEST(rf::test::holds(x, 3));
}

BOOST_AUTO_TEST_SUITE_END()
