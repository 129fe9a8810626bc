// Memory that launches say they touch, and memory that they do not say anything about.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/cuda.hpp>

#include <algorithm>
#include <cstdint>

namespace rf = refrain;
using rf::test::Mode;
using rf::test::require_error;

namespace {

constexpr int size = 1000;
constexpr rf::LaunchConfig over_all{.grid = 4, .block = 256, .label = "mine", .where = {}};

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

__global__ void copy(const float* from, float* to, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = from[i];
}

struct Pair {
  const float* from;
  float* to;
};

__global__ void copy_pair(Pair pair, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) pair.to[i] = pair.from[i];
}

__global__ void sum(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
                    const float* g, const float* h, const float* i, float* to) {
  to[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + c[threadIdx.x] + d[threadIdx.x] + e[threadIdx.x] +
                    f[threadIdx.x] + g[threadIdx.x] + h[threadIdx.x] + i[threadIdx.x];
}

/// Memory of the program's own, zeros at first. Never freed: an address that came again would be the same memory to
/// Refrain, with what was done to it before.
struct Floats {
  explicit Floats(int count = size) : count(count) {
    CUDA_REQUIRE(cudaMalloc(&address, bytes()));
    clear();
  }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * sizeof(float); }
  float* at(int i) const { return address + i; }
  void clear() const {
    CUDA_REQUIRE(cudaMemset(address, 0, bytes()));
    CUDA_REQUIRE(cudaDeviceSynchronize());
  }
  /// Whether all elements have this value. Waits for the device.
  bool hold(float value) const {
    std::vector<float> all(static_cast<std::size_t>(count));
    CUDA_REQUIRE(cudaDeviceSynchronize());
    CUDA_REQUIRE(cudaMemcpy(all.data(), address, bytes(), cudaMemcpyDeviceToHost));
    return std::all_of(all.begin(), all.end(), [=](float each) { return each == value; });
  }

  int count;
  float* address = nullptr;
};

constexpr std::int64_t bytes_of(int count) { return count * static_cast<std::int64_t>(sizeof(float)); }

std::size_t found(const std::vector<rf::Diagnostic>& all, rf::DiagnosticKind kind) {
  return rf::test::of_kind(all, kind).size();
}

/// The priority of an executable's only node.
int priority_of(const rf::GraphExec& exec) {
  cudaGraphNode_t node = nullptr;
  std::size_t count = 1;
  CUDA_REQUIRE(cudaGraphGetNodes(exec.native_graph(), &node, &count));
  cudaKernelNodeAttrValue value{};
  CUDA_REQUIRE(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributePriority, &value));
  return value.priority;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_accesses, *boost::unit_test::label("sanitize"))

// Bytes at an address

BOOST_AUTO_TEST_CASE(bytes_are_arguments_in_every_mode) {
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Floats from;
      const Floats to;
      rf::test::run_as(mode, [&] {
        const rf::Stream stream = rf::current_stream();
        stream.launch(over_all, add, rf::readwrite(from.at(0), bytes_of(size)), 3.0F, size);
        stream.launch(over_all, copy, rf::read(from.at(0), bytes_of(size)), rf::write(to.at(0), bytes_of(size)), size);
        return rf::Array();
      });
      BOOST_TEST(to.hold(3));
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_are_ordered_across_streams_and_the_missing_wait_is_told) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  const Floats memory;
  rf::Array seen = rf::zeros({size});
  rf::synchronize();
  rf::test::keep_busy(rf::current_stream(), 20);
  rf::current_stream().launch(over_all, add, rf::readwrite(memory.at(0), bytes_of(size)), 3.0F, size);
  side.launch(over_all, copy, rf::read(memory.at(0), bytes_of(size)), rf::write(seen), size);
  BOOST_TEST(found(rf::diagnostics(), rf::DiagnosticKind::edge_added) == 1U);
  BOOST_TEST(rf::test::holds(seen, 3));
  rf::set_hazards(rf::Hazards::error);
  rf::current_stream().launch(over_all, add, rf::readwrite(memory.at(0), bytes_of(size)), 1.0F, size);
  const auto late = [&] { side.launch(over_all, add, rf::readwrite(memory.at(0), bytes_of(size)), 1.0F, size); };
  require_error(rf::Errc::illegal_state, late, {"[mine]", "'mine'"});
  side.wait_stream(rf::current_stream());
  late();
  BOOST_TEST(memory.hold(5));
}

BOOST_AUTO_TEST_CASE(overlapping_bytes_conflict_and_others_do_not) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const Floats memory(3 * size);
  const std::vector<rf::Stream> streams(4);
  const auto add_to = [&](int stream, const char* label, int begin, int count) {
    streams[static_cast<std::size_t>(stream)].launch({.grid = 8, .block = 256, .label = label}, add,
                                                     rf::readwrite(memory.at(begin), bytes_of(count)), 1.0F, count);
  };
  const auto beside_each_other = [&] {
    add_to(0, "first", 0, size);
    add_to(1, "second", size, size);
    add_to(3, "third", 2 * size, size);
  };
  const auto across = [&] { add_to(2, "across", size / 2, size); };
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          beside_each_other();
          across();
          add_to(0, "last", 3 * size / 2 - 1, size);  // the last element of that, and the third
        },
        {.live = live});
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 3}, {1, 3}, {2, 4}, {3, 4}}));
    BOOST_TEST(found(graph.diagnostics(), rf::DiagnosticKind::edge_added) == 4U);
    const rf::GraphExec exec = graph.instantiate();
    const std::set<std::pair<int, int>> expected{{0, 3}, {1, 3}, {2, 4}, {3, 4}};
    BOOST_TEST((read_graph(exec.native_graph()).edges == expected));
  }
  rf::synchronize();
  beside_each_other();
  BOOST_TEST(found(rf::diagnostics(), rf::DiagnosticKind::edge_added) == 0U);
  across();
  BOOST_TEST(found(rf::diagnostics(), rf::DiagnosticKind::edge_added) == 2U);
  rf::synchronize();
}

BOOST_AUTO_TEST_CASE(a_replay_is_ordered_by_the_bytes_that_its_launches_touch) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  const Floats memory;
  rf::Array seen = rf::zeros({size});
  const rf::GraphExec exec =
      rf::capture([&] {
        rf::current_stream().launch(over_all, add, rf::readwrite(memory.at(0), bytes_of(size)), 3.0F, size);
      }).instantiate();
  rf::synchronize();
  rf::test::keep_busy(rf::current_stream(), 20);
  exec.replay();
  side.launch(over_all, copy, rf::read(memory.at(0), bytes_of(size)), rf::write(seen), size);
  BOOST_TEST(found(rf::diagnostics(), rf::DiagnosticKind::edge_added) == 1U);
  BOOST_TEST(rf::test::holds(seen, 3));
  exec.replay(side);
  BOOST_TEST(memory.hold(6));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_memory_are_refused) {
  const Floats memory;
  const rf::Stream stream = rf::current_stream();
  require_error(rf::Errc::invalid_value,
                [&] { stream.launch({.label = "mine"}, add, rf::readwrite(nullptr, 4), 1.0F, 1); },
                {"[mine] argument 0", "null pointer", "accesses.cu:"});
  require_error(rf::Errc::invalid_value,
                [&] { stream.launch({.label = "mine"}, add, rf::readwrite(memory.at(0), -4), 1.0F, 1); },
                {"[mine] argument 0", "-4 bytes", "accesses.cu:"});
  stream.launch({.label = "mine"}, add, rf::readwrite(nullptr, 0), 1.0F, 0);
  BOOST_TEST(memory.hold(0));
}

// Accesses after the arguments

BOOST_AUTO_TEST_CASE(pointers_in_a_struct_are_declared_after_the_arguments) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  for (const bool live : rf::test::live_modes) {
    const Floats from;
    const Floats to;
    rf::Array seen = rf::zeros({size});
    const rf::Graph graph = rf::capture(
        [&] {
          rf::current_stream().launch(over_all, add, rf::readwrite(from.at(0), bytes_of(size)), 3.0F, size);
          side.launch(over_all, copy_pair, Pair{from.at(0), to.at(0)}, size, rf::read(from.at(0), bytes_of(size)),
                      rf::write(to.at(0), bytes_of(size)));
          rf::current_stream().launch(over_all, copy, rf::read(to.at(0), bytes_of(size)), rf::write(seen), size);
        },
        {.live = live});
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
    BOOST_TEST(found(graph.diagnostics(), rf::DiagnosticKind::edge_added) == 2U);
    BOOST_TEST(found(graph.diagnostics(), rf::DiagnosticKind::foreign_undeclared) == 0U);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(seen, 3));
  }
}

BOOST_AUTO_TEST_CASE(an_array_that_a_kernel_reaches_otherwise_is_ordered_and_kept) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  const Floats to;
  rf::GraphExec exec;
  {
    rf::Array x = rf::ones({size});
    float* address = nullptr;
    rf::current_stream().enqueue("address", rf::read(x), [&](cudaStream_t, float* own) { address = own; });
    const rf::Graph graph = rf::capture([&] {
      x += 2;
      side.launch(over_all, copy_pair, Pair{address, to.at(0)}, size, rf::read(x), rf::write(to.at(0), bytes_of(size)));
    });
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}}));
    exec = graph.instantiate();
  }
  for (int i = 0; i < 20; ++i) rf::full({size}, 100);  // would take the place of memory that is let go
  exec.replay();
  BOOST_TEST(to.hold(3));
}

BOOST_AUTO_TEST_CASE(many_arguments_of_memory_are_told_apart) {
  std::vector<rf::Array> from;
  for (int i = 0; i < 9; ++i) from.push_back(rf::full({4}, 1 << i));
  for (const Mode mode : rf::test::all_modes) {
    rf::Array to = rf::zeros({4});
    rf::test::run_as(mode, [&] {
      rf::current_stream().launch({.grid = 1, .block = 4}, sum, from[0], from[1], from[2], from[3], from[4], from[5],
                                  from[6], from[7], from[8], rf::write(to));
      return rf::Array();
    });
    BOOST_TEST(rf::test::holds(to, 511), mode);
  }
}

// Bare pointers

BOOST_AUTO_TEST_CASE(a_bare_pointer_makes_a_launch_undeclared_and_is_told) {
  const Floats memory;
  rf::Array x = rf::zeros({size});
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          const rf::Stream stream = rf::current_stream();
          stream.launch({.grid = 4, .block = 256, .label = "bare"}, add, memory.at(0), 1.0F, size);
          stream.launch(over_all, add, x, 1.0F, size);
          stream.launch(over_all, add, rf::readwrite(memory.at(0), bytes_of(size)), 1.0F, size);
          stream.launch(over_all, copy, nullptr, x, 0);
        },
        {.live = live});
    const auto undeclared = rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::foreign_undeclared);
    BOOST_REQUIRE_EQUAL(undeclared.size(), 1U);
    BOOST_TEST(undeclared[0].commands == std::vector<int>{0}, boost::test_tools::per_element());
    BOOST_TEST((undeclared[0].text.find("'bare' at ") != std::string::npos), undeclared[0].text);
    graph.instantiate().replay();
  }
  BOOST_TEST(memory.hold(4));
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_CASE(a_launch_with_a_bare_pointer_keeps_its_place) {
  const Floats memory;
  rf::Array x = rf::zeros({size});
  const rf::Stream side;
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      x.assign(0);
      memory.clear();
      rf::test::run_as(mode, [&] {
        const rf::Stream stream = rf::current_stream();
        x += 2;
        stream.launch(over_all, copy, x, memory.at(0), size);  // 2
        side.wait_stream(stream);
        side.launch(over_all, add, memory.at(0), 1.0F, size);  // 3
        stream.wait_stream(side);
        stream.launch(over_all, copy, memory.at(0), rf::write(x), size);
        x *= 10;
        return rf::Array();
      });
      BOOST_TEST(rf::test::holds(x, 30));
    }
  }
}

// The rest of a launch

BOOST_AUTO_TEST_CASE(a_priority_is_the_nodes_and_else_the_streams) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  BOOST_REQUIRE_LT(highest, lowest);
  rf::Array x = rf::zeros({size});
  const rf::Stream urgent(highest);
  urgent.wait_stream(rf::current_stream());
  int launches = 0;
  for (const bool live : rf::test::live_modes) {
    const auto launch_on = [&](const rf::Stream& stream, rf::LaunchConfig config) {
      config.grid = 4;
      config.block = 256;
      ++launches;
      const auto body = [&] { stream.launch(config, add, x, 1.0F, size); };
      const rf::GraphExec exec = rf::capture(body, {.live = live}).instantiate();
      exec.replay();
      return priority_of(exec);
    };
    BOOST_TEST(launch_on(rf::current_stream(), {.priority = highest}) == highest);
    BOOST_TEST(launch_on(rf::current_stream(), {}) == 0);
    BOOST_TEST(launch_on(urgent, {}) == highest);
    BOOST_TEST(launch_on(urgent, {.priority = 0}) == 0);
  }
  rf::current_stream().launch({.grid = 4, .block = 256, .priority = highest}, add, x, 1.0F, size);
  BOOST_TEST(rf::test::holds(x, launches + 1));
}

BOOST_AUTO_TEST_CASE(a_parameter_has_the_value_that_it_has_when_the_launch_is_issued) {
  for (const bool live : rf::test::live_modes) {
    rf::Array x = rf::zeros({size});
    rf::Param<float> value(1.0F, "value");
    const rf::Param<int> count(size);
    const auto body = [&] { rf::current_stream().launch(over_all, add, x, value, count); };
    body();  // 1
    const rf::GraphExec exec = rf::capture(body, {.live = live}).instantiate();
    value = 10.0F;
    exec.replay();  // 2
    body();         // 12
    const rf::Param<float> same = value;
    value = 100.0F;
    BOOST_TEST(same.value() == 100.0F);
    exec.replay();  // 13
    BOOST_TEST(rf::test::holds(x, 13));
  }
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_the_parameters_of_its_launches) {
  rf::Array x = rf::zeros({size});
  rf::GraphExec exec;
  {
    const rf::Param<float> value(3.0F);
    exec = rf::capture([&] { rf::current_stream().launch(over_all, add, x, value, size); }).instantiate();
  }
  exec.replay();
  BOOST_TEST(rf::test::holds(x, 3));
}

BOOST_AUTO_TEST_SUITE_END()
