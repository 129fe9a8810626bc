// Executables with own kernels and enqueued functions that become those of other graphs, and what CUDA refuses to
// change in one: such calls of CUDA's fail, so this is not for compute-sanitizer.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_foreign.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/cuda.hpp>

#include <cooperative_groups.h>

#include <functional>

namespace rf = refrain;
using rf::test::holds;
using rf::test::require_error;

namespace {

constexpr int size = 1000;
constexpr int blocks = 4;
constexpr int threads = 256;
constexpr rf::LaunchConfig over_all{.grid = blocks, .block = threads, .label = "mine", .where = {}};

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

__global__ void multiply(float* x, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= factor;
}

__global__ void add_two(float* x, int n, float first, double second) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += first + static_cast<float>(second);
}

__global__ void add_cluster(float* x) {
  if (cooperative_groups::this_grid().thread_rank() != 0) return;
  *x += static_cast<float>(cooperative_groups::this_cluster().num_blocks());
}

using Function = std::function<void(cudaStream_t stream, float* x)>;

/// A graph of one function that is enqueued.
rf::Graph graph_of(const rf::Array& x, const Function& function) {
  return rf::capture([&] { rf::current_stream().enqueue("mine", rf::readwrite(x), function); });
}

void add_once(cudaStream_t stream, float* x) { add<<<blocks, threads, 0, stream>>>(x, 1, size); }
void add_with_scratch(cudaStream_t stream, float* x) {
  void* scratch = nullptr;
  CUDA_REQUIRE(cudaMallocAsync(&scratch, size, stream));
  add_once(stream, x);
  CUDA_REQUIRE(cudaFreeAsync(scratch, stream));
}

bool is_in(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_exec_updates)

BOOST_AUTO_TEST_CASE(another_kernel_with_other_arguments_is_taken_in_place) {
  rf::Array x = rf::ones({size});
  const auto captured = [&](const std::function<void(const rf::Stream&)>& launch) {
    return rf::capture([&] {
      launch(rf::current_stream());
      x *= 2;
    });
  };
  const rf::GraphExec exec =
      captured([&](const rf::Stream& stream) { stream.launch(over_all, add, x, 1.0F, size); }).instantiate();
  exec.replay();  // 4
  const auto update = [&](const std::function<void(const rf::Stream&)>& launch) {
    const rf::GraphUpdate result = exec.update(captured(launch));
    BOOST_TEST(result.in_place);
    BOOST_TEST(result.difference == "");
    exec.replay();
  };
  update([&](const rf::Stream& stream) { stream.launch(over_all, add, x, 6.0F, size); });
  BOOST_TEST(holds(x, 20));
  update([&](const rf::Stream& stream) { stream.launch(over_all, multiply, x, 2.0F, size); });
  BOOST_TEST(holds(x, 80));
  update([&](const rf::Stream& stream) {
    stream.launch({.grid = 2, .block = 500, .shared_bytes = 100'000, .label = "mine"}, add_two, x, size, 3.0F, 7.0);
  });
  BOOST_TEST(holds(x, 180));
}

BOOST_AUTO_TEST_CASE(parameters_geometry_and_bindings_go_on_with_the_new_graph) {
  const rf::Param<float> first(1, "first");
  const rf::Param<float> second(2, "second");
  rf::Array x = rf::zeros({size});
  const auto graph_with = [&](const rf::Param<float>& value, const char* label) {
    return rf::capture(
        [&] { rf::current_stream().launch({.grid = blocks, .block = threads, .label = label}, add, x, value, size); });
  };
  const rf::GraphExec exec = graph_with(first, "before").instantiate();
  exec.set(first, 100);
  exec.enable("before", false);
  exec.replay();
  BOOST_TEST(exec.update(graph_with(second, "after")).in_place);
  exec.replay();
  BOOST_TEST(holds(x, 2));  // taken in again, with its own value
  require_error(rf::Errc::invalid_value, [&] { exec.set(first, 5); }, {"'first'", "'second'"});
  require_error(rf::Errc::invalid_value, [&] { exec.enable("before", false); }, {"'before'", "'after'"});
  exec.set(second, 10);
  exec.set("after", {.grid = 1, .block = threads});
  const rf::Array y = rf::zeros({size});
  exec.bind(x, y);
  exec.replay();
  BOOST_TEST(holds(y.slice(0, threads), 10));
  BOOST_TEST(holds(y.slice(threads, size), 0));
  exec.enable("after", false);
  exec.replay();
  exec.enable("after", true);
  exec.replay();
  BOOST_TEST(holds(y.slice(0, threads), 20));
}

BOOST_AUTO_TEST_CASE(another_cluster_is_made_anew_and_the_command_named) {
  rf::Array x = rf::zeros({1});
  const auto graph_with = [&](const rf::LaunchConfig& config) {
    return rf::capture([&] {
      x += 1;
      rf::current_stream().launch(config, add_cluster, x);
    });
  };
  const rf::GraphExec exec = graph_with({.grid = 4, .label = "mine"}).instantiate();
  exec.replay();  // 2
  float expected = 2;
  const auto update = [&](const rf::LaunchConfig& config, int blocks_a_cluster, bool in_place) {
    const rf::GraphUpdate result = exec.update(graph_with(config));
    BOOST_TEST(result.in_place == in_place);
    BOOST_TEST(is_in(result.difference, in_place ? "" : "command 1, 'mine' at"), result.difference);
    BOOST_TEST(is_in(result.difference, in_place ? "" : "has another cluster"), result.difference);
    exec.replay();
    BOOST_TEST(holds(x, expected += static_cast<float>(1 + blocks_a_cluster)));
  };
  update({.grid = 4, .cluster = 2, .label = "mine"}, 2, false);
  update({.grid = 8, .cluster = 2, .label = "mine"}, 2, true);
  update({.grid = 8, .cluster = 4, .label = "mine"}, 4, false);
  update({.grid = 8, .cooperative = true, .label = "mine"}, 1, false);
  update({.grid = 8, .priority = -1, .label = "mine"}, 1, false);
}

BOOST_AUTO_TEST_CASE(functions_of_the_same_nodes_are_taken_in_place_and_others_made_anew) {
  rf::Array x = rf::zeros({size});
  const rf::GraphExec exec = graph_of(x, add_once).instantiate();
  exec.replay();  // 1
  const auto update = [&](const Function& function) {
    const rf::GraphUpdate result = exec.update(graph_of(x, function));
    BOOST_TEST(result.in_place == result.difference.empty());
    exec.replay();
    return result.difference;
  };
  BOOST_TEST(update([](cudaStream_t stream, float* to) { multiply<<<blocks, threads, 0, stream>>>(to, 5, size); }) ==
             "");
  BOOST_TEST(holds(x, 5));
  const std::string twice = update([](cudaStream_t stream, float* to) {
    add_once(stream, to);
    add_once(stream, to);
  });
  BOOST_TEST(is_in(twice, "'mine'"), twice);
  BOOST_TEST(holds(x, 7));
  const std::string copies = update([](cudaStream_t stream, float* to) {
    CUDA_REQUIRE(cudaMemsetAsync(to, 0, size * sizeof(float), stream));
    add_once(stream, to);
  });
  BOOST_TEST(is_in(copies, "'mine'"), copies);
  BOOST_TEST(holds(x, 1));
  const Function with_host_node = [](cudaStream_t stream, float* to) {
    add_once(stream, to);
    CUDA_REQUIRE(cudaLaunchHostFunc(
        stream, [](void*) {}, nullptr));
  };
  const std::string child = update(with_host_node);
  BOOST_TEST(is_in(child, "'mine'"), child);
  BOOST_TEST(holds(x, 2));
  update(with_host_node);
  BOOST_TEST(holds(x, 3));
}

BOOST_AUTO_TEST_CASE(replays_under_way_end_with_the_kernels_that_they_began_with) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Array x = rf::zeros({size});
  rf::GraphExec exec;
  rf::test::keep_busy(stream, 20);
  for (int i = 1; i <= 20; ++i) {
    const rf::Graph graph = rf::capture([&] {
      if (i % 2 == 1) {
        stream.launch(over_all, add, x, static_cast<float>(i), size);
      } else {
        stream.launch(over_all, add_two, x, size, static_cast<float>(i), 0.0);
      }
    });
    if (exec.defined()) {
      BOOST_TEST(exec.update(graph).in_place);
    } else {
      exec = graph.instantiate();
    }
    exec.replay();
  }
  BOOST_TEST(holds(x, 210));
}

BOOST_AUTO_TEST_CASE(the_native_graph_is_the_one_that_it_was_updated_by) {
  rf::Array x = rf::zeros({size});
  const auto graph_adding = [&](float value) {
    return rf::capture([&] {
      rf::current_stream().launch(over_all, add, x, value, size);
      x *= 1;
    });
  };
  const rf::GraphExec exec = graph_adding(1).instantiate();
  const cudaGraphExec_t native = exec.native();
  const runtime::Stream stream;
  float expected = 0;
  for (const float value : {10.0F, 20.0F, 30.0F}) {
    BOOST_TEST(exec.update(graph_adding(value)).in_place);
    BOOST_TEST((exec.native() == native));
    BOOST_TEST(read_graph(exec.native_graph()) == read_graph(graph_adding(value).instantiate().native_graph()));
    rf::synchronize();
    const runtime::Exec other = runtime::instantiate(exec.native_graph());
    CUDA_REQUIRE(cudaGraphLaunch(other, stream));
    CUDA_REQUIRE(cudaStreamSynchronize(stream));
    BOOST_TEST(holds(x, expected += value));
  }
}

// Memory in stream order: such work is in one executable only

BOOST_AUTO_TEST_CASE(work_that_takes_memory_is_in_one_executable_whatever_is_asked_for) {
  rf::Array x = rf::zeros({size});
  const rf::Graph graph = graph_of(x, add_with_scratch);
  const rf::GraphExec exec = graph.instantiate();
  const rf::GraphExec plain = graph_of(x, add_once).instantiate();
  const auto check = [&](const std::function<void()>& call) {
    require_error(rf::Errc::not_supported, call, {"[mine]", "workspace array", "exec_updates.cu:"});
  };
  check([&] { graph.instantiate(); });
  check([&] { exec.clone(); });
  check([&] { exec.update(graph); });
  check([&] { plain.update(graph); });
  check([&] { rf::capture([&] { exec.replay(); }).instantiate(); });
  exec.replay();
  plain.replay();
  exec.replay();
  BOOST_TEST(holds(x, 3));
}

BOOST_AUTO_TEST_CASE(an_executable_becomes_one_of_a_graph_that_takes_memory_and_goes_back) {
  rf::Array x = rf::zeros({size});
  const rf::GraphExec exec = graph_of(x, add_once).instantiate();
  exec.replay();
  for (int i = 0; i < 2; ++i) {
    const rf::Graph graph = graph_of(x, add_with_scratch);
    const rf::GraphUpdate update = exec.update(graph);
    BOOST_TEST(!update.in_place);
    BOOST_TEST(is_in(update.difference, "command 0, 'mine' at"), update.difference);
    exec.replay();
    exec.replay();
    require_error(rf::Errc::not_supported, [&] { graph.instantiate(); }, {"[mine]"});
  }
  BOOST_TEST(!exec.update(graph_of(x, add_once)).in_place);
  exec.replay();
  BOOST_TEST(holds(x, 6));
}

// What CUDA refuses

BOOST_AUTO_TEST_CASE(more_shared_memory_than_there_is_changes_nothing) {
  rf::Array x = rf::zeros({size});
  const rf::Param<float> step(1);
  const rf::GraphExec exec = rf::capture([&] {
                               rf::current_stream().launch(over_all, add, x, step, size);
                               rf::current_stream().launch(over_all, multiply, x, 2.0F, size);
                             }).instantiate();
  require_error(rf::Errc::invalid_value,
                [&] { exec.set("mine", {.grid = blocks, .block = threads, .shared_bytes = 1 << 20}); });
  exec.set(step, 5);
  exec.replay();
  BOOST_TEST(holds(x, 10));
  const rf::GraphExec copy = exec.clone();
  copy.replay();
  BOOST_TEST(holds(x, 30));
}

BOOST_AUTO_TEST_SUITE_END()
