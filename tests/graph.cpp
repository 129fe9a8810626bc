#include "support.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace rf = refrain;
using boost::unit_test::label;
using rf::DiagnosticKind;
using rf::test::Edges;
using rf::test::live_modes;
using rf::test::of_kind;
using rf::test::require_error;

namespace {

/// A random program of empty commands on several streams, with the order that it asks for kept beside it: before[i] is
/// every command that comes before command i.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, int streams, int steps) : random_(seed), streams_(static_cast<std::size_t>(streams)) {
    rf::Capture capture;
    for (int i = 0; i < steps; ++i) {
      const std::size_t at = pick(streams_.size());
      if (pick(2) == 0) {
        const std::size_t from = pick(streams_.size());
        streams_[at].wait_stream(streams_[from]);
        reached(at).insert(reached(from).begin(), reached(from).end());
      } else {
        rf::bench::empty(streams_[at]);
        before_.emplace_back(reached(at));
        reached(at).insert(static_cast<int>(before_.size()) - 1);
      }
    }
    graph_ = capture.end();
  }

  const rf::Graph& graph() const { return graph_; }
  const std::vector<std::set<int>>& before() const { return before_; }

 private:
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  std::set<int>& reached(std::size_t stream) {
    reached_.resize(streams_.size());
    return reached_[stream];
  }

  std::mt19937 random_;
  std::vector<rf::Stream> streams_;
  std::vector<std::set<int>> reached_;
  std::vector<std::set<int>> before_;
  rf::Graph graph_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(graph)

// Nodes

BOOST_AUTO_TEST_CASE(a_node_tells_its_label_kind_stream_device_and_place) {
  const rf::Array input = rf::test::filled(1);
  const rf::Stream stream;
  int line = 0;
  const rf::Graph graph = rf::capture([&] {
    const rf::StreamGuard on(stream);
    line = __LINE__ + 1;
    const rf::Array sum = input + input;
    rf::bench::empty(stream);
  });
  const std::vector<rf::GraphNode> nodes = graph.nodes();
  BOOST_REQUIRE(nodes.size() == 2U);
  BOOST_TEST(nodes[0].id == 0);
  BOOST_TEST(nodes[0].label == "add");
  BOOST_TEST(nodes[0].kind == "elementwise");
  BOOST_TEST(nodes[0].stream == stream.id());
  BOOST_TEST(nodes[0].device == stream.device());
  BOOST_TEST(nodes[0].where.line == line);
  BOOST_TEST((std::string(nodes[0].where.file).find("graph.cpp") != std::string::npos));
  BOOST_TEST(nodes[1].id == 1);
  BOOST_TEST(nodes[1].label == "empty");
  BOOST_TEST(nodes[1].kind == "empty");
}

BOOST_AUTO_TEST_CASE(nodes_stand_in_issue_order) {
  const rf::Array x = rf::test::filled(3);
  for (const bool live : live_modes) {
    const rf::Graph graph = rf::capture(
                                [&] {
                                  rf::Array y = x * 2;
                                  y -= 1;
                                  y = -y;
                                  return y / 4;
                                },
                                {.live = live})
                                .first;
    BOOST_TEST(rf::test::labels(graph) == (std::vector<std::string>{"mul", "sub", "neg", "div"}),
               boost::test_tools::per_element());
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {1, 2}, {2, 3}}));
  }
}

BOOST_AUTO_TEST_CASE(commands_of_one_stream_are_a_chain_even_without_shared_memory) {
  const rf::Graph graph = rf::capture([] {
    for (int i = 0; i < 5; ++i) rf::test::filled(static_cast<float>(i));
  });
  BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

// Transitive reduction

BOOST_AUTO_TEST_CASE(a_diamond_with_a_shortcut_keeps_four_edges) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream side;
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          const rf::Event fork = origin.record_event();
                                          side.wait_event(fork);
                                          rf::bench::empty(origin);
                                          rf::bench::empty(side);
                                          origin.wait_stream(side);
                                          origin.wait_event(fork);  // the shortcut
                                          rf::bench::empty(origin);
                                        },
                                        {.live = live});
    BOOST_TEST(graph.node_count() == 4);
    BOOST_TEST(graph.edge_count() == 4);
    BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
    const auto pruned = of_kind(graph.diagnostics(), DiagnosticKind::edges_pruned);
    BOOST_REQUIRE(pruned.size() == 1U);
    BOOST_TEST((pruned[0].text.find("1 edge ") == 0), pruned[0].text);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_without_redundant_edges_reports_none_pruned) {
  const rf::Graph graph = rf::capture([] {
    for (int i = 0; i < 3; ++i) rf::bench::empty(rf::current_stream());
  });
  BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::edges_pruned).empty());
}

BOOST_AUTO_TEST_CASE(every_wait_that_orders_two_commands_is_an_edge_or_follows_from_edges) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const RandomProgram program(seed, 5, 60);
    const auto& before = program.before();
    BOOST_REQUIRE(program.graph().node_count() == static_cast<int>(before.size()));
    const std::vector<rf::GraphNode> nodes = program.graph().nodes();
    // What the edges say, closed transitively.
    std::vector<std::set<int>> closed(nodes.size());
    for (const rf::GraphNode& node : nodes) {
      auto& mine = closed[static_cast<std::size_t>(node.id)];
      for (const int from : node.dependencies) {
        mine.insert(from);
        mine.insert(closed[static_cast<std::size_t>(from)].begin(), closed[static_cast<std::size_t>(from)].end());
      }
    }
    BOOST_TEST((closed == before), "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(no_edge_follows_from_the_others) {
  for (unsigned seed = 100; seed < 150; ++seed) {
    const RandomProgram program(seed, 4, 50);
    const auto& before = program.before();
    for (const rf::GraphNode& node : program.graph().nodes()) {
      BOOST_TEST(std::is_sorted(node.dependencies.begin(), node.dependencies.end()));
      for (const int a : node.dependencies) {
        for (const int b : node.dependencies) {
          BOOST_TEST(before[static_cast<std::size_t>(b)].count(a) == 0U,
                     "seed " << seed << ": " << a << " -> " << node.id << " follows from " << b);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(edge_count_is_the_number_of_dependencies) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const RandomProgram program(seed, 3, 40);
    BOOST_TEST(program.graph().edge_count() == static_cast<int>(rf::test::edges(program.graph()).size()));
  }
}

BOOST_AUTO_TEST_CASE(a_literal_executable_has_the_nodes_and_edges_as_written) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const RandomProgram program(seed, 4, 40);
    const rf::GraphExec exec = program.graph().instantiate({.optimize = rf::Optimize::none});
    BOOST_TEST(exec.node_count() == program.graph().node_count());
    BOOST_TEST(exec.edge_count() == program.graph().edge_count());
  }
}

// Inputs

BOOST_AUTO_TEST_CASE(inputs_are_the_outside_arrays_that_are_read_in_order_of_first_use) {
  const rf::Array first = rf::test::filled(1);
  const rf::Array second = rf::test::filled(2);
  rf::Array updated = rf::test::filled(3);
  rf::Array overwritten = rf::test::filled(4);
  const rf::Array unused = rf::test::filled(5);
  const rf::Graph graph = rf::capture([&] {
                            const rf::Array inner = second * 2 + first;
                            updated += inner;
                            overwritten.assign(second);
                            return unused.shape();
                          }).first;
  const std::vector<rf::Array> inputs = graph.inputs();
  BOOST_REQUIRE(inputs.size() == 3U);
  BOOST_TEST(rf::test::holds(inputs[0], 2));
  BOOST_TEST(rf::test::holds(inputs[1], 1));
  BOOST_TEST(rf::test::holds(inputs[2], 3));
  for (const rf::Array& input : inputs) BOOST_TEST((input.shape() == first.shape()));
}

BOOST_AUTO_TEST_CASE(writing_to_an_input_changes_what_the_next_replay_reads) {
  const rf::Array input = rf::test::filled(1);
  const auto [graph, output] = rf::capture([&] { return input + 1; });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  BOOST_TEST(rf::test::holds(output, 2));
  graph.inputs().at(0).assign(10);
  exec.replay();
  BOOST_TEST(rf::test::holds(output, 11));
  BOOST_TEST(rf::test::holds(input, 10));
}

// Errors

BOOST_AUTO_TEST_CASE(an_empty_graph_handle_is_refused) {
  const rf::Graph graph;
  BOOST_TEST(!graph.defined());
  require_error(rf::Errc::illegal_state, [&] { graph.node_count(); }, {"empty Graph"});
  require_error(rf::Errc::illegal_state, [&] { graph.edge_count(); });
  require_error(rf::Errc::illegal_state, [&] { graph.nodes(); });
  require_error(rf::Errc::illegal_state, [&] { graph.inputs(); });
  require_error(rf::Errc::illegal_state, [&] { graph.to_dot(); });
  require_error(rf::Errc::illegal_state, [&] { graph.diagnostics(); });
  require_error(rf::Errc::illegal_state, [&] { graph.instantiate(); });
  require_error(rf::Errc::illegal_state, [&] { graph.native(); });
}

BOOST_AUTO_TEST_CASE(an_empty_executable_handle_is_refused) {
  const rf::GraphExec exec;
  BOOST_TEST(!exec.defined());
  require_error(rf::Errc::illegal_state, [&] { exec.replay(); }, {"empty GraphExec"});
  require_error(rf::Errc::illegal_state, [&] { exec.replay(rf::Stream()); });
  require_error(rf::Errc::illegal_state, [&] { exec.node_count(); });
  require_error(rf::Errc::illegal_state, [&] { exec.edge_count(); });
  require_error(rf::Errc::illegal_state, [&] { exec.explain(); });
  require_error(rf::Errc::illegal_state, [&] { exec.explain_json(); });
  require_error(rf::Errc::illegal_state, [&] { exec.diagnostics(); });
  require_error(rf::Errc::illegal_state, [&] { exec.to_dot(); });
  require_error(rf::Errc::illegal_state, [&] { exec.native(); });
  require_error(rf::Errc::illegal_state, [&] { exec.native_graph(); });
}

BOOST_AUTO_TEST_CASE(native_graphs_are_given_on_cuda_and_refused_on_the_host) {
  const rf::Graph held_back = rf::capture([] { rf::bench::empty(rf::current_stream()); });
  const rf::Graph live = rf::capture([] { rf::bench::empty(rf::current_stream()); }, {.live = true});
  const rf::GraphExec exec = held_back.instantiate({.optimize = rf::Optimize::none});
  if (rf::current_device().kind == rf::DeviceKind::host) {
    require_error(rf::Errc::not_supported, [&] { held_back.native(); }, {"host"});
    require_error(rf::Errc::not_supported, [&] { live.native(); }, {"host"});
    require_error(rf::Errc::not_supported, [&] { exec.native(); }, {"host"});
    require_error(rf::Errc::not_supported, [&] { exec.native_graph(); }, {"host"});
    return;
  }
  require_error(rf::Errc::capture_unsupported, [&] { held_back.native(); },
                {"instantiate({.optimize = none}).native_graph()"});
  BOOST_TEST((live.native() != nullptr));
  BOOST_TEST((exec.native() != nullptr));
  BOOST_TEST((exec.native_graph() != nullptr));
}

// Reports

BOOST_AUTO_TEST_CASE(the_executable_explains_kept_outputs_and_what_the_capture_found) {
  const rf::Stream stream;
  int line = 0;
  auto [graph, kept] = rf::capture([&] {
    const rf::StreamGuard on(stream);
    const rf::Array temporary = rf::test::filled(1);
    line = __LINE__ + 1;
    return temporary + 1;
  });
  const rf::GraphExec exec = graph.instantiate();
  const auto outputs = of_kind(exec.diagnostics(), DiagnosticKind::output_kept);
  BOOST_REQUIRE(outputs.size() == 1U);
  const std::string place = "graph.cpp:" + std::to_string(line);
  BOOST_TEST((outputs[0].text.find(place) != std::string::npos), outputs[0].text);
  const std::string text = exec.explain();
  BOOST_TEST((text.find(place) != std::string::npos), text);
  for (const DiagnosticKind kind : {DiagnosticKind::forked, DiagnosticKind::joined}) {
    BOOST_TEST(of_kind(exec.diagnostics(), kind).size() == 1U);
    BOOST_TEST((text.find(to_string(kind)) != std::string::npos), text);
  }
}

BOOST_AUTO_TEST_CASE(warnings_of_a_capture_stand_in_the_explanation) {
  const rf::GraphExec exec = rf::capture([] { rf::current_stream().wait_event(rf::Event()); }).instantiate();
  const std::string text = exec.explain();
  for (const DiagnosticKind kind : {DiagnosticKind::empty_capture, DiagnosticKind::unarmed_wait}) {
    BOOST_TEST((text.find("warning " + std::string(to_string(kind))) != std::string::npos), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
