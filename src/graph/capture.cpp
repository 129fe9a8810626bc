#include <refrain/capture.hpp>

#include "graph/recording.hpp"
#include "runtime/host_function.hpp"

namespace refrain {

using graph::Recording;

Capture::Capture(CaptureOptions options, SourceLocation where)
    : recording_(Recording::begin(Recording::Scope::thread, current_stream(), options, where)) {}

Capture::Capture(const Stream& origin, CaptureOptions options, SourceLocation where)
    : recording_(Recording::begin(Recording::Scope::stream, origin, options, where)) {}

Capture::~Capture() {
  recording_->discard("its scope was left before the end");
  runtime::destroy_retired();  // not while it was open
}

Graph Capture::end(SourceLocation where) {
  Graph graph(recording_->end(where));
  runtime::destroy_retired();  // not while it was open
  return graph;
}

Graph Capture::end(const Stream& stream, SourceLocation where) {
  recording_->require_origin(stream, where);
  return end(where);
}

bool Capture::is_open() const noexcept { return recording_->is_open(); }

bool is_capturing() noexcept {
  if (runtime::thread_recorder() != nullptr) return true;
  try {
    return current_stream().is_capturing();
  } catch (...) {
    return false;  // there is no current stream, as when REFRAIN_DEVICE names no device
  }
}

}  // namespace refrain
