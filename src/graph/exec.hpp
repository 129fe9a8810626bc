#pragma once

#include "graph/program.hpp"
#include "runtime/order.hpp"
#include "runtime/plan.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/graph.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refrain::graph {

/// An executable and what a replay does around it: order, generator, one launch.
class Exec {
 public:
  static std::shared_ptr<Exec> make(const std::shared_ptr<Program>& program, InstantiateOptions options,
                                    SourceLocation where);

  /// @throws as GraphExec::replay
  void replay(runtime::StreamCore& stream, SourceLocation where);

  const Program& program() const noexcept { return *program_; }
  const runtime::Executable& executable() const noexcept { return *executable_; }
  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }
  /// Of the program as planned.
  int node_count() const noexcept { return node_count_; }
  int edge_count() const noexcept { return edge_count_; }
  InstantiateOptions options() const noexcept { return options_; }

 private:
  Exec(std::shared_ptr<Program> program, InstantiateOptions options)
      : program_(std::move(program)), options_(options) {}

  /// Records the replay if the stream is being captured.
  /// `live`: what a live capture needs, to be destroyed without the lock.
  bool record(runtime::StreamCore& stream, runtime::OrderLock& lock, std::optional<runtime::Plan>& live,
              SourceLocation where);
  void issue(runtime::StreamCore& stream, SourceLocation where);
  void prepare(runtime::StreamCore& stream, SourceLocation where);
  void advance_generators();

  const std::shared_ptr<Program> program_;
  const InstantiateOptions options_;
  std::vector<runtime::Access> outside_accesses_;  ///< what a replay touches besides its arena, merged by buffer
  bool crosses_kinds_ = false;                     ///< one of them is used by another kind of device too
  std::vector<runtime::Buffer*> outputs_;          ///< what has values once this executable has run
  std::shared_ptr<runtime::Executable> executable_;
  std::vector<Diagnostic> diagnostics_;
  std::vector<runtime::GeneratorPosition> draws_;  ///< reused by replays
  int node_count_ = 0;
  int edge_count_ = 0;
  bool prepared_ = false;  ///< guarded by the order lock
};

}  // namespace refrain::graph
