#include "support.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::Edges;
using rf::test::live_modes;

namespace {

/// What a DOT text says; clusters by name, with their nodes.
struct Dot {
  std::map<std::string, std::string> labels;  ///< of nodes
  std::map<std::string, std::set<std::string>> clusters;
  std::map<std::string, std::string> cluster_labels;
  std::vector<std::pair<std::string, std::string>> edges;
};

/// Reads the part of the DOT language that directed graphs with clusters need, strictly: anything else throws.
class DotParser {
 public:
  explicit DotParser(std::string text) : text_(std::move(text)) {}

  Dot parse() {
    expect("digraph");
    if (peek() != "{") next();
    statements("");
    if (!peek().empty()) fail("text after the graph");
    return dot_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("DOT: " + what + " at " + std::to_string(at_) + ", before: " + text_.substr(at_, 40));
  }

  void statements(const std::string& cluster) {
    expect("{");
    while (peek() != "}") statement(cluster);
    expect("}");
  }

  void statement(const std::string& cluster) {
    const std::string name = next();
    if (name == ";") return;
    if (name == "subgraph") {
      const std::string inner = next();
      statements(inner);
    } else if (peek() == "=") {
      next();
      const std::string value = next();
      if (name == "label") dot_.cluster_labels[cluster] = value;
    } else if (peek() == "->") {
      next();
      dot_.edges.emplace_back(name, next());
      attributes();
    } else {
      const auto given = attributes();
      if (name == "node" || name == "edge" || name == "graph") return;
      if (!dot_.labels.emplace(name, given.count("label") != 0U ? given.at("label") : name).second) {
        fail("node " + name + " stands twice");
      }
      if (!cluster.empty()) dot_.clusters[cluster].insert(name);
    }
  }

  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> given;
    if (peek() != "[") return given;
    next();
    while (peek() != "]") {
      const std::string key = next();
      expect("=");
      given[key] = next();
      if (peek() == "," || peek() == ";") next();
    }
    next();
    return given;
  }

  std::string peek() {
    const std::size_t before = at_;
    std::string token = next();
    at_ = before;
    return token;
  }

  void expect(const std::string& token) {
    if (next() != token) fail("expected " + token);
  }

  /// A name, a number, a quoted string without its quotes and escapes, or a sign; empty at the end.
  std::string next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == text_.size()) return {};
    if (text_.compare(at_, 2, "->") == 0) {
      at_ += 2;
      return "->";
    }
    if (text_[at_] == '"') return quoted();
    if (std::string_view("{}[]=;,").find(text_[at_]) != std::string_view::npos) return {text_[at_++]};
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    if (at_ == begin) fail("a character that DOT does not know");
    return text_.substr(begin, at_ - begin);
  }

  std::string quoted() {
    std::string text;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return text;
      }
      if (text_[at_] == '\n') fail("a line end in a string");
      if (text_[at_] == '\\') {
        if (++at_ == text_.size()) break;
        text += text_[at_] == 'n' ? '\n' : text_[at_];
      } else {
        text += text_[at_];
      }
    }
    fail("a string without end");
  }

  std::string text_;
  std::size_t at_ = 0;
  Dot dot_;
};

/// The names of the nodes by the node number that their label begins with.
std::map<std::string, int> numbers(const Dot& dot) {
  std::map<std::string, int> found;
  for (const auto& [name, text] : dot.labels) found[name] = std::stoi(text);
  return found;
}

/// Parses the graph's text, which must have its nodes, edges and streams.
Dot checked(const rf::Graph& graph) {
  const Dot dot = DotParser(graph.to_dot()).parse();
  BOOST_TEST(static_cast<int>(dot.labels.size()) == graph.node_count());
  BOOST_TEST(static_cast<int>(dot.edges.size()) == graph.edge_count());
  const auto number = numbers(dot);
  Edges edges;
  for (const auto& [from, to] : dot.edges) edges.emplace_back(number.at(from), number.at(to));
  std::sort(edges.begin(), edges.end());
  BOOST_TEST((edges == rf::test::edges(graph)));
  return dot;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graph_dot)

BOOST_AUTO_TEST_CASE(a_graph_without_nodes_is_valid_dot, *label("report-62")) {
  const Dot dot = checked(rf::capture([] {}));
  BOOST_TEST(dot.labels.empty());
}

BOOST_AUTO_TEST_CASE(nodes_carry_their_ops_and_places, *label("report-62")) {
  const rf::Array input = rf::test::filled(1);
  const auto [graph, result] = rf::capture([&] { return (input + 1) * 2; });
  const Dot dot = checked(graph);
  for (const auto& [name, number] : numbers(dot)) {
    const rf::GraphNode node = graph.nodes().at(static_cast<std::size_t>(number));
    BOOST_TEST((dot.labels.at(name).find(node.label) != std::string::npos), dot.labels.at(name));
    BOOST_TEST((dot.labels.at(name).find("graph_dot.cpp:" + std::to_string(node.where.line)) != std::string::npos),
               dot.labels.at(name));
  }
}

BOOST_AUTO_TEST_CASE(special_characters_in_names_survive, *label("report-62")) {
  constexpr std::array<const char*, 8> files = {
      "with space.cpp", "quote\".cpp", "back\\slash.cpp",      "<angle>{brace}|bar.cpp", "line\nend.cpp",
      "trailing\\",     "\"",          "semi;colon->[x=1].cpp"};
  const rf::Graph graph = rf::capture([&] {
    for (const char* file : files) rf::bench::empty(rf::current_stream(), {file, 7});
  });
  const Dot dot = checked(graph);
  for (const auto& [name, number] : numbers(dot)) {
    const std::string wanted = std::string(files.at(static_cast<std::size_t>(number))) + ":7";
    BOOST_TEST((dot.labels.at(name).find(wanted) != std::string::npos), dot.labels.at(name));
  }
}

BOOST_AUTO_TEST_CASE(a_fork_of_fifty_is_drawn_whole, *label("report-62") * label("conformance-29")) {
  constexpr int branches = 50;
  for (const bool live : live_modes) {
    const rf::Stream origin;
    std::vector<rf::Stream> forked(branches);
    const rf::Graph graph = rf::capture(origin,
                                        [&] {
                                          rf::bench::empty(origin);
                                          const rf::Event fork = origin.record_event();
                                          for (const rf::Stream& stream : forked) {
                                            stream.wait_event(fork);
                                            rf::bench::empty(stream);
                                            origin.wait_event(stream.record_event());
                                          }
                                          rf::bench::empty(origin);
                                        },
                                        {.live = live});
    const Dot dot = checked(graph);
    BOOST_TEST(dot.labels.size() == branches + 2U);
    BOOST_TEST(dot.edges.size() == 2U * branches);
  }
}

BOOST_AUTO_TEST_CASE(streams_are_clusters_with_their_nodes, *label("report-62")) {
  const rf::Stream first;
  const rf::Stream second;
  const rf::Graph graph = rf::capture([&] {
    rf::bench::empty(first);
    second.wait_stream(first);
    rf::bench::empty(second);
    rf::bench::empty(second);
  });
  const Dot dot = checked(graph);
  const auto number = numbers(dot);
  std::map<std::string, std::set<int>> by_label;
  for (const auto& [cluster, names] : dot.clusters) {
    for (const std::string& name : names) by_label[dot.cluster_labels.at(cluster)].insert(number.at(name));
  }
  BOOST_REQUIRE(by_label.size() == 2U);
  for (const auto& [stream, nodes] : {std::pair{first, std::set<int>{0}}, std::pair{second, std::set<int>{1, 2}}}) {
    const std::string wanted = "stream " + std::to_string(stream.id()) + " ";
    const bool found = std::any_of(by_label.begin(), by_label.end(), [&, &nodes = nodes](const auto& entry) {
      return entry.first.find(wanted) != std::string::npos && entry.second == nodes;
    });
    BOOST_TEST(found, wanted << graph.to_dot());
  }
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_is_drawn_as_an_edge, *label("report-62")) {
  const rf::Stream producer;
  const rf::Stream consumer;
  const rf::Graph graph = rf::capture([&] {
    rf::bench::empty(producer);
    const rf::Event event = producer.record_event();
    consumer.wait_event(event);
    rf::bench::empty(consumer);
  });
  BOOST_TEST(checked(graph).edges.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_planned_graph_is_drawn_with_the_executables_nodes_and_edges) {
  const rf::Array input = rf::test::filled(1);
  const rf::Stream stream;
  const auto [graph, result] = rf::capture([&] {
    const rf::Array a = input * 2;
    const rf::StreamGuard on(stream);
    return input + 3;
  });
  for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
    const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
    const Dot dot = DotParser(exec.to_dot()).parse();
    BOOST_TEST(static_cast<int>(dot.labels.size()) == exec.node_count());
    BOOST_TEST(static_cast<int>(dot.edges.size()) == exec.edge_count());
  }
}

BOOST_AUTO_TEST_SUITE_END()
