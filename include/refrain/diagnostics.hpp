#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

enum class Severity : std::uint8_t { info, warning };

/// What a report says something about.
enum class DiagnosticKind : std::uint8_t {
  edge_added,          ///< a missing wait was found and the order added
  edges_pruned,        ///< edges that follow from others
  unarmed_wait,        ///< a wait for an event that was never recorded
  empty_capture,       ///< nothing was captured
  forked,              ///< a stream joined a thread-scoped capture at its first use
  joined,              ///< a stream was joined at the end
  foreign_undeclared,  ///< work of the program's own that does not say what it touches
  watch_broken,        ///< other code kept the watch for its own work from going on
  outside_wait,        ///< a wait for work outside the capture, done once before the first replay
  output_kept,         ///< an array keeps its own block, and why
  pass,                ///< what an optimising pass did, or why it did not
  lowering,            ///< how the graph was made
  runs_eagerly,        ///< a graphed function cannot be replayed, and why
};

std::string_view to_string(DiagnosticKind kind) noexcept;

/// One finding of a capture, an instantiation or eager ordering.
struct Diagnostic {
  DiagnosticKind kind;
  Severity severity;
  std::vector<int> commands;  ///< node numbers in the graph; empty for eager findings
  std::string text;
};

/// Findings of eager work (added orders) since the start or the last `clear_diagnostics`; at most the newest 1000.
std::vector<Diagnostic> diagnostics();
void clear_diagnostics();

/// Called for every warning, from the thread that caused it, once the call that found it has done its work; a missing
/// wait of eager work is told once for each pair of places. What the sink throws leaves that call. An empty function
/// takes the sink away.
void set_log_sink(std::function<void(const Diagnostic&)> sink);

}  // namespace refrain
