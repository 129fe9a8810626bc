// What an executable tells of itself.

#include "graph/exec.hpp"
#include "graph/json.hpp"
#include "runtime/buffer.hpp"
#include "runtime/command.hpp"

#include <initializer_list>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::order_mutex;
using runtime::OrderLock;

/// `[a,b,...]` of what `write` makes of each.
template <class All, class Write>
std::string array_of(const All& all, const Write& write) {
  std::string text = "[";
  for (const auto& each : all) text += (text.size() == 1 ? "" : ",") + write(each);
  return text + "]";
}

using Member = std::pair<const char*, std::string>;  // the value is JSON

std::string object_of(std::initializer_list<Member> members) {
  std::string text = "{";
  for (const auto& [name, value] : members) {
    text += (text.size() == 1 ? "" : ",") + json_string(name) + ":" + value;
  }
  return text + "}";
}

std::string place_of(SourceLocation where) {
  if (where.line == 0) return "null";
  return object_of({{"file", json_string(where.file)}, {"line", std::to_string(where.line)}});
}

std::string memory_of(Device device, std::int64_t bytes) {
  return object_of({{"device", json_string(device.str())}, {"bytes", std::to_string(bytes)}});
}

std::string finding_of(const Diagnostic& diagnostic, const Program& program) {
  const auto command = [&](int id) {
    const runtime::Command& named = program.nodes[static_cast<std::size_t>(id)].command;
    return object_of(
        {{"id", std::to_string(id)}, {"label", json_string(named.label)}, {"where", place_of(named.where)}});
  };
  return object_of({{"kind", json_string(to_string(diagnostic.kind))},
                    {"severity", diagnostic.severity == Severity::warning ? "\"warning\"" : "\"info\""},
                    {"text", json_string(diagnostic.text)},
                    {"commands", array_of(diagnostic.commands, command)}});
}

std::string node_of(std::size_t id, const runtime::Plan& plan) {
  const runtime::PlannedCommand& planned = plan.commands[id];
  const runtime::Command& command = *planned.command;
  const runtime::PlannedLane& lane = plan.lanes[static_cast<std::size_t>(planned.lane)];
  return object_of(
      {{"id", std::to_string(id)},
       {"label", json_string(command.label)},
       {"kind", json_string(runtime::kind_name(command.payload))},
       {"device", json_string(command.device.str())},
       {"stream", std::to_string(lane.stream_id)},
       {"where", place_of(command.where)},
       {"dependencies", array_of(planned.dependencies, [](int before) { return std::to_string(before); })}});
}

std::string outputs_of(const Program& program) {
  std::string text = "[";
  for (const runtime::BufferRef& buffer : program.made) {
    if (!is_output(*buffer.get())) continue;
    text += (text.size() == 1 ? "" : ",") + object_of({{"device", json_string(buffer->device().str())},
                                                       {"bytes", std::to_string(buffer->size_bytes())},
                                                       {"where", place_of(buffer->where())}});
  }
  return text + "]";
}

}  // namespace

std::vector<Diagnostic> Exec::diagnostics() const {
  std::vector<Diagnostic> all = state_.program->diagnostics;
  all.insert(all.end(), state_.diagnostics.begin(), state_.diagnostics.end());
  return all;
}

std::string Exec::explain() const {
  std::string text = state_.program->str() + " on " + state_.program->device.str() + ": " +
                     std::to_string(node_count()) + " nodes, " + std::to_string(edge_count()) + " edges, " +
                     (options_.optimize == Optimize::none ? "as written" : "optimised") +
                     (options_.math == Math::fast ? ", fast math" : "") + "\n";
  for (const Diagnostic& diagnostic : diagnostics()) {
    text += std::string(diagnostic.severity == Severity::warning ? "warning " : "") +
            std::string(to_string(diagnostic.kind)) + ": " + diagnostic.text + "\n";
  }
  return text;
}

std::string Exec::explain_json() const {
  const OrderLock lock(order_mutex());
  const runtime::Plan& plan = state_.plan;
  std::string nodes = "[";
  std::string edges = "[";
  for (std::size_t id = 0; id < plan.commands.size(); ++id) {
    nodes += (id == 0 ? "" : ",") + node_of(id, plan);
    for (const int before : plan.commands[id].dependencies) {
      edges += (edges.size() == 1 ? "[" : ",[") + std::to_string(before) + "," + std::to_string(id) + "]";
    }
  }
  const std::string arenas =
      array_of(plan.arenas, [](const runtime::PlannedArena& arena) { return memory_of(arena.device, arena.bytes); });
  const auto finding = [&](const Diagnostic& diagnostic) { return finding_of(diagnostic, *state_.program); };
  return object_of({{"graph", json_string(state_.program->str())},
                    {"device", json_string(state_.program->device.str())},
                    {"optimize", options_.optimize == Optimize::none ? "\"none\"" : "\"all\""},
                    {"math", options_.math == Math::fast ? "\"fast\"" : "\"exact\""},
                    {"nodes", nodes + "]"},
                    {"edges", edges + "]"},
                    {"diagnostics", array_of(diagnostics(), finding)},
                    {"memory", object_of({{"arenas", arenas}, {"outputs", outputs_of(*state_.program)}})}});
}

}  // namespace refrain::graph
