#pragma once

#include <refrain/array.hpp>
#include <refrain/diagnostics.hpp>
#include <refrain/native.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

#include <memory>
#include <string>
#include <vector>

namespace refrain {

namespace graph {
class Program;
class Exec;
}  // namespace graph

/// How much a graph is optimised when it is instantiated.
enum class Optimize : std::uint8_t {
  none,  ///< literal: every node and edge of the program as written, every stream a branch
  all,   ///< every pass
};

struct InstantiateOptions {
  Optimize optimize = Optimize::all;
};

/// One command of a graph, as the program issued it.
struct GraphNode {
  int id = 0;                ///< its place in issue order
  std::string label;         ///< the op, e.g. "add"
  std::string kind;          ///< the kind of command, e.g. "elementwise"
  std::uint64_t stream = 0;  ///< `Stream::id()` of the stream it was issued on
  Device device;
  SourceLocation where;
  std::vector<int> dependencies;  ///< the nodes it waits for, transitively reduced, ascending
};

class GraphExec;

/// A program as written: an immutable graph of commands and dependencies. A handle; an empty one holds nothing.
/// May be used from any thread.
class Graph {
 public:
  Graph() = default;

  bool defined() const noexcept { return program_ != nullptr; }
  int node_count(SourceLocation where = SourceLocation::current()) const;
  int edge_count(SourceLocation where = SourceLocation::current()) const;
  std::vector<GraphNode> nodes(SourceLocation where = SourceLocation::current()) const;
  /// The arrays from outside that the program reads, in order of first use.
  std::vector<Array> inputs(SourceLocation where = SourceLocation::current()) const;
  /// What the capture found: forked and joined streams, added orders, pruned edges, kept outputs.
  std::vector<Diagnostic> diagnostics(SourceLocation where = SourceLocation::current()) const;
  /// The graph as Graphviz text, streams as clusters.
  std::string to_dot(SourceLocation where = SourceLocation::current()) const;

  /// Optimises, plans memory and lowers to the device; the graph itself stays as it is.
  /// @throws Error(Errc::out_of_memory), Error(Errc::illegal_state) on an empty handle
  GraphExec instantiate(InstantiateOptions options = {}, SourceLocation where = SourceLocation::current()) const;

  /// The captured CUDA graph of a live capture. Launched by other code it is outside Refrain's order and random
  /// numbers.
  /// @throws Error(Errc::not_supported) on a host device; capture_unsupported when the capture was not live, naming
  ///         `instantiate({.optimize = none}).native_graph()`
  cudaGraph_t native(SourceLocation where = SourceLocation::current()) const;

  const std::shared_ptr<graph::Program>& program() const noexcept { return program_; }

 private:
  friend class Capture;
  explicit Graph(std::shared_ptr<graph::Program> program) : program_(std::move(program)) {}

  std::shared_ptr<graph::Program> program_;
};

/// A graph made ready to run. Executables of one graph are ordered one after another. A handle; may be used from any
/// thread, and may be destroyed while a replay is in flight.
class GraphExec {
 public:
  GraphExec() = default;

  bool defined() const noexcept { return exec_ != nullptr; }

  /// Runs the whole program once on the stream, as one command: it reads the graph's inputs and writes its outputs.
  /// Returns before it has run. Random draws continue the generator's sequence as eager calls would.
  /// @throws Error(Errc::illegal_state) on an empty handle
  void replay(SourceLocation where = SourceLocation::current()) const;
  void replay(const Stream& stream, SourceLocation where = SourceLocation::current()) const;

  /// Nodes and edges of the executable as planned.
  int node_count(SourceLocation where = SourceLocation::current()) const;
  int edge_count(SourceLocation where = SourceLocation::current()) const;
  /// What was planned and why, one finding a line; kept outputs with their lines.
  std::string explain(SourceLocation where = SourceLocation::current()) const;
  std::vector<Diagnostic> diagnostics(SourceLocation where = SourceLocation::current()) const;
  /// The planned graph as Graphviz text.
  std::string to_dot(SourceLocation where = SourceLocation::current()) const;

  /// The CUDA executable and the CUDA graph that it was made from. Launched by other code they are outside Refrain's
  /// order and random numbers.
  /// @throws Error(Errc::not_supported) on a host device
  cudaGraphExec_t native(SourceLocation where = SourceLocation::current()) const;
  cudaGraph_t native_graph(SourceLocation where = SourceLocation::current()) const;

 private:
  friend class Graph;
  explicit GraphExec(std::shared_ptr<graph::Exec> exec) : exec_(std::move(exec)) {}

  std::shared_ptr<graph::Exec> exec_;
};

}  // namespace refrain
