// The three programs that Refrain began with (docs/examples/seed1.cpp to seed3.cpp): eager and as graphs they give what
// PyTorch gives.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_torch.hpp"

#include <cmath>
#include <sstream>

namespace refrain::test {

namespace {

/// Where the main stream's handle is taken.
enum class Main { before, inside };

/// A stream and an event.
struct Seed1 {
  explicit Seed1(Main where = Main::inside) {
    if (where == Main::before) main = current_stream();
  }

  Array operator()() {
    Array t;
    {
      const StreamGuard on(stream);
      t = array({1, 2, 3, 4, 5});
      t = t * 2;
      stream.record_event(event);
    }
    main.value_or(current_stream()).wait_event(event);
    if (keep != nullptr) *keep = t;
    return array({10, 20, 30});
  }

  Stream stream;
  Event event;
  std::optional<Stream> main;
  Array* keep = nullptr;  ///< where `t` is left; null: it ends with the body
};

/// Two streams. Nothing joins stream 2 back to the main stream.
struct Seed2 {
  explicit Seed2(Main = Main::inside) {}

  Array operator()() {
    Array t1;
    Array t2;
    {
      const StreamGuard on(stream1);
      t1 = randn({100, 100});
      t1 = t1 * 2;
      event.record(stream1);
    }
    {
      const StreamGuard on(stream2);
      stream2.wait_event(event);
      t2 = randn({100, 100});
      t2 = t2 + t1;
    }
    if (keep != nullptr) *keep = t1;
    return t2;
  }

  Stream stream1;
  Stream stream2;
  Event event;
  Array* keep = nullptr;
};

/// Several events.
struct Seed3 {
  explicit Seed3(Main where = Main::inside) {
    if (where == Main::before) main = current_stream();
  }

  Array operator()() {
    const Stream main_stream = main.value_or(current_stream());
    Array data_a;
    Array data_b;
    {
      const StreamGuard on(a);
      data_a = randn({50, 50});
      data_a = data_a * 3;
      event_a.record(a);
    }
    {
      const StreamGuard on(b);
      data_b = randn({50, 50});
      data_b = data_b + 5;
      event_b.record(b);
    }
    main_stream.wait_event(event_a);
    main_stream.wait_event(event_b);
    if (keep != nullptr) *keep = data_a;
    return data_a + data_b;
  }

  Stream a;
  Stream b;
  Event event_a;
  Event event_b;
  std::optional<Stream> main;
  Array* keep = nullptr;
};

/// How far a float32 normal number may be from PyTorch's: nothing on CUDA.
double randn_bound() { return current_device().kind == DeviceKind::cuda ? 0 : 4e-6; }

/// The first elements are those named, within the bound.
void require_starts_with(const Array& array, const std::string& path, double bound) {
  const std::vector<double> got = numbers(array);
  const std::vector<double> expected = torch_numbers(path);
  BOOST_TEST_REQUIRE(got.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST(std::abs(got[i] - expected[i]) <= bound, path << '[' << i << "]: " << got[i] << ", not " << expected[i]);
  }
}

void require_ends_with(const Array& array, const std::string& path, double bound) {
  const std::vector<double> got = numbers(array);
  const std::vector<double> expected = torch_numbers(path);
  BOOST_TEST_REQUIRE(got.size() >= expected.size());
  const std::size_t first = got.size() - expected.size();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST(std::abs(got[first + i] - expected[i]) <= bound,
               path << '[' << i << "]: " << got[first + i] << ", not " << expected[i]);
  }
}

double total_of(const Array& array) {
  double total = 0;
  for (const double number : numbers(array)) total += number;
  return total;
}

/// Runs a new program of this type in each mode after seeding; `check` gets its result and what it was told to keep.
template <class Program, class Check>
void in_all_modes(Check check) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(0);
      Program program;
      Array kept;
      program.keep = &kept;
      const Array result = run_as(mode, program);
      synchronize();
      check(result, kept);
    }
  }
}

/// The kind, label and dependencies of each node; with streams where those are comparable.
std::vector<std::string> description(const Graph& graph, bool with_streams) {
  std::vector<std::string> lines;
  for (const GraphNode& node : graph.nodes()) {
    std::ostringstream line;
    line << node.id << ' ' << node.kind << ' ' << node.label;
    if (with_streams) line << " on " << node.stream;
    for (const int dependency : node.dependencies) line << " after " << dependency;
    lines.push_back(line.str());
  }
  return lines;
}

/// The program gives the same graph wherever the main stream's handle is taken.
template <class Program>
void require_same_graph_for_both_handles() {
  for (const bool live : live_modes) {
    BOOST_TEST_CONTEXT("live " << live) {
      const Program before(Main::before);
      Program inside = before;  // with the same streams
      inside.main.reset();
      const Graph first = capture(Program(before), {.live = live}).first;
      const Graph second = capture(inside, {.live = live}).first;
      const auto expected = description(first, !live);
      const auto got = description(second, !live);
      BOOST_TEST(got == expected, boost::test_tools::per_element());
    }
  }
}

/// Five replays give what five eager calls give, bit for bit.
template <class Program>
void require_replays_equal_eager_calls() {
  constexpr int times = 5;
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      Program program;
      manual_seed(0);
      std::vector<Array> eager;
      for (int i = 0; i < times; ++i) eager.push_back(program());

      auto captured = capture(program, capture_options(mode));
      const GraphExec exec = captured.first.instantiate(instantiate_options(mode));
      manual_seed(0);
      for (const Array& expected : eager) {
        exec.replay();
        BOOST_TEST(same_bits(captured.second, expected));
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(seeds, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_stream_and_an_event_give_the_reference) {
  in_all_modes<Seed1>([](const Array& res, const Array& t) {
    BOOST_TEST(t.dtype() == DType::int64);
    BOOST_TEST(numbers(t) == torch_numbers("seed1.t"), boost::test_tools::per_element());
    BOOST_TEST(res.dtype() == DType::int64);
    BOOST_TEST(numbers(res) == torch_numbers("seed1.res"), boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(a_stream_and_an_event_print_the_numbers) {
  in_all_modes<Seed1>([](const Array& res, const Array&) {
    std::ostringstream text;
    text << res;
    BOOST_TEST(text.str() == "array([10, 20, 30], dtype=int64, device=" + current_device().str() + ")");
  });
}

BOOST_AUTO_TEST_CASE(two_streams_give_the_reference) {
  in_all_modes<Seed2>([](const Array& t2, const Array& t1) {
    const double bound = randn_bound();
    BOOST_TEST(t2.shape().str() == "[100, 100]");
    require_starts_with(t1, "seed2.t1", 2 * bound);
    require_starts_with(t2, "seed2.t2", 3 * bound);
    require_ends_with(t2, "seed2.t2_last", 3 * bound);
    const double expected = torch_number("seed2.sum_t2_double");
    BOOST_TEST(std::abs(total_of(t2) - expected) <= 10000 * 3 * bound + 1e-9);
  });
}

BOOST_AUTO_TEST_CASE(several_events_give_the_reference) {
  in_all_modes<Seed3>([](const Array& result, const Array& data_a) {
    const double bound = randn_bound();
    const double rounding = bound == 0 ? 0 : 1e-6;  // of numbers up to 16 whose exact values differ within the bound
    BOOST_TEST(result.shape().str() == "[50, 50]");
    require_starts_with(data_a, "seed3.data_a", 3 * bound + rounding);
    require_starts_with(result, "seed3.result", 4 * bound + rounding);
    require_ends_with(result, "seed3.result_last", 4 * bound + rounding);
    const double expected = torch_number("seed3.sum_result_double");
    BOOST_TEST(std::abs(total_of(result) - expected) <= 2500 * (4 * bound + rounding) + 1e-9);
  });
}

BOOST_AUTO_TEST_CASE(intermediate_arrays_that_end_with_the_body_leave_the_results_as_they_are) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      manual_seed(0);
      require_starts_with(run_as(mode, Seed2{}), "seed2.t2", 3 * randn_bound());
      manual_seed(0);
      require_starts_with(run_as(mode, Seed3{}), "seed3.result", 4 * randn_bound() + 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_and_an_event_replayed_equal_eager_calls) { require_replays_equal_eager_calls<Seed1>(); }
BOOST_AUTO_TEST_CASE(two_streams_replayed_equal_eager_calls) { require_replays_equal_eager_calls<Seed2>(); }
BOOST_AUTO_TEST_CASE(several_events_replayed_equal_eager_calls) { require_replays_equal_eager_calls<Seed3>(); }

BOOST_AUTO_TEST_CASE(replays_on_another_stream_give_the_reference) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const auto captured = capture(Seed3{}, capture_options(mode));
      const Stream other;
      manual_seed(0);
      captured.first.instantiate(instantiate_options(mode)).replay(other);
      require_starts_with(captured.second, "seed3.result", 4 * randn_bound() + 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_graph_of_a_stream_and_an_event_has_the_programs_nodes_and_edges) {
  for (const bool live : live_modes) {
    const Graph graph = capture(Seed1{}, {.live = live}).first;
    BOOST_TEST(graph.node_count() == 3);
    BOOST_TEST(graph.edge_count() == 2);
    BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 2}}));
  }
}

BOOST_AUTO_TEST_CASE(the_graph_of_two_streams_has_the_programs_nodes_and_edges) {
  for (const bool live : live_modes) {
    const Graph graph = capture(Seed2{}, {.live = live}).first;
    BOOST_TEST(graph.node_count() == 4);
    BOOST_TEST(graph.edge_count() == 3);
    BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 2}, {2, 3}}));
  }
}

BOOST_AUTO_TEST_CASE(the_graph_of_several_events_has_the_programs_nodes_and_edges) {
  for (const bool live : live_modes) {
    const Graph graph = capture(Seed3{}, {.live = live}).first;
    BOOST_TEST(graph.node_count() == 5);
    BOOST_TEST(graph.edge_count() == 4);
    BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 4}, {2, 3}, {3, 4}}));
  }
}

BOOST_AUTO_TEST_CASE(an_executable_without_optimisation_has_the_programs_nodes_and_edges) {
  const GraphExec exec = capture(Seed3{}).first.instantiate({.optimize = Optimize::none});
  BOOST_TEST(exec.node_count() == 5);
  BOOST_TEST(exec.edge_count() == 4);
}

BOOST_AUTO_TEST_CASE(the_main_streams_handle_may_be_taken_before_the_body_or_in_it) {
  require_same_graph_for_both_handles<Seed1>();
  require_same_graph_for_both_handles<Seed3>();
}

BOOST_AUTO_TEST_CASE(the_programs_orders_need_no_help) {
  const HazardsScope hazards(Hazards::error);
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      BOOST_CHECK_NO_THROW(run_as(mode, Seed1{}));
      BOOST_CHECK_NO_THROW(run_as(mode, Seed2{}));
      BOOST_CHECK_NO_THROW(run_as(mode, Seed3{}));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
