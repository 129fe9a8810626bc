#pragma once

#include <refrain/array.hpp>
#include <refrain/diagnostics.hpp>
#include <refrain/native.hpp>
#include <refrain/param.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace refrain {

struct LaunchConfig;

namespace graph {
class ArenaRoom;
struct Program;
class Exec;
}  // namespace graph

/// How much a graph is optimised when it is instantiated.
enum class Optimize : std::uint8_t {
  none,  ///< literal: every node and edge of the program as written, every stream a branch
  all,   ///< every pass
};

/// Which passes run, of Optimize::all. Each keeps the program's results bit for bit in Math::exact.
struct Passes {
  bool dead_work = true;     ///< commands whose results nothing can read are left out
  bool order = true;         ///< only what conflicts keeps its order
  bool fusion = true;        ///< commands over the same positions, or of their rows, become one
  bool scalars = true;       ///< values of one element are computed in the commands that read them
  bool horizontal = true;    ///< small elementwise commands that may run at once become one
  bool lanes = true;         ///< independent commands run in as many branches as pay
  bool memory = true;        ///< temporaries whose lives do not meet share memory
  bool in_place = true;      ///< a value takes the place of one that it is the last to be made from
  bool programmatic = true;  ///< on CUDA, a small kernel is launched while the one before it still runs
};

/// Room for the temporaries of executables of any graphs: make the largest first, and the rest fits. Replays that share
/// it are ordered one after another, on whatever streams they are. A handle: copies name the same room, each new pool
/// is room of its own. May be used from any thread.
///
/// Executables of one Graph share room without being told to; `clone()` has its own.
class ArenaPool {
 public:
  ArenaPool();

  const std::shared_ptr<graph::ArenaRoom>& room() const noexcept { return room_; }
  friend bool operator==(const ArenaPool&, const ArenaPool&) = default;

 private:
  std::shared_ptr<graph::ArenaRoom> room_;
};

/// How fused commands calculate.
enum class Math : std::uint8_t {
  exact,  ///< every op rounds its result, as when it runs alone: bit for bit what eager calls give
  /// In fused commands `a * b + c` may be one fused multiply-add, which rounds once, and float32 rows are summed in
  /// float32; nothing else. Results differ by rounding, also with what is fused. On host devices: the exact values.
  fast,
};

struct InstantiateOptions {
  Optimize optimize = Optimize::all;
  Passes passes = {};
  Math math = Math::exact;                ///< updates and clones of the executable keep it
  const ArenaPool* arena_pool = nullptr;  ///< shared with executables of other graphs; read by `instantiate` alone
};

/// Bytes of an executable's temporaries, on all devices together. Outputs and arrays whose address was taken have
/// blocks of their own and are no part of it.
struct ArenaUse {
  std::int64_t size_bytes = 0;   ///< of the arena as planned; shared room may be larger
  std::int64_t live_bytes = 0;   ///< the largest sum of temporaries in use at once along the plan's order
  std::int64_t total_bytes = 0;  ///< of all temporaries, were none to share
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

/// What `GraphExec::update` did.
struct GraphUpdate {
  bool in_place = true;
  std::string difference;  ///< not in place: the first command that differs, and how
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

  /// Gives the parameter another value in this executable: in the replays from now on, those under way keep theirs.
  /// Touches only the nodes that use it.
  /// @throws Error(Errc::invalid_value) listing the parameters when it uses none such, or when an op's dtype cannot
  ///         hold the value; not_supported for a live capture, whose nodes are CUDA's alone
  template <class T>
  void set(const Param<T>& parameter, std::type_identity_t<T> value,
           SourceLocation where = SourceLocation::current()) const {
    set_parameter(*parameter.state(), &value, where);
  }
  /// Gives the launches of that label another geometry; cluster, cooperation and priority stay.
  /// @throws Error(Errc::invalid_value) listing the labels of launches, or naming what no kernel can have;
  ///         not_supported when cluster, cooperation or priority would change
  void set(std::string_view label, const LaunchConfig& config) const;

  /// Leaves the commands of that label out of the replays from now on, or takes them in again. Order passes through a
  /// command that is left out; what it would write keeps its values; a draw takes its numbers all the same.
  /// @throws Error(Errc::invalid_value) listing the labels; not_supported for host functions, event nodes, foreign work
  ///         that CUDA takes as a whole, and commands that were fused or whose temporaries share memory
  void enable(std::string_view label, bool is_enabled, SourceLocation where = SourceLocation::current()) const;

  /// Puts another array in the place of one that the graph was recorded with: an input, an output or an in-place
  /// target. Again by the recorded one's name to change it once more, or back. Replays under way keep theirs.
  /// @throws Error(Errc::invalid_value) when the graph does not use the array, or shape or dtype differ; wrong_device;
  ///         not_supported naming the command of foreign work that has its address; the next replay throws
  ///         illegal_state when two arrays of the graph now share elements that it writes
  void bind(const Array& recorded, const Array& array, SourceLocation where = SourceLocation::current()) const;
  /// The same for memory of the program's own: an address given to `read`, `write`, `readwrite`, `from_blob`, or a bare
  /// pointer among the arguments of a launch.
  void bind(const void* recorded, void* address, SourceLocation where = SourceLocation::current()) const;

  /// What this executable writes where the graph has that array: itself, what is bound in its place, or a clone's own.
  Array output(const Array& recorded, SourceLocation where = SourceLocation::current()) const;

  /// Becomes an executable of another graph: in place where commands, edges, clusters and cooperation agree in order,
  /// else made anew. Later replays run the new graph and write its outputs; those under way end as they began. Values
  /// set, bindings and commands left out go back to what the graph has.
  /// @throws as Graph::instantiate, leaving this one as it is; not_supported for a live capture
  GraphUpdate update(const Graph& graph, SourceLocation where = SourceLocation::current()) const;

  /// Another executable with temporaries and outputs of its own (`output`), which may run at the same time where
  /// nothing written is shared. What foreign work writes stays the graph's own: then the two are ordered. Values set,
  /// bindings and commands left out are those of this one.
  /// @throws as Graph::instantiate; not_supported for a live capture
  GraphExec clone(SourceLocation where = SourceLocation::current()) const;

  /// Nodes and edges of the executable as planned.
  int node_count(SourceLocation where = SourceLocation::current()) const;
  int edge_count(SourceLocation where = SourceLocation::current()) const;
  /// The memory of its temporaries.
  ArenaUse arena_use(SourceLocation where = SourceLocation::current()) const;
  /// What was planned and why, one finding a line; kept outputs with their lines.
  std::string explain(SourceLocation where = SourceLocation::current()) const;
  std::vector<Diagnostic> diagnostics(SourceLocation where = SourceLocation::current()) const;
  /// The same as `explain` and more, for programs to read: one JSON object in UTF-8, without line ends. Its members:
  /// `graph` and `device` (names), `optimize` ("none", "all"), `math` ("exact", "fast"); `nodes`, of the executable as
  /// planned, each with `id`, `label`, `kind`, `device`, `stream`, `where` and `dependencies`; `edges`, pairs of ids;
  /// `diagnostics`, each with `kind`, `severity`, `text` and `commands` of the graph as written (`id`, `label`,
  /// `where`); `memory`: `arenas` (`device`, `bytes` for temporaries) and `outputs` (`device`, `bytes`, `where`). A
  /// `where` has `file` and `line`, or is null where nothing is known.
  std::string explain_json(SourceLocation where = SourceLocation::current()) const;
  /// The planned graph as Graphviz text.
  std::string to_dot(SourceLocation where = SourceLocation::current()) const;

  /// The CUDA executable and the CUDA graph that it was made from. Launched by other code they are outside Refrain's
  /// order and random numbers.
  /// @throws Error(Errc::not_supported) on a host device
  cudaGraphExec_t native(SourceLocation where = SourceLocation::current()) const;
  cudaGraph_t native_graph(SourceLocation where = SourceLocation::current()) const;

 private:
  friend class Graph;
  void set_parameter(const detail::ParameterState& parameter, const void* value, SourceLocation where) const;
  explicit GraphExec(std::shared_ptr<graph::Exec> exec) : exec_(std::move(exec)) {}

  std::shared_ptr<graph::Exec> exec_;
};

}  // namespace refrain
