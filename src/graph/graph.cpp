#include <refrain/graph.hpp>

#include "graph/dot.hpp"
#include "graph/exec.hpp"
#include "graph/program.hpp"
#include "runtime/array_access.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>
#include <refrain/launch.hpp>

#include <numeric>

namespace refrain {

namespace {

const graph::Program& program_of(const std::shared_ptr<graph::Program>& program, const char* call,
                                 SourceLocation where) {
  if (program == nullptr) {
    throw Error(Errc::illegal_state, call, "an empty Graph", "holds no program; assign what capture returns", where);
  }
  return *program;
}

graph::Exec& exec_of(const std::shared_ptr<graph::Exec>& exec, const char* call, SourceLocation where) {
  if (exec == nullptr) {
    throw Error(Errc::illegal_state, call, "an empty GraphExec", "holds nothing; assign what instantiate returns",
                where);
  }
  return *exec;
}

/// The executable, if CUDA has handles for it.
const runtime::Executable& native_of(const graph::Exec& exec, const char* call, SourceLocation where) {
  if (exec.program().device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, call, exec.program().str(),
                "a host device has no CUDA graph; capture on a CUDA device for one", where);
  }
  if (exec.executable().native() == nullptr) {
    throw Error(Errc::not_supported, call, exec.program().str(),
                "there is no CUDA graph under REFRAIN_EXECUTION=eager; unset the variable", where);
  }
  return exec.executable();
}

}  // namespace

int Graph::node_count(SourceLocation where) const {
  return static_cast<int>(program_of(program_, "node_count", where).nodes.size());
}

int Graph::edge_count(SourceLocation where) const {
  int edges = 0;
  for (const graph::Node& node : program_of(program_, "edge_count", where).nodes) {
    edges += static_cast<int>(node.dependencies.size());
  }
  return edges;
}

std::vector<GraphNode> Graph::nodes(SourceLocation where) const {
  const graph::Program& program = program_of(program_, "nodes", where);
  std::vector<GraphNode> nodes;
  for (const graph::Node& node : program.nodes) {
    const graph::LaneInfo& lane = program.lanes[static_cast<std::size_t>(node.lane)];
    nodes.push_back({static_cast<int>(nodes.size()), node.command.label,
                     node.child != nullptr ? "graph" : runtime::kind_name(node.command.payload), lane.stream_id,
                     lane.device, node.command.where, node.dependencies});
  }
  return nodes;
}

std::vector<Array> Graph::inputs(SourceLocation where) const {
  const graph::Program& program = program_of(program_, "inputs", where);
  std::vector<Array> arrays;
  for (const runtime::BufferRef& buffer : program.outside) {
    if (!buffer->is_array) continue;
    const bool is_read = std::any_of(program.nodes.begin(), program.nodes.end(), [&](const graph::Node& node) {
      return std::any_of(node.accesses.begin(), node.accesses.end(), [&](const runtime::Access& access) {
        return access.buffer == buffer.get() && access.mode == runtime::AccessMode::read;
      });
    });
    if (is_read) arrays.push_back(ArrayAccess::whole(*buffer.get()));
  }
  return arrays;
}

std::vector<Diagnostic> Graph::diagnostics(SourceLocation where) const {
  return program_of(program_, "diagnostics", where).diagnostics;
}

std::string Graph::to_dot(SourceLocation where) const { return graph::to_dot(program_of(program_, "to_dot", where)); }

GraphExec Graph::instantiate(InstantiateOptions options, SourceLocation where) const {
  runtime::refuse_in_callback("instantiate", where);
  program_of(program_, "instantiate", where);
  return GraphExec(graph::Exec::make(program_, options, where));
}

cudaGraph_t Graph::native(SourceLocation where) const {
  const graph::Program& program = program_of(program_, "native", where);
  if (program.device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, "native", program.str(),
                "a host device has no CUDA graph; capture on a CUDA device for one", where);
  }
  if (program.live == nullptr) {
    throw Error(Errc::capture_unsupported, "native", program.str(),
                "was held back, so there is no CUDA graph yet; use instantiate({.optimize = none}).native_graph(), or "
                "capture with CaptureOptions{.live = true}",
                where);
  }
  return program.live->native_graph();
}

void GraphExec::replay(SourceLocation where) const {
  graph::Exec& exec = exec_of(exec_, "replay", where);
  exec.replay(runtime::thread_stream(exec.program().device), where);
}

void GraphExec::replay(const Stream& stream, SourceLocation where) const {
  exec_of(exec_, "replay", where).replay(stream.core(where), where);
}

void GraphExec::set_parameter(const detail::ParameterState& parameter, const void* value, SourceLocation where) const {
  runtime::refuse_in_callback("set", where);
  exec_of(exec_, "set", where).set_parameter(parameter, value, where);
}

void GraphExec::set(std::string_view label, const LaunchConfig& config) const {
  runtime::refuse_in_callback("set", config.where);
  exec_of(exec_, "set", config.where).set_config(label, config);
}

void GraphExec::enable(std::string_view label, bool is_enabled, SourceLocation where) const {
  runtime::refuse_in_callback("enable", where);
  exec_of(exec_, "enable", where).enable(label, is_enabled, where);
}

void GraphExec::bind(const Array& recorded, const Array& array, SourceLocation where) const {
  runtime::refuse_in_callback("bind", where);
  exec_of(exec_, "bind", where).bind(recorded, array, where);
}

void GraphExec::bind(const void* recorded, void* address, SourceLocation where) const {
  runtime::refuse_in_callback("bind", where);
  exec_of(exec_, "bind", where).bind(recorded, address, where);
}

Array GraphExec::output(const Array& recorded, SourceLocation where) const {
  return exec_of(exec_, "output", where).output(recorded, where);
}

GraphUpdate GraphExec::update(const Graph& graph, SourceLocation where) const {
  runtime::refuse_in_callback("update", where);
  program_of(graph.program(), "update", where);
  return exec_of(exec_, "update", where).update(graph.program(), where);
}

GraphExec GraphExec::clone(SourceLocation where) const {
  runtime::refuse_in_callback("clone", where);
  return GraphExec(exec_of(exec_, "clone", where).clone(where));
}

int GraphExec::node_count(SourceLocation where) const { return exec_of(exec_, "node_count", where).node_count(); }
int GraphExec::edge_count(SourceLocation where) const { return exec_of(exec_, "edge_count", where).edge_count(); }

ArenaUse GraphExec::arena_use(SourceLocation where) const { return exec_of(exec_, "arena_use", where).arena_use(); }

std::vector<Diagnostic> GraphExec::diagnostics(SourceLocation where) const {
  return exec_of(exec_, "diagnostics", where).diagnostics();
}

std::string GraphExec::explain(SourceLocation where) const { return exec_of(exec_, "explain", where).explain(); }

std::string GraphExec::explain_json(SourceLocation where) const {
  return exec_of(exec_, "explain_json", where).explain_json();
}

std::string GraphExec::to_dot(SourceLocation where) const { return exec_of(exec_, "to_dot", where).to_dot(); }

cudaGraphExec_t GraphExec::native(SourceLocation where) const {
  return native_of(exec_of(exec_, "native", where), "native", where).native();
}

cudaGraph_t GraphExec::native_graph(SourceLocation where) const {
  return native_of(exec_of(exec_, "native_graph", where), "native_graph", where).native_graph();
}

}  // namespace refrain
