#include "graph/dot.hpp"

#include "graph/program.hpp"

#include <sstream>

namespace refrain::graph {

namespace {

/// Text inside a quoted DOT string: quotes and backslashes are escaped, line ends become \n.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string to_dot(const Program& program) {
  std::ostringstream out;
  out << "digraph " << quoted(program.str()) << " {\n  node [shape=box];\n";
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const LaneInfo& info = program.lanes[lane];
    out << "  subgraph cluster_" << lane << " {\n    label="
        << quoted("stream " + std::to_string(info.stream_id) + " on " + info.device.str() + ", priority " +
                  std::to_string(info.priority))
        << ";\n";
    for (std::size_t id = 0; id < program.nodes.size(); ++id) {
      const Node& node = program.nodes[id];
      if (node.lane != static_cast<int>(lane)) continue;
      std::string label = std::to_string(id) + " " + node.command.label;
      if (node.command.where.line != 0) label += "\n" + node.command.where.str();
      out << "    n" << id << " [label=" << quoted(label) << "];\n";
    }
    out << "  }\n";
  }
  for (std::size_t id = 0; id < program.nodes.size(); ++id) {
    for (const int from : program.nodes[id].dependencies) out << "  n" << from << " -> n" << id << ";\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace refrain::graph
