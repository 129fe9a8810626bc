#include "graph/dot.hpp"

#include "graph/program.hpp"
#include "runtime/plan.hpp"

#include <sstream>
#include <vector>

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

/// Writes clusters, nodes and edges; `commands` have lane and dependencies, `command_of` gives their commands.
template <class Commands, class CommandOf>
std::string write(const std::string& name, const std::vector<std::string>& lanes, const Commands& commands,
                  CommandOf command_of) {
  std::ostringstream out;
  out << "digraph " << quoted(name) << " {\n  node [shape=box];\n";
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    out << "  subgraph cluster_" << lane << " {\n    label=" << quoted(lanes[lane]) << ";\n";
    for (std::size_t id = 0; id < commands.size(); ++id) {
      if (commands[id].lane != static_cast<int>(lane)) continue;
      const runtime::Command& command = command_of(commands[id]);
      std::string label = std::to_string(id) + " " + command.label;
      if (command.where.line != 0) label += "\n" + command.where.str();
      out << "    n" << id << " [label=" << quoted(label) << "];\n";
    }
    out << "  }\n";
  }
  for (std::size_t id = 0; id < commands.size(); ++id) {
    for (const int from : commands[id].dependencies) out << "  n" << from << " -> n" << id << ";\n";
  }
  out << "}\n";
  return out.str();
}

/// `lane`: a LaneInfo or a PlannedLane.
template <class Lane>
std::string describe(const Lane& lane) {
  return "stream " + std::to_string(lane.stream_id) + " on " + lane.device.str() + ", priority " +
         std::to_string(lane.priority);
}

}  // namespace

std::string to_dot(const Program& program) {
  std::vector<std::string> lanes;
  for (const LaneInfo& lane : program.lanes) lanes.push_back(describe(lane));
  return write(program.str(), lanes, program.nodes,
               [](const Node& node) -> const runtime::Command& { return node.command; });
}

std::string to_dot(const runtime::Plan& plan, const std::string& name) {
  std::vector<std::string> lanes;
  for (const runtime::PlannedLane& lane : plan.lanes) lanes.push_back(describe(lane));
  return write(name, lanes, plan.commands,
               [](const runtime::PlannedCommand& planned) -> const runtime::Command& { return *planned.command; });
}

}  // namespace refrain::graph
