// Captures that other code has begun: who records in them, from when and until when.

#include "graph/recording.hpp"

#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace refrain::graph {

using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

namespace {

/// Nobody has a handle of them. Guarded by the order lock.
std::vector<std::shared_ptr<Recording>>& attached() {
  static auto& all = *new std::vector<std::shared_ptr<Recording>>;
  return all;
}

Recording* attached_one(const runtime::Recorder* recorder) {
  const auto found = std::find_if(attached().begin(), attached().end(),
                                  [&](const auto& recording) { return recording.get() == recorder; });
  return found == attached().end() ? nullptr : found->get();
}

}  // namespace

void Recording::follow(StreamCore& stream, const char* call, SourceLocation where) {
  if (runtime::in_callback()) return;
  // Destroyed after the lock is given back.
  std::shared_ptr<Recording> over;
  std::shared_ptr<Recording> made;
  {
    OrderLock lock(order_mutex());
    if (stream.retired || !stream.has_native()) return;
    runtime::wait_for_calls(lock, stream, {});  // a function that captures for itself is not in the way
    Recording* const recording = attached_one(stream.recorder);
    if (recording == nullptr && stream.recorder != nullptr) return;  // a capture of Refrain's
    const runtime::ForeignCapture capture = stream.native().foreign_capture();
    if (capture.is_broken) {
      throw Error(Errc::capture_invalidated, call, stream.str(),
                  "is in a capture of other code's that was invalidated; end that capture, and look for a call in it "
                  "that no capture allows",
                  where);
    }
    if (recording != nullptr && recording->tag_->foreign_id == capture.id) return;
    if (recording != nullptr) {
      runtime::wait_for_calls(lock, *recording);
      if (attached_one(stream.recorder) == recording) over = recording->leave();
    }
    if (capture.id == 0 || stream.recorder != nullptr || runtime::taken_in(stream, capture.id)) return;
    attach(stream, capture.id, made);
  }
}

void Recording::attach(StreamCore& stream, std::uint64_t id, std::shared_ptr<Recording>& made) {
  const auto known = std::find_if(attached().begin(), attached().end(),
                                  [&](const auto& recording) { return recording->tag_->foreign_id == id; });
  if (known != attached().end()) {
    (*known)->adopt(stream);
    return;
  }
  made.reset(new Recording(Scope::stream, stream, {}));
  made->tag_->foreign_id = id;
  made->tag_->holder = "the open " + made->str();
  made->live_ = stream.backend().attach_live(stream, made->program_);
  made->add_lane(stream);
  attached().push_back(made);
  runtime::add_open_recorder(*made);
}

bool Recording::takes_in(StreamCore& stream, std::uint64_t capture) {
  if (!open_ || live_ == nullptr || scope_ != Scope::stream || live_->capture_id() != capture) return false;
  adopt(stream);
  return true;
}

/// A stream that is in the capture already, by what other code did or as an earlier handle of a native stream.
void Recording::adopt(StreamCore& stream) {
  const int lane = add_lane(stream);
  for (const Lane& other : lanes_) {
    if (other.core.get() == &stream || other.core->native().native() != stream.native().native()) continue;
    lanes_[static_cast<std::size_t>(lane)].frontier = other.frontier;
  }
}

/// The other code has ended its capture, or goes on without Refrain. The result is to be destroyed without the lock.
std::shared_ptr<Recording> Recording::leave() noexcept {
  std::shared_ptr<Recording> self = shared_from_this();
  std::erase(attached(), self);
  live_.reset();
  close("a capture that other code made");
  // Whether the graph has run is that code's to know.
  for (const runtime::BufferRef& buffer : program_->made) {
    buffer->leave_recorder();
    buffer->set_state(runtime::Buffer::State::ready);
  }
  for (const Node& node : program_->nodes) {
    for (const runtime::Access& access : node.accesses) {
      runtime::Buffer& buffer = *access.buffer;
      if (access.mode != runtime::AccessMode::write || buffer.recorder() != nullptr) continue;
      if (buffer.state() == runtime::Buffer::State::recorded) buffer.set_state(runtime::Buffer::State::ready);
    }
  }
  origin_->backend().live_ended();
  return self;
}

/// A command failed, of which a part may be there. The streams stay members until the other code ends its capture.
void Recording::keep_attached(const Added& added) noexcept {
  try {
    live_->run(added.lane, added.id, {});
  } catch (...) {
    // The capture is broken, as the next call will say.
  }
}

void Recording::refuse_draws(bool draws, const char* call, const StreamCore& stream, SourceLocation where) const {
  if (!draws || !is_attached()) return;
  throw Error(Errc::not_supported, call, stream.str(),
              "is captured by other code, whose launches the generator cannot follow; pass the numbers in as an array "
              "made before",
              where);
}

}  // namespace refrain::graph

namespace refrain::runtime::detail {

void follow_capture(StreamCore& stream, const char* call, SourceLocation where) {
  graph::Recording::follow(stream, call, where);
  if (stream.recorder != nullptr) memory_stream(stream.device);  // is there before it is needed under the lock
}

}  // namespace refrain::runtime::detail
