// The texts of errors that only a GPU gives, as in tests/error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"
#include "support_runtime.hpp"

#include <refrain/cuda.hpp>

namespace rf = refrain;
using rf::test::check_error_text;

namespace {

using Function = std::function<void(cudaStream_t stream)>;

void enqueue(const Function& function) { rf::current_stream().enqueue("mine", function); }

void check_in_capture(const Function& function) {
  rf::capture([&] { check_error_text([&] { enqueue(function); }); });
}

__global__ void nothing() {}

void take_memory(cudaStream_t stream, bool frees) {
  void* memory = nullptr;
  CUDA_REQUIRE(cudaMallocAsync(&memory, 16, stream));
  if (frees) CUDA_REQUIRE(cudaFreeAsync(memory, stream));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_error_texts)

BOOST_AUTO_TEST_CASE(a_function_synchronises_in_a_capture) {
  check_in_capture([](cudaStream_t stream) { static_cast<void>(cudaStreamSynchronize(stream)); });
}

BOOST_AUTO_TEST_CASE(a_function_synchronises_in_a_live_capture) {
  const auto body = [] { enqueue([](cudaStream_t stream) { static_cast<void>(cudaStreamSynchronize(stream)); }); };
  check_error_text([&] { rf::capture(body, {.live = true}); });
}

BOOST_AUTO_TEST_CASE(a_function_synchronises_in_an_attached_capture) {
  const runtime::Stream native;
  const rf::Stream stream = rf::Stream::wrap(native);
  const rf::StreamGuard on(stream);
  runtime::begin(native);
  check_error_text([] { enqueue([](cudaStream_t same) { static_cast<void>(cudaStreamSynchronize(same)); }); });
  BOOST_TEST(runtime::failed_end(native) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_CASE(a_function_leaves_a_fork_unjoined) {
  const runtime::Stream other;
  const runtime::Event event;
  check_in_capture([&](cudaStream_t stream) {
    CUDA_REQUIRE(cudaEventRecord(event, stream));
    CUDA_REQUIRE(cudaStreamWaitEvent(other, event));
    runtime::launch(other);
  });
}

BOOST_AUTO_TEST_CASE(a_function_ends_its_capture) {
  check_in_capture([](cudaStream_t stream) { runtime::end(stream); });
}

BOOST_AUTO_TEST_CASE(a_function_leaves_its_stream_capturing) {
  check_error_text([] { enqueue([](cudaStream_t stream) { runtime::begin(stream); }); });
}

BOOST_AUTO_TEST_CASE(a_function_leaves_an_error_behind) {
  check_error_text([] { enqueue([](cudaStream_t stream) { nothing<<<1, 2048, 0, stream>>>(); }); });
}

BOOST_AUTO_TEST_CASE(a_function_takes_memory_and_does_not_free_it) {
  check_in_capture([](cudaStream_t stream) { take_memory(stream, false); });
}

BOOST_AUTO_TEST_CASE(a_function_with_memory_of_its_own_is_instantiated_twice) {
  const rf::Graph graph = rf::capture([] { enqueue([](cudaStream_t stream) { take_memory(stream, true); }); });
  const rf::GraphExec first = graph.instantiate();
  check_error_text([&] { graph.instantiate(); });
}

BOOST_AUTO_TEST_CASE(a_live_graph_with_random_numbers_and_a_function_is_replayed_in_a_capture) {
  const auto body = [] {
    const rf::Array numbers = rf::rand({4});
    enqueue(runtime::launch);
  };
  const rf::GraphExec exec = rf::capture(body, {.live = true}).instantiate();
  rf::capture([&] { check_error_text([&] { exec.replay(); }); });
}

BOOST_AUTO_TEST_CASE(a_native_graph_with_memory_nodes) {
  const runtime::Stream stream;
  runtime::begin(stream);
  take_memory(stream, true);
  const runtime::Graph graph = runtime::end(stream);
  check_error_text([&] { rf::current_stream().add_graph(graph, "mine"); });
}

// Executables that are given something anew

BOOST_AUTO_TEST_CASE(a_geometry_with_another_cluster_is_set) {
  const rf::GraphExec exec = rf::capture([] { rf::current_stream().launch({.label = "mine"}, nothing); }).instantiate();
  check_error_text([&] { exec.set("mine", {.grid = 4, .cluster = 2}); });
}

BOOST_AUTO_TEST_CASE(an_array_of_a_function_is_bound) {
  const rf::Array x = rf::test::filled(1);
  const rf::GraphExec exec = rf::capture([&] {
                               rf::current_stream().enqueue("mine", rf::read(x), [](cudaStream_t, const float*) {});
                             }).instantiate();
  check_error_text([&] { exec.bind(x, rf::test::filled(2)); });
}

BOOST_AUTO_TEST_CASE(work_is_enqueued_on_an_argument_that_has_another_name) {
  rf::Array weight = rf::test::filled(1);
  auto step = rf::graphed([&](rf::Array x) {
    rf::current_stream().enqueue("mine", rf::readwrite(x), [](cudaStream_t, float*) {});
    weight += 1;
  });
  check_error_text([&] { step(weight); });
}

BOOST_AUTO_TEST_SUITE_END()
