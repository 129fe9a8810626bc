#include "runtime/findings.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace refrain {

std::string_view to_string(DiagnosticKind kind) noexcept {
  switch (kind) {
    case DiagnosticKind::edge_added: return "edge_added";
    case DiagnosticKind::edges_pruned: return "edges_pruned";
    case DiagnosticKind::unarmed_wait: return "unarmed_wait";
    case DiagnosticKind::empty_capture: return "empty_capture";
    case DiagnosticKind::forked: return "forked";
    case DiagnosticKind::joined: return "joined";
    case DiagnosticKind::foreign_undeclared: return "foreign_undeclared";
    case DiagnosticKind::watch_broken: return "watch_broken";
    case DiagnosticKind::outside_wait: return "outside_wait";
    case DiagnosticKind::output_kept: return "output_kept";
    case DiagnosticKind::pass: return "pass";
    case DiagnosticKind::lowering: return "lowering";
    case DiagnosticKind::runs_eagerly: return "runs_eagerly";
  }
  return "unknown";
}

namespace {

constexpr std::size_t most_findings = 1000;

struct Findings {
  std::mutex mutex;
  std::deque<Diagnostic> list;
  std::set<std::pair<std::string, std::string>> reported;
  std::vector<std::pair<std::thread::id, Diagnostic>> unlogged;  ///< with the thread that is to tell the sink
  std::atomic<bool> has_unlogged{false};
  std::shared_ptr<const std::function<void(const Diagnostic&)>> sink;
};

Findings& findings() {
  static Findings& all = *new Findings;
  return all;
}

}  // namespace

std::vector<Diagnostic> diagnostics() {
  const std::lock_guard lock(findings().mutex);
  return {findings().list.begin(), findings().list.end()};
}

void clear_diagnostics() {
  const std::lock_guard lock(findings().mutex);
  findings().list.clear();
  findings().reported.clear();
}

void set_log_sink(std::function<void(const Diagnostic&)> sink) {
  // Swapped, so that the old function is destroyed after the lock is given back.
  auto shared = sink ? std::make_shared<const std::function<void(const Diagnostic&)>>(std::move(sink)) : nullptr;
  const std::lock_guard lock(findings().mutex);
  findings().sink.swap(shared);
}

namespace runtime {

void find_added_order(const std::string& first, const std::string& second) {
  const std::lock_guard lock(findings().mutex);
  if (!findings().reported.emplace(first, second).second) return;
  findings().list.push_back({DiagnosticKind::edge_added,
                             Severity::warning,
                             {},
                             second + " touches the memory of " + first +
                                 " on another stream and nothing ordered the two; the order was added. Let the "
                                 "second stream wait_event or wait_stream for the first."});
  findings().unlogged.emplace_back(std::this_thread::get_id(), findings().list.back());
  findings().has_unlogged.store(true, std::memory_order_release);
  if (findings().list.size() > most_findings) findings().list.pop_front();
}

void log_findings() {
  if (!findings().has_unlogged.load(std::memory_order_acquire)) return;
  std::vector<Diagnostic> mine;
  {
    const std::lock_guard lock(findings().mutex);
    std::erase_if(findings().unlogged, [&](auto& entry) {
      if (entry.first != std::this_thread::get_id()) return false;
      mine.push_back(std::move(entry.second));
      return true;
    });
    findings().has_unlogged.store(!findings().unlogged.empty(), std::memory_order_release);
  }
  for (const Diagnostic& diagnostic : mine) log(diagnostic);
}

void log(const Diagnostic& diagnostic) {
  std::shared_ptr<const std::function<void(const Diagnostic&)>> sink;
  {
    const std::lock_guard lock(findings().mutex);
    sink = findings().sink;
  }
  if (sink) (*sink)(diagnostic);
}

}  // namespace runtime
}  // namespace refrain
