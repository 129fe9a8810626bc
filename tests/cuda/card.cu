// The card, literally: what live mode and `optimize = none` hand to CUDA is the graph that plain CUDA captures from the
// same program.

#include "native_graph.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime.h>

#include <functional>
#include <random>
#include <vector>

namespace rf = refrain;

namespace {

__global__ void nothing() {}

/// A program over numbered streams and events, stream 0 being the origin.
struct Step {
  enum class Kind { work, copy, record, wait } kind;
  int stream;
  int event;
};
using Program = std::vector<Step>;

/// Captures the program with plain runtime calls: streams fork from the beginning at their first use and are joined at
/// the end.
NativeGraph capture_plainly(const Program& program, int streams, int events) {
  std::vector<cudaStream_t> stream(static_cast<std::size_t>(streams));
  for (auto& s : stream) CUDA_REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::vector<cudaEvent_t> event(static_cast<std::size_t>(events + streams + 1));
  for (auto& e : event) CUDA_REQUIRE(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  char* memory = nullptr;
  CUDA_REQUIRE(cudaMalloc(&memory, 2));
  std::vector<bool> joined(stream.size(), false);
  std::vector<bool> recorded(event.size(), false);

  CUDA_REQUIRE(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal));
  CUDA_REQUIRE(cudaEventRecord(event.back(), stream[0]));
  joined[0] = true;
  for (const Step& step : program) {
    const auto s = static_cast<std::size_t>(step.stream);
    const auto e = static_cast<std::size_t>(step.event);
    if (step.kind == Step::Kind::wait && !recorded[e]) continue;
    if (!joined[s]) {
      CUDA_REQUIRE(cudaStreamWaitEvent(stream[s], event.back(), 0));
      joined[s] = true;
    }
    switch (step.kind) {
      case Step::Kind::work: nothing<<<1, 1, 0, stream[s]>>>(); break;
      case Step::Kind::copy:
        CUDA_REQUIRE(cudaMemcpyAsync(memory, memory + 1, 1, cudaMemcpyDeviceToDevice, stream[s]));
        break;
      case Step::Kind::record:
        CUDA_REQUIRE(cudaEventRecord(event[e], stream[s]));
        recorded[e] = true;
        break;
      case Step::Kind::wait: CUDA_REQUIRE(cudaStreamWaitEvent(stream[s], event[e], 0)); break;
    }
  }
  for (std::size_t s = 1; s < stream.size(); ++s) {
    if (!joined[s]) continue;
    const cudaEvent_t end = event[static_cast<std::size_t>(events) + s];
    CUDA_REQUIRE(cudaEventRecord(end, stream[s]));
    CUDA_REQUIRE(cudaStreamWaitEvent(stream[0], end, 0));
  }
  cudaGraph_t graph = nullptr;
  CUDA_REQUIRE(cudaStreamEndCapture(stream[0], &graph));
  const NativeGraph read = read_graph(graph);
  CUDA_REQUIRE(cudaGraphDestroy(graph));
  for (const auto s : stream) CUDA_REQUIRE(cudaStreamDestroy(s));
  for (const auto e : event) CUDA_REQUIRE(cudaEventDestroy(e));
  CUDA_REQUIRE(cudaFree(memory));
  return read;
}

std::function<void()> with_refrain(const Program& program, int streams, int events) {
  return [&program, streams, events] {
    std::vector<rf::Stream> stream{rf::current_stream()};
    for (int i = 1; i < streams; ++i) stream.emplace_back();
    std::vector<rf::Event> event;
    for (int i = 0; i < events; ++i) event.emplace_back();
    for (const Step& step : program) {
      const rf::Stream& on = stream[static_cast<std::size_t>(step.stream)];
      switch (step.kind) {
        case Step::Kind::work: rf::bench::empty(on); break;
        case Step::Kind::copy: break;  // arrays are the seed programs'
        case Step::Kind::record: on.record_event(event[static_cast<std::size_t>(step.event)]); break;
        case Step::Kind::wait: on.wait_event(event[static_cast<std::size_t>(step.event)]); break;
      }
    }
  };
}

void require_same(const Program& program, int streams, int events) {
  const NativeGraph plain = capture_plainly(program, streams, events);
  const auto body = with_refrain(program, streams, events);
  const rf::Graph held_back = rf::capture(body);
  const rf::GraphExec literal = held_back.instantiate({.optimize = rf::Optimize::none});
  const rf::GraphExec planned = held_back.instantiate({.optimize = rf::Optimize::all});
  const rf::Graph live = rf::capture(body, {.live = true});
  BOOST_TEST(read_graph(literal.native_graph()) == plain);
  BOOST_TEST(read_graph(planned.native_graph()) == plain);
  BOOST_TEST(read_graph(live.native()) == plain);
  BOOST_TEST(held_back.node_count() == static_cast<int>(plain.types.size()));
  BOOST_TEST(held_back.edge_count() == static_cast<int>(plain.edges.size()));
}

/// The same for a program of arrays, whose nodes are the given steps.
template <class Body>
void require_same_arrays(const Program& program, int streams, int events, const Body& body) {
  const NativeGraph plain = capture_plainly(program, streams, events);
  auto [held_back, result] = rf::capture(body);
  const rf::GraphExec literal = held_back.instantiate({.optimize = rf::Optimize::none});
  auto [live, live_result] = rf::capture(body, {.live = true});
  BOOST_TEST(read_graph(literal.native_graph()) == plain);
  BOOST_TEST(read_graph(live.native()) == plain);
  BOOST_TEST(held_back.node_count() == static_cast<int>(plain.types.size()));
  BOOST_TEST(held_back.edge_count() == static_cast<int>(plain.edges.size()));
}

constexpr auto work = [](int stream) { return Step{Step::Kind::work, stream, 0}; };
constexpr auto copy = [](int stream) { return Step{Step::Kind::copy, stream, 0}; };
constexpr auto record = [](int event, int stream) { return Step{Step::Kind::record, stream, event}; };
constexpr auto wait = [](int stream, int event) { return Step{Step::Kind::wait, stream, event}; };

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_card, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_diamond_is_what_plain_cuda_captures) {
  require_same({work(0), record(0, 0), wait(1, 0), work(1), work(0), record(1, 1), wait(0, 1), work(0)}, 2, 2);
}

BOOST_AUTO_TEST_CASE(a_diamond_with_a_shortcut_loses_the_edge_that_follows_from_others) {
  require_same({work(0), record(0, 0), wait(1, 0), work(1), record(1, 1), work(0), record(2, 0), wait(2, 1), wait(2, 2),
                wait(2, 0), work(2)},
               3, 3);
}

BOOST_AUTO_TEST_CASE(nested_forks_are_what_plain_cuda_captures) {
  require_same({work(0), record(0, 0), wait(1, 0), work(1), record(1, 1), wait(2, 1), work(2), wait(3, 1), work(3),
                record(2, 2), record(3, 3), wait(1, 2), wait(1, 3), work(1), record(4, 1), wait(0, 4), work(0)},
               4, 5);
}

BOOST_AUTO_TEST_CASE(fifty_random_programs_are_what_plain_cuda_captures) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 50; ++round) {
    const int streams = 1 + static_cast<int>(random() % 6);
    const int events = 1 + static_cast<int>(random() % 6);
    Program program;
    const int length = 5 + static_cast<int>(random() % 60);
    for (int i = 0; i < length; ++i) {
      const int stream = static_cast<int>(random() % static_cast<unsigned>(streams));
      const int event = static_cast<int>(random() % static_cast<unsigned>(events));
      const unsigned choice = random() % 4;
      program.push_back(choice < 2 ? work(stream) : choice == 2 ? record(event, stream) : wait(stream, event));
    }
    BOOST_TEST_CONTEXT("round " << round) { require_same(program, streams, events); }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_and_an_event_is_what_plain_cuda_captures) {
  const rf::Stream stream;
  rf::Event event;
  require_same_arrays({copy(1), work(1), record(0, 1), wait(0, 0), copy(0)}, 2, 1, [&] {
    rf::Array t;
    {
      const rf::StreamGuard on(stream);
      t = rf::array({1, 2, 3, 4, 5});
      t = t * 2;
      event.record(stream);
    }
    rf::current_stream().wait_event(event);
    return rf::array({10, 20, 30});
  });
}

BOOST_AUTO_TEST_CASE(two_streams_are_what_plain_cuda_captures) {
  const rf::Stream stream1;
  const rf::Stream stream2;
  rf::Event event;
  require_same_arrays({work(1), work(1), record(0, 1), wait(2, 0), work(2), work(2)}, 3, 1, [&] {
    rf::Array t1;
    rf::Array t2;
    {
      const rf::StreamGuard on(stream1);
      t1 = rf::randn({100, 100});
      t1 = t1 * 2;
      event.record(stream1);
    }
    {
      const rf::StreamGuard on(stream2);
      stream2.wait_event(event);
      t2 = rf::randn({100, 100});
      t2 = t2 + t1;
    }
    return t2;
  });
}

BOOST_AUTO_TEST_CASE(several_events_are_what_plain_cuda_captures) {
  const rf::Stream a;
  const rf::Stream b;
  rf::Event a_done;
  rf::Event b_done;
  require_same_arrays({work(1), work(1), record(0, 1), work(2), work(2), record(1, 2), wait(0, 0), wait(0, 1), work(0)},
                      3, 2, [&] {
                        rf::Array left;
                        rf::Array right;
                        {
                          const rf::StreamGuard on(a);
                          left = rf::randn({50, 50}) * 3;
                          a_done.record(a);
                        }
                        {
                          const rf::StreamGuard on(b);
                          right = rf::randn({50, 50}) + 5;
                          b_done.record(b);
                        }
                        rf::current_stream().wait_event(a_done);
                        rf::current_stream().wait_event(b_done);
                        return left + right;
                      });
}

BOOST_AUTO_TEST_CASE(a_priority_of_a_stream_is_an_attribute_of_its_nodes) {
  const auto [lowest, highest] = rf::Stream::priority_range(rf::current_device());
  const rf::Stream urgent(highest);
  const rf::Graph graph = rf::capture([&] {
    rf::bench::empty(rf::current_stream());
    rf::bench::empty(urgent);
  });
  for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
    const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
    std::size_t count = 2;
    cudaGraphNode_t nodes[2];
    CUDA_REQUIRE(cudaGraphGetNodes(exec.native_graph(), nodes, &count));
    BOOST_REQUIRE_EQUAL(count, 2U);
    std::vector<int> priorities;
    for (const cudaGraphNode_t node : nodes) {
      cudaKernelNodeAttrValue value{};
      CUDA_REQUIRE(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributePriority, &value));
      priorities.push_back(value.priority);
    }
    BOOST_TEST(priorities == (std::vector<int>{0, highest}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
