// What functions may not do, and that nothing else suffers from it.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_runtime.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

namespace rf = refrain;
using rf::test::require_error;

namespace {

__global__ void add(float* x, float value) { x[threadIdx.x] += value; }

constexpr int size = 4;
constexpr int too_many_threads = 2048;

struct Adds {
  float value;
  void operator()(cudaStream_t stream, float* x) const { add<<<1, size, 0, stream>>>(x, value); }
};

struct Own {};

using Function = std::function<void(cudaStream_t stream, float* x)>;

void enqueue(rf::Array& x, const Function& function) {
  rf::current_stream().enqueue("mine", rf::readwrite(x), function);
}

bool eager_work_is_right(rf::Array& x) {
  x.assign(1);
  enqueue(x, Adds{2});
  x += 1;
  return rf::test::holds(x, 4) && cudaGetLastError() == cudaSuccess;
}

/// A function that fails as `fails` says is left out, and the recording goes on: before, after, and in its replays.
void require_intact(const std::function<void(const std::function<void()>& call)>& fails, const Function& function) {
  for (const bool by_stream : {false, true}) {
    BOOST_TEST_CONTEXT((by_stream ? "stream-scoped" : "thread-scoped")) {
      const rf::Stream origin;
      rf::Array x = rf::zeros({size});
      origin.wait_stream(rf::current_stream());
      const rf::Graph graph = rf::test::record({.by_stream = by_stream}, origin, [&] {
        x += 1;
        fails([&] { enqueue(x, function); });
        BOOST_TEST(rf::is_capturing());
        enqueue(x, Adds{2});
        x *= 2;
      });
      BOOST_TEST((rf::test::labels(graph) == std::vector<std::string>{"add", "mine", "mul"}));
      BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      BOOST_TEST(rf::test::holds(x, 18));  // 6, 18
      BOOST_TEST(eager_work_is_right(x));
    }
  }
}

void require_refused(rf::Errc code, std::initializer_list<std::string_view> words, const Function& function) {
  require_intact(
      [&](const std::function<void()>& call) {
        require_error(code, call, words);
        require_error(code, call, {"[mine] the enqueued function", "enqueue_errors.cu:"});
      },
      function);
}

void require_forbidden(const std::function<void(cudaStream_t stream)>& call) {
  require_refused(rf::Errc::capture_unsupported, {"did what no capture allows"}, [&](cudaStream_t stream, float* x) {
    Adds{100}(stream, x);
    call(stream);
    Adds{100}(stream, x);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue_errors)

// In captures

BOOST_AUTO_TEST_CASE(waiting_and_asking_are_refused) {
  const runtime::Fork fork;
  require_forbidden([](cudaStream_t stream) { static_cast<void>(cudaStreamSynchronize(stream)); });
  require_forbidden([](cudaStream_t stream) { static_cast<void>(cudaStreamQuery(stream)); });
  require_forbidden([](cudaStream_t) { static_cast<void>(cudaDeviceSynchronize()); });
  require_forbidden([&](cudaStream_t) { static_cast<void>(cudaStreamSynchronize(fork.side)); });
  require_forbidden([&](cudaStream_t stream) {
    CUDA_REQUIRE(cudaEventRecord(fork.forked, stream));
    static_cast<void>(cudaEventSynchronize(fork.forked));
  });
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_taken_in_stream_order_is_refused) {
  void* memory = nullptr;
  require_forbidden([&](cudaStream_t) { static_cast<void>(cudaMalloc(&memory, 16)); });
  require_forbidden([&](cudaStream_t) { static_cast<void>(cudaMallocHost(&memory, 16)); });
  CUDA_REQUIRE(cudaMalloc(&memory, 16));
  require_forbidden([&](cudaStream_t) { static_cast<void>(cudaFree(memory)); });
  CUDA_REQUIRE(cudaFree(memory));
}

BOOST_AUTO_TEST_CASE(the_legacy_stream_is_refused) {
  const runtime::DeviceInt number;
  const int written = 5;
  require_forbidden([](cudaStream_t) { static_cast<void>(runtime::try_launch(nullptr)); });
  require_forbidden(
      [&](cudaStream_t) { static_cast<void>(cudaMemcpy(number, &written, sizeof(int), cudaMemcpyHostToDevice)); });
  require_forbidden([&](cudaStream_t) { static_cast<void>(cudaMemset(number, 0, sizeof(int))); });
}

BOOST_AUTO_TEST_CASE(what_fails_in_the_function_may_be_looked_at_and_is_refused_all_the_same) {
  require_forbidden([](cudaStream_t stream) {
    BOOST_TEST(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    BOOST_TEST(cudaGetLastError() == cudaErrorStreamCaptureUnsupported);
  });
}

BOOST_AUTO_TEST_CASE(a_fork_that_is_not_joined_is_refused) {
  const runtime::Fork fork;
  require_refused(rf::Errc::capture_unjoined, {"unjoined"}, [&](cudaStream_t stream, float* x) {
    fork.begin(stream);
    Adds{100}(fork.side, x);
  });
  BOOST_TEST(runtime::status(fork.side) == cudaStreamCaptureStatusNone);
}

BOOST_AUTO_TEST_CASE(ending_the_capture_is_refused) {
  require_refused(rf::Errc::illegal_state, {"ended the capture"}, [](cudaStream_t stream, float* x) {
    Adds{100}(stream, x);
    BOOST_TEST(runtime::node_count(runtime::end(stream)) == 1);
  });
}

BOOST_AUTO_TEST_CASE(memory_that_is_taken_and_not_freed_is_refused) {
  require_refused(rf::Errc::capture_unsupported, {"does not free"}, [](cudaStream_t stream, float*) {
    void* memory = nullptr;
    CUDA_REQUIRE(cudaMallocAsync(&memory, 16, stream));
  });
}

BOOST_AUTO_TEST_CASE(a_failed_launch_that_nobody_looked_at_is_found) {
  require_refused(rf::Errc::invalid_value, {"cudaErrorInvalidValue"},
                  [](cudaStream_t stream, float* x) { add<<<1, too_many_threads, 0, stream>>>(x, 100.0F); });
}

// In a capture CUDA takes no more work after it, whether the function looked at it or not.
BOOST_AUTO_TEST_CASE(a_failed_launch_that_was_looked_at_is_the_functions_own_unless_it_ends_a_capture) {
  rf::Array x = rf::zeros({size});
  const auto fail_and_go_on = [](cudaStream_t stream, float* to) {
    add<<<1, too_many_threads, 0, stream>>>(to, 100.0F);
    BOOST_TEST(cudaGetLastError() == cudaErrorInvalidValue);
    Adds{1}(stream, to);
    static_cast<void>(cudaGetLastError());
  };
  enqueue(x, fail_and_go_on);
  BOOST_TEST(rf::test::holds(x, 1));
  require_refused(rf::Errc::capture_unsupported, {"a call of it failed"}, fail_and_go_on);
}

BOOST_AUTO_TEST_CASE(an_error_from_before_is_not_laid_at_the_functions_door) {
  rf::Array x = rf::zeros({size});
  const auto fail = [] {
    add<<<1, too_many_threads>>>(nullptr, 0.0F);
    BOOST_REQUIRE_EQUAL(cudaPeekAtLastError(), cudaErrorInvalidValue);
  };
  fail();
  enqueue(x, Adds{1});
  const rf::Graph graph = rf::capture([&] {
    fail();
    enqueue(x, Adds{1});
  });
  static_cast<void>(cudaGetLastError());
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_CASE(an_exception_is_handed_on_as_it_is) {
  const runtime::Fork fork;
  const auto is_own = [](const std::function<void()>& call) { BOOST_CHECK_THROW(call(), Own); };
  require_intact(is_own, [](cudaStream_t stream, float* x) {
    Adds{100}(stream, x);
    throw Own{};
  });
  require_intact(is_own, [&](cudaStream_t stream, float* x) {
    fork.begin(stream);
    Adds{100}(fork.side, x);
    throw Own{};
  });
  require_intact(is_own, [](cudaStream_t stream, float*) {
    if (cudaStreamSynchronize(stream) != cudaSuccess) throw Own{};
  });
}

BOOST_AUTO_TEST_CASE(a_stream_that_only_a_refused_function_used_does_not_join) {
  const rf::Stream side;
  rf::Array x = rf::zeros({size});
  const rf::Graph graph = rf::capture([&] {
    x += 1;
    BOOST_CHECK_THROW(side.enqueue("mine", rf::read(x), [](cudaStream_t, const float*) { throw Own{}; }), Own);
    BOOST_CHECK_THROW(side.enqueue("silent", [](cudaStream_t) { throw Own{}; }), Own);
  });
  BOOST_TEST(graph.node_count() == 1);
  BOOST_TEST(rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::forked).empty());
}

// Eagerly

BOOST_AUTO_TEST_CASE(what_only_captures_forbid_is_fine_eagerly) {
  rf::Array x = rf::zeros({size});
  float first = 0;
  enqueue(x, [&](cudaStream_t stream, float* to) {
    Adds{3}(stream, to);
    void* memory = nullptr;
    CUDA_REQUIRE(cudaMalloc(&memory, 16));
    CUDA_REQUIRE(cudaStreamSynchronize(stream));
    CUDA_REQUIRE(cudaMemcpy(&first, to, sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_REQUIRE(cudaFree(memory));
  });
  BOOST_TEST(first == 3);
  BOOST_TEST(eager_work_is_right(x));
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_left_capturing_is_found_and_usable) {
  const runtime::Fork fork;
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Array x = rf::zeros({size});
  const std::pair<rf::Errc, Function> functions[] = {
      {rf::Errc::illegal_state, [](cudaStream_t native, float*) { runtime::begin(native); }},
      {rf::Errc::illegal_state,
       [&](cudaStream_t native, float* to) {
         runtime::begin(native);
         fork.begin(native);
         Adds{100}(fork.side, to);
       }},
      {rf::Errc::illegal_state,
       [](cudaStream_t native, float*) {
         runtime::begin(native);
         static_cast<void>(cudaStreamSynchronize(native));
       }},
  };
  for (const auto& [code, function] : functions) {
    require_error(code, [&, &function = function] { enqueue(x, function); },
                  {"[mine] the enqueued function", "leaves its stream capturing", "enqueue_errors.cu:"});
    BOOST_TEST(runtime::status(stream.native()) == cudaStreamCaptureStatusNone);
    BOOST_TEST(eager_work_is_right(x));
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_left_capturing_by_an_exception_is_usable) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Array x = rf::zeros({size});
  const auto call = [&] {
    enqueue(x, [](cudaStream_t native, float* to) {
      runtime::begin(native);
      Adds{100}(native, to);
      throw Own{};
    });
  };
  BOOST_CHECK_THROW(call(), Own);
  BOOST_TEST(runtime::status(stream.native()) == cudaStreamCaptureStatusNone);
  BOOST_TEST(eager_work_is_right(x));
}

BOOST_AUTO_TEST_CASE(a_function_may_capture_on_the_stream_that_it_is_given) {
  rf::Array x = rf::zeros({size});
  enqueue(x, [](cudaStream_t stream, float* to) {
    runtime::begin(stream);
    Adds{3}(stream, to);
    const runtime::Exec exec = runtime::instantiate(runtime::end(stream));
    CUDA_REQUIRE(cudaGraphLaunch(exec, stream));
  });
  BOOST_TEST(rf::test::holds(x, 3));
}

BOOST_AUTO_TEST_CASE(a_failed_eager_launch_that_nobody_looked_at_is_found) {
  rf::Array x = rf::zeros({size});
  const auto call = [&] {
    enqueue(x, [](cudaStream_t stream, float* to) { add<<<1, too_many_threads, 0, stream>>>(to, 100.0F); });
  };
  require_error(rf::Errc::invalid_value, call,
                {"[mine] the enqueued function", "cudaErrorInvalidValue", "enqueue_errors.cu:"});
  BOOST_TEST(eager_work_is_right(x));
}

BOOST_AUTO_TEST_CASE(work_from_before_an_exception_is_in_order) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  rf::Array x = rf::test::slowly(1, 20);
  const rf::StreamGuard on(side);
  BOOST_CHECK_THROW(enqueue(x,
                            [](cudaStream_t stream, float* to) {
                              Adds{2}(stream, to);
                              throw Own{};
                            }),
                    Own);
  const rf::Stream third;
  third.enqueue("later", rf::readwrite(x), Adds{4});
  BOOST_TEST(rf::test::of_kind(rf::diagnostics(), rf::DiagnosticKind::edge_added).size() == 2U);
  BOOST_TEST(x.slice(0, 1).item<float>() == 7);
}

// Graphs of the program's own

BOOST_AUTO_TEST_CASE(a_graph_with_memory_nodes_is_refused_and_leaves_captures_intact) {
  runtime::Graph mine;
  {
    const runtime::Stream stream;
    void* memory = nullptr;
    runtime::begin(stream);
    CUDA_REQUIRE(cudaMallocAsync(&memory, 16, stream));
    CUDA_REQUIRE(cudaFreeAsync(memory, stream));
    CUDA_REQUIRE(cudaStreamEndCapture(stream, mine.out()));
  }
  rf::Array x = rf::zeros({size});
  const auto refused = [&] {
    require_error(rf::Errc::not_supported, [&] { rf::current_stream().add_graph(mine, "mine"); },
                  {"[mine]", "memory nodes", "enqueue_errors.cu:"});
  };
  refused();
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          x += 1;
          refused();
          enqueue(x, Adds{2});
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
  }
  BOOST_TEST(rf::test::holds(x, 6));
  BOOST_TEST(eager_work_is_right(x));
}

BOOST_AUTO_TEST_SUITE_END()
