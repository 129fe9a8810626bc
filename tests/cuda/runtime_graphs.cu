// What CUDA answers about graphs and their executables.

#include "support_runtime.hpp"

using namespace runtime;

namespace {

__global__ void nothing() {}

/// The first of two kernels waits about 0.1 s for the second one to arrive and says whether it did.
__global__ void meet(int* arrived, int* met) {
  if (atomicAdd(arrived, 1) > 0) return;
  const long long start = clock64();
  while (atomicAdd(arrived, 0) == 1 && clock64() - start < 200'000'000) {
  }
  *met = atomicAdd(arrived, 0) == 2 ? 1 : 0;
}

struct GraphCase : Case {
  /// One kernel that adds one to `count`.
  Graph counting() {
    begin(origin);
    add_one(origin);
    return end(origin);
  }

  void replay(cudaGraphExec_t exec) {
    CUDA_REQUIRE(cudaGraphLaunch(exec, origin));
    CUDA_REQUIRE(cudaStreamSynchronize(origin));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_runtime_graphs, GraphCase)

// What nodes do

BOOST_AUTO_TEST_CASE(a_host_function_runs_once_a_replay) {
  int calls = 0;
  const auto called = [](void* number) { ++*static_cast<int*>(number); };
  begin(origin);
  CUDA_REQUIRE(cudaLaunchHostFunc(origin, called, &calls));
  const Exec exec = instantiate(end(origin));
  BOOST_TEST(calls == 0);
  for (int replays = 1; replays <= 3; ++replays) {
    replay(exec);
    BOOST_TEST(calls == replays);
  }
}

BOOST_AUTO_TEST_CASE(a_captured_copy_to_the_host_keeps_the_pointer) {
  const DeviceInt number;
  const HostInt target;
  begin(origin);
  CUDA_REQUIRE(cudaMemcpyAsync(target, number, sizeof(int), cudaMemcpyDeviceToHost, origin));
  const Exec exec = instantiate(end(origin));
  for (int value = 1; value <= 2; ++value) {
    CUDA_REQUIRE(try_add_one(number, origin));
    replay(exec);
    BOOST_TEST(*target == value);
  }
}

BOOST_AUTO_TEST_CASE(a_captured_copy_of_pageable_bytes_keeps_the_pointer) {
  const DeviceInt number;
  int pageable = 5;
  int read = 0;
  begin(origin);
  CUDA_REQUIRE(cudaMemcpyAsync(number, &pageable, sizeof(int), cudaMemcpyHostToDevice, origin));
  const Exec exec = instantiate(end(origin));
  pageable = 9;
  replay(exec);
  CUDA_REQUIRE(cudaMemcpy(&read, number, sizeof(int), cudaMemcpyDeviceToHost));
  BOOST_TEST(read == 9);
}

// Executables

BOOST_AUTO_TEST_CASE(launches_of_one_executable_on_two_streams_are_serialised) {
  const DeviceInt arrived;
  load(meet);
  const HostInt met;
  begin(origin);
  meet<<<1, 1, 0, origin>>>(arrived, met);
  const Graph graph = end(origin);
  const Exec one = instantiate(graph);
  const Exec other = instantiate(graph);
  const auto overlap = [&](cudaGraphExec_t first, cudaGraphExec_t second) {
    CUDA_REQUIRE(cudaMemset(arrived, 0, sizeof(int)));
    CUDA_REQUIRE(cudaDeviceSynchronize());
    CUDA_REQUIRE(cudaGraphLaunch(first, member));
    CUDA_REQUIRE(cudaGraphLaunch(second, outside));
    CUDA_REQUIRE(cudaDeviceSynchronize());
    return *met == 1;
  };
  BOOST_TEST(!overlap(one, one));
  BOOST_TEST(overlap(one, other));
}

BOOST_AUTO_TEST_CASE(an_executable_may_be_destroyed_in_flight) {
  begin(origin);
  hold(origin);
  add_one(origin);
  Exec exec = instantiate(end(origin));
  CUDA_REQUIRE(cudaGraphLaunch(exec, origin));
  BOOST_TEST(exec.reset() == cudaSuccess);
  BOOST_TEST(cudaStreamQuery(origin) == cudaErrorNotReady);
  open_gate();
  CUDA_REQUIRE(cudaStreamSynchronize(origin));
  BOOST_TEST(*count == 1);
}

BOOST_AUTO_TEST_CASE(an_update_with_another_topology_gives_910_and_the_executable_is_unharmed) {
  const Exec exec = instantiate(counting());
  begin(origin);
  launch(origin);
  launch(origin);
  const Graph longer = end(origin);
  cudaGraphExecUpdateResultInfo result{};
  BOOST_TEST(cudaGraphExecUpdate(exec, longer, &result) == cudaErrorGraphExecUpdateFailure);
  replay(exec);
  BOOST_TEST(*count == 1);
}

BOOST_AUTO_TEST_CASE(an_update_with_another_kernel_is_accepted) {
  begin(origin);
  launch(origin);
  const Exec exec = instantiate(end(origin));
  cudaGraphExecUpdateResultInfo result{};
  BOOST_TEST(cudaGraphExecUpdate(exec, counting(), &result) == cudaSuccess);
  replay(exec);
  BOOST_TEST(*count == 1);
}

// What graphs hold

BOOST_AUTO_TEST_CASE(a_conditional_handle_that_no_node_uses_gives_1_at_instantiation) {
  const Graph graph = counting();
  cudaGraphConditionalHandle handle = 0;
  CUDA_REQUIRE(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  Exec exec;
  BOOST_TEST(cudaGraphInstantiate(exec.out(), graph, 0) == cudaErrorInvalidValue);
}

BOOST_AUTO_TEST_CASE(a_programmatic_dependency_counts_as_an_edge) {
  int major = 0;
  CUDA_REQUIRE(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) {
    BOOST_TEST_MESSAGE("left out: it needs compute capability 9.0");
    return;
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 1;
  config.stream = origin;
  config.attrs = &early;
  config.numAttrs = 1;
  load(nothing);
  begin(origin);
  launch(origin);
  CUDA_REQUIRE(cudaLaunchKernelEx(&config, nothing));
  const Graph graph = end(origin);
  BOOST_TEST(node_count(graph) == 2);
  const auto found = edges(graph);
  BOOST_REQUIRE_EQUAL(found.size(), 1U);
  BOOST_TEST(found[0].type == cudaGraphDependencyTypeProgrammatic);
}

BOOST_AUTO_TEST_SUITE_END()
