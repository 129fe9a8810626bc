// The order of functions' work across streams.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

namespace rf = refrain;
using rf::test::require_error;

namespace {

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

/// Adds to the first elements of an array, on a stream that a function is given.
struct Adds {
  float value;
  void operator()(cudaStream_t stream, float* x) const { add<<<1, 4, 0, stream>>>(x, value, 4); }
};

std::size_t added_edges(const std::vector<rf::Diagnostic>& all) {
  return rf::test::of_kind(all, rf::DiagnosticKind::edge_added).size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue_order, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(work_that_nothing_orders_is_ordered_by_what_it_touches_and_told) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const rf::Stream side;
  rf::Array x = rf::test::slowly(2, 20);
  side.enqueue("mine", rf::readwrite(x), Adds{1});  // nothing orders it after the ops above
  BOOST_TEST(added_edges(rf::diagnostics()) == 1U);
  x *= 10;  // nor this after that
  BOOST_TEST(added_edges(rf::diagnostics()) == 2U);
  BOOST_TEST(x.slice(0, 1).item<float>() == 30);
  const std::string text = rf::diagnostics().back().text;
  BOOST_TEST((text.find("'mine' at ") != std::string::npos), text);
}

BOOST_AUTO_TEST_CASE(a_capture_adds_the_order_and_tells_it) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  for (const bool live : rf::test::live_modes) {
    const rf::Stream side;
    rf::Array x = rf::zeros({4});
    const rf::Graph graph = rf::capture(
        [&] {
          x += 1;
          side.enqueue("mine", rf::readwrite(x), Adds{2});
          x *= 10;
        },
        {.live = live});
    BOOST_TEST(added_edges(graph.diagnostics()) == 2U);
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
    const rf::GraphExec exec = graph.instantiate();
    BOOST_TEST((read_graph(exec.native_graph()).edges == std::set<std::pair<int, int>>{{0, 1}, {1, 2}}));
    exec.replay();
    BOOST_TEST(rf::test::holds(x, 30));
  }
}

BOOST_AUTO_TEST_CASE(a_missing_wait_is_refused_before_the_function_is_called_where_hazards_are_errors) {
  const rf::test::HazardsScope hazards(rf::Hazards::error);
  const rf::Stream side;
  rf::Array x = rf::zeros({4});
  int calls = 0;
  const auto touch = [&] {
    side.enqueue("mine", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
      ++calls;
      Adds{1}(stream, to);
    });
  };
  x += 1;
  require_error(rf::Errc::illegal_state, touch, {"[mine]", "'add'", "enqueue_order.cu:"});
  BOOST_TEST(calls == 0);
  rf::synchronize();
  for (const bool live : rf::test::live_modes) {
    const rf::Graph graph = rf::capture(
        [&] {
          x += 1;
          require_error(rf::Errc::illegal_state, touch, {"[mine]", "'add'", "enqueue_order.cu:"});
          BOOST_TEST(calls == 0);
          side.wait_stream(rf::current_stream());
          touch();
          rf::current_stream().wait_stream(side);
        },
        {.live = live});
    BOOST_TEST(std::exchange(calls, 0) == 1);
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
  }
  BOOST_TEST(rf::test::holds(x, 5));
}

BOOST_AUTO_TEST_CASE(later_work_is_refused_after_a_functions_where_hazards_are_errors) {
  const rf::test::HazardsScope hazards(rf::Hazards::error);
  const rf::Stream side;
  rf::Array x = rf::zeros({4});
  rf::synchronize();
  side.enqueue("mine", rf::readwrite(x), Adds{1});
  require_error(rf::Errc::illegal_state, [&] { x += 1; }, {"[add]", "'mine'", "enqueue_order.cu:"});
  side.synchronize();
  x += 1;
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_CASE(functions_that_only_read_the_same_array_are_not_ordered) {
  const rf::test::HazardsScope hazards(rf::Hazards::error);
  const rf::Stream side;
  const rf::Array x = rf::zeros({4});
  rf::synchronize();
  const auto body = [&] {
    for (const rf::Stream& stream : {rf::current_stream(), side}) {
      stream.enqueue("reads", rf::read(x), [](cudaStream_t, const float*) {});
    }
  };
  body();
  BOOST_TEST(rf::capture(body).edge_count() == 0);
}

BOOST_AUTO_TEST_CASE(rows_of_one_array_are_told_apart) {
  const rf::test::HazardsScope hazards(rf::Hazards::error);
  const rf::Stream side;
  rf::Array x = rf::zeros({8});
  rf::synchronize();
  rf::current_stream().enqueue("first", rf::readwrite(x.slice(0, 4)), Adds{1});
  side.enqueue("second", rf::readwrite(x.slice(4, 8)), Adds{2});
  require_error(rf::Errc::illegal_state, [&] { side.enqueue("third", rf::readwrite(x.slice(3, 7)), Adds{1}); },
                {"[third]", "'first'"});
  rf::synchronize();
  BOOST_TEST(rf::test::holds(x.slice(0, 4), 1));
  BOOST_TEST(rf::test::holds(x.slice(4, 8), 2));
}

BOOST_AUTO_TEST_CASE(a_function_that_does_not_say_what_it_touches_is_told) {
  for (const bool live : rf::test::live_modes) {
    const rf::Array x = rf::zeros({4});
    const rf::Graph graph = rf::capture(
        [&] {
          rf::current_stream().enqueue("silent", [](cudaStream_t) {});
          rf::current_stream().enqueue("frank", rf::read(x), [](cudaStream_t, const float*) {});
        },
        {.live = live});
    const auto found = rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::foreign_undeclared);
    BOOST_REQUIRE_EQUAL(found.size(), 1U);
    BOOST_TEST(found[0].commands == std::vector<int>{0}, boost::test_tools::per_element());
    BOOST_TEST((found[0].text.find("'silent' at ") != std::string::npos), found[0].text);
    BOOST_TEST((found[0].severity == rf::Severity::info));
  }
}

BOOST_AUTO_TEST_CASE(a_function_that_does_not_say_what_it_touches_keeps_its_place_in_its_stream) {
  for (const bool live : rf::test::live_modes) {
    float* address = nullptr;
    rf::Array x = rf::zeros({4});
    rf::current_stream().enqueue("address", rf::readwrite(x), [&](cudaStream_t, float* own) { address = own; });
    const auto body = [&] {
      x += 1;
      rf::current_stream().enqueue("silent", [&](cudaStream_t stream) { Adds{2}(stream, address); });
      x *= 10;
    };
    body();
    const rf::Graph graph = rf::capture(body, {.live = live});
    BOOST_TEST((rf::test::edges(graph) == rf::test::Edges{{0, 1}, {1, 2}}));
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(x, 330));
  }
}

BOOST_AUTO_TEST_SUITE_END()
