// GraphExec::explain_json: the same as explain(), for programs.

#include "support.hpp"
#include "support_json.hpp"
#include "support_views.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

JsonValue explained(const GraphExec& exec) { return JsonValue::parse(exec.explain_json()); }

constexpr InstantiateOptions literal{.optimize = Optimize::none};

}  // namespace

BOOST_AUTO_TEST_SUITE(explanations, *label("sanitize"))

BOOST_AUTO_TEST_CASE(json_names_graph_device_and_options) {
  const Graph graph = capture([] { return wave({100}) * 2; }).first;
  const JsonValue all = explained(graph.instantiate());
  const std::set<std::string> wanted = {"graph", "device", "optimize",    "math",
                                        "nodes", "edges",  "diagnostics", "memory"};
  std::set<std::string> names;
  for (const auto& [name, value] : all.members) names.insert(name);
  BOOST_TEST(names == wanted, boost::test_tools::per_element());
  const std::string text = graph.instantiate().explain();
  BOOST_TEST(text.starts_with(all["graph"].text + " on " + all["device"].text), text);
  BOOST_TEST(all["device"].text == current_device().str());
  BOOST_TEST(all["optimize"].text == "all");
  BOOST_TEST(all["math"].text == "exact");
  BOOST_TEST(explained(graph.instantiate(literal))["optimize"].text == "none");
  BOOST_TEST(explained(graph.instantiate({.math = Math::fast}))["math"].text == "fast");
}

BOOST_AUTO_TEST_CASE(json_has_nodes_and_edges_as_planned) {
  const Array x = wave({100});
  const Stream side;
  Event ready;
  int line = 0;
  const auto [graph, result] = capture([&] {
    const Array doubled = x * 2;
    ready.record();
    const StreamGuard on(side);
    side.wait_event(ready);
    line = __LINE__ + 1;
    const Array moved = doubled + 1;
    return moved - doubled;
  });
  for (const InstantiateOptions options : {literal, InstantiateOptions{}}) {
    const GraphExec exec = graph.instantiate(options);
    const JsonValue all = explained(exec);
    const JsonValue& nodes = all["nodes"];
    BOOST_TEST(nodes.size() == static_cast<std::size_t>(exec.node_count()));
    BOOST_TEST(all["edges"].size() == static_cast<std::size_t>(exec.edge_count()));
    std::set<std::pair<double, double>> edges;
    for (const JsonValue& edge : all["edges"].items) edges.emplace(edge[0].number, edge[1].number);
    std::set<std::pair<double, double>> dependencies;
    for (const JsonValue& node : nodes.items) {
      for (const JsonValue& before : node["dependencies"].items) {
        dependencies.emplace(before.number, node["id"].number);
      }
    }
    BOOST_TEST((edges == dependencies));
  }
  const JsonValue written = explained(graph.instantiate(literal));
  BOOST_TEST_REQUIRE(written["nodes"].size() == 3U);
  const JsonValue& node = written["nodes"][1];
  BOOST_TEST(node["id"].number == 1);
  BOOST_TEST(node["label"].text == "add");
  BOOST_TEST(node["kind"].text == "elementwise");
  BOOST_TEST(node["device"].text == current_device().str());
  BOOST_TEST(node["stream"].number == static_cast<double>(side.id()));
  BOOST_TEST(node["where"]["file"].text.ends_with("explanations.cpp"));
  BOOST_TEST(node["where"]["line"].number == line);
}

BOOST_AUTO_TEST_CASE(json_has_every_finding_with_its_commands) {
  Array x = wave({100});
  const Stream side;
  const auto [graph, results] = capture([&] {
    current_stream().wait_event(Event());
    x += 1;
    const StreamGuard on(side);
    return std::vector<Array>{x * 2, x + 3};
  });
  const GraphExec exec = graph.instantiate();
  const std::vector<Diagnostic> findings = exec.diagnostics();
  const JsonValue all = explained(exec);
  const JsonValue& told = all["diagnostics"];
  BOOST_TEST_REQUIRE(told.size() == findings.size());
  const std::vector<GraphNode> nodes = graph.nodes();
  bool has_warning = false;
  std::size_t named = 0;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Diagnostic& finding = findings[i];
    BOOST_TEST(told[i]["kind"].text == to_string(finding.kind));
    BOOST_TEST(told[i]["text"].text == finding.text);
    const bool is_warning = finding.severity == Severity::warning;
    BOOST_TEST(told[i]["severity"].text == (is_warning ? "warning" : "info"));
    has_warning = has_warning || is_warning;
    BOOST_TEST_REQUIRE(told[i]["commands"].size() == finding.commands.size());
    for (std::size_t k = 0; k < finding.commands.size(); ++k, ++named) {
      const JsonValue& command = told[i]["commands"][k];
      const GraphNode& node = nodes[static_cast<std::size_t>(finding.commands[k])];
      BOOST_TEST(command["id"].number == node.id);
      BOOST_TEST(command["label"].text == node.label);
      BOOST_TEST(command["where"]["file"].text == node.where.file);
      BOOST_TEST(command["where"]["line"].number == node.where.line);
    }
  }
  BOOST_TEST(has_warning);
  BOOST_TEST(named > 0U);
}

BOOST_AUTO_TEST_CASE(json_has_the_memory_of_temporaries_and_outputs) {
  const Array x = wave({1000});
  int line = 0;
  const auto [graph, result] = capture([&] {
    const Array temporary = exp(x);
    line = __LINE__ + 1;
    return temporary.cast(DType::float64);
  });
  const JsonValue memory = explained(graph.instantiate(literal))["memory"];
  BOOST_TEST_REQUIRE(memory["arenas"].size() == 1U);
  BOOST_TEST(memory["arenas"][0]["device"].text == current_device().str());
  BOOST_TEST(memory["arenas"][0]["bytes"].number >= 4000);
  BOOST_TEST(memory["arenas"][0]["bytes"].number < 8000);
  BOOST_TEST_REQUIRE(memory["outputs"].size() == 1U);
  BOOST_TEST(memory["outputs"][0]["device"].text == current_device().str());
  BOOST_TEST(memory["outputs"][0]["bytes"].number == 8000);
  BOOST_TEST(memory["outputs"][0]["where"]["line"].number == line);
  BOOST_TEST(explained(capture([&] { return x * 2; }).first.instantiate())["memory"]["arenas"].size() == 0U);
}

BOOST_AUTO_TEST_CASE(json_keeps_any_name_and_says_where_nothing_is_known) {
  const Array x = wave({10});
  const std::string name = "a \"b\"\\c\n\t\x01\x7f \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80.cpp";
  const SourceLocation strange{name.c_str(), 7};
  const auto [graph, results] = capture([&] {
    return std::vector<Array>{exp(x, strange), log(x, {"\xFF", 8}), sqrt(x, {"", 0})};
  });
  const JsonValue all = explained(graph.instantiate(literal));
  BOOST_TEST(all["nodes"][0]["where"]["file"].text == name);
  BOOST_TEST(all["nodes"][0]["where"]["line"].number == 7);
  BOOST_TEST(all["nodes"][1]["where"]["file"].text == "\xEF\xBF\xBD");
  BOOST_TEST((all["nodes"][2]["where"].kind == JsonValue::Kind::null));
  BOOST_TEST(graph.instantiate(literal).explain_json().find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(json_of_an_empty_graph_and_of_an_updated_executable) {
  const GraphExec exec = capture([] {}).instantiate();
  BOOST_TEST(explained(exec)["nodes"].size() == 0U);
  const auto [graph, result] = capture([] { return wave({10}) + 1; });
  exec.update(graph);
  BOOST_TEST(explained(exec)["nodes"].size() == static_cast<std::size_t>(exec.node_count()));
  require_error(Errc::illegal_state, [] { GraphExec().explain_json(); }, {"empty GraphExec"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
