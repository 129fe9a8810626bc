#include <refrain/graph.hpp>

#include "graph/dot.hpp"
#include "graph/exec.hpp"
#include "graph/program.hpp"
#include "runtime/array_access.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>

#include <numeric>

namespace refrain {

namespace {

const graph::Program& program_of(const std::shared_ptr<graph::Program>& program, const char* call,
                                 SourceLocation where = {}) {
  if (program == nullptr) {
    throw Error(Errc::illegal_state, call, "an empty Graph", "holds no program; assign what capture returns", where);
  }
  return *program;
}

graph::Exec& exec_of(const std::shared_ptr<graph::Exec>& exec, const char* call, SourceLocation where = {}) {
  if (exec == nullptr) {
    throw Error(Errc::illegal_state, call, "an empty GraphExec", "holds nothing; assign what instantiate returns",
                where);
  }
  return *exec;
}

/// The executable, if CUDA has handles for it.
const runtime::Executable& native_of(const graph::Exec& exec, const char* call) {
  if (exec.program().device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, call, exec.program().str(), "a host device has no CUDA graph");
  }
  if (exec.executable().native() == nullptr) {
    throw Error(Errc::not_supported, call, exec.program().str(),
                "there is no CUDA graph under REFRAIN_EXECUTION=eager; unset the variable");
  }
  return exec.executable();
}

}  // namespace

int Graph::node_count() const { return static_cast<int>(program_of(program_, "node_count").nodes.size()); }

int Graph::edge_count() const {
  int edges = 0;
  for (const graph::Node& node : program_of(program_, "edge_count").nodes) {
    edges += static_cast<int>(node.dependencies.size());
  }
  return edges;
}

std::vector<GraphNode> Graph::nodes() const {
  const graph::Program& program = program_of(program_, "nodes");
  std::vector<GraphNode> nodes;
  for (const graph::Node& node : program.nodes) {
    const graph::LaneInfo& lane = program.lanes[static_cast<std::size_t>(node.lane)];
    nodes.push_back({static_cast<int>(nodes.size()), node.command.label,
                     node.child != nullptr ? "graph" : runtime::kind_name(node.command.payload), lane.stream_id,
                     lane.device, node.command.where, node.dependencies});
  }
  return nodes;
}

std::vector<Array> Graph::inputs() const {
  const graph::Program& program = program_of(program_, "inputs");
  std::vector<Array> arrays;
  for (const runtime::BufferRef& buffer : program.outside) {
    const bool is_read = std::any_of(program.nodes.begin(), program.nodes.end(), [&](const graph::Node& node) {
      return std::any_of(node.accesses.begin(), node.accesses.end(), [&](const runtime::Access& access) {
        return access.buffer == buffer.get() && access.mode == runtime::AccessMode::read;
      });
    });
    if (is_read) arrays.push_back(ArrayAccess::whole(*buffer.get()));
  }
  return arrays;
}

std::vector<Diagnostic> Graph::diagnostics() const { return program_of(program_, "diagnostics").diagnostics; }

std::string Graph::to_dot() const { return graph::to_dot(program_of(program_, "to_dot")); }

GraphExec Graph::instantiate(InstantiateOptions options, SourceLocation where) const {
  runtime::refuse_in_host_function("instantiate", where);
  program_of(program_, "instantiate", where);
  return GraphExec(graph::Exec::make(program_, options));
}

cudaGraph_t Graph::native() const {
  const graph::Program& program = program_of(program_, "native");
  if (program.device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, "native", program.str(), "a host device has no CUDA graph");
  }
  if (program.live == nullptr) {
    throw Error(Errc::capture_unsupported, "native", program.str(),
                "was held back, so there is no CUDA graph yet; use instantiate({.optimize = none}).native_graph(), or "
                "capture with CaptureOptions{.live = true}");
  }
  return program.live->native_graph();
}

void GraphExec::replay(SourceLocation where) const {
  graph::Exec& exec = exec_of(exec_, "replay", where);
  exec.replay(runtime::thread_stream(exec.program().device), where);
}

void GraphExec::replay(const Stream& stream, SourceLocation where) const {
  exec_of(exec_, "replay", where).replay(stream.core(), where);
}

int GraphExec::node_count() const { return exec_of(exec_, "node_count").node_count(); }
int GraphExec::edge_count() const { return exec_of(exec_, "edge_count").edge_count(); }

std::vector<Diagnostic> GraphExec::diagnostics() const {
  const graph::Exec& exec = exec_of(exec_, "diagnostics");
  std::vector<Diagnostic> all = exec.program().diagnostics;
  all.insert(all.end(), exec.diagnostics().begin(), exec.diagnostics().end());
  return all;
}

std::string GraphExec::explain() const {
  const graph::Exec& exec = exec_of(exec_, "explain");
  std::string text = exec.program().str() + " on " + exec.program().device.str() + ": " + std::to_string(node_count()) +
                     " nodes, " + std::to_string(edge_count()) + " edges, " +
                     (exec.options().optimize == Optimize::none ? "as written" : "optimised") + "\n";
  for (const Diagnostic& diagnostic : diagnostics()) {
    text += std::string(diagnostic.severity == Severity::warning ? "warning " : "") +
            std::string(to_string(diagnostic.kind)) + ": " + diagnostic.text + "\n";
  }
  return text;
}

std::string GraphExec::to_dot() const { return graph::to_dot(exec_of(exec_, "to_dot").program()); }

cudaGraphExec_t GraphExec::native() const { return native_of(exec_of(exec_, "native"), "native").native(); }

cudaGraph_t GraphExec::native_graph() const {
  return native_of(exec_of(exec_, "native_graph"), "native_graph").native_graph();
}

}  // namespace refrain
