#include "runtime/debugging.hpp"

#include "runtime/environment.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>

namespace refrain::runtime {

namespace {

constexpr std::size_t most_kept = 4;

/// Written under the order lock, read while a device is already lost: a mixture of two submissions is no harm.
struct Submission {
  std::atomic<const char*> label{nullptr};
  std::atomic<const char*> file{""};
  std::atomic<int> line{0};
  std::atomic<int> device{0};
  std::atomic<std::uint64_t> graph{0};
};

struct Submissions {
  std::array<Submission, most_kept> ring;
  std::atomic<std::size_t> count{0};
};

constinit std::array<Submissions, 2> submissions;

std::string describe(const Submission& submission) {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::string text = std::string("'") + submission.label.load(relaxed) + "'";
  const std::uint64_t graph = submission.graph.load(relaxed);
  if (graph != 0) text += " of graph " + std::to_string(graph);
  const SourceLocation where{submission.file.load(relaxed), submission.line.load(relaxed)};
  return where.line != 0 ? text + " at " + where.str() : text;
}

}  // namespace

bool synchronises_each() {
  static const bool each = environment_int("REFRAIN_SYNC", 0, 0, 1) == 1;
  return each;
}

bool replays_eagerly() {
  static const bool eagerly = [] {
    const std::string text = environment("REFRAIN_EXECUTION");
    if (text.empty() || text == "graph") return false;
    if (text == "eager") return true;
    throw Error(Errc::invalid_value, "REFRAIN_EXECUTION", '"' + text + '"', "cannot be used; give eager or graph");
  }();
  return eagerly;
}

void note_submission(Device device, const char* label, SourceLocation where, std::uint64_t graph) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  Submissions& of = submissions[static_cast<std::size_t>(device.kind)];
  const std::size_t count = of.count.load(relaxed);
  Submission& next = of.ring[count % most_kept];
  next.label.store(label, relaxed);
  next.file.store(where.file, relaxed);
  next.line.store(where.line, relaxed);
  next.device.store(device.index, relaxed);
  next.graph.store(graph, relaxed);
  of.count.store(count + 1, relaxed);
}

std::string last_submissions(DeviceKind kind, int most) {
  const Submissions& of = submissions[static_cast<std::size_t>(kind)];
  const std::size_t count = of.count.load(std::memory_order_relaxed);
  std::string text;
  const std::size_t shown = std::min({count, most_kept, static_cast<std::size_t>(most)});
  for (std::size_t i = 0; i < shown; ++i) {
    const Submission& submission = of.ring[(count - 1 - i) % most_kept];
    text += (i == 0 ? "" : ", ") + describe(submission);
    if (device_count(kind) > 1) text += " on " + Device{kind, submission.device.load(std::memory_order_relaxed)}.str();
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace refrain::runtime
