#include "graph/recording.hpp"

#include "runtime/event_core.hpp"
#include "runtime/findings.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <utility>

namespace refrain::graph {

using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

namespace {

void refuse_legacy(const StreamCore& stream, const char* call, SourceLocation where) {
  if (!stream.is_legacy()) return;
  throw Error(Errc::capture_unsupported, call, stream.str(),
              "is CUDA's legacy stream, which no capture can record; put the work on another stream", where);
}

}  // namespace

std::shared_ptr<Recording> Recording::begin(Scope scope, const Stream& origin, CaptureOptions options,
                                            SourceLocation where) {
  runtime::refuse_in_callback("capture", where);
  runtime::run_recorded("capture", where);
  StreamCore& core = origin.core(where);
  if (scope == Scope::stream && origin == default_stream(core.device)) {
    throw Error(
        Errc::capture_unsupported, "capture", core.str(),
        "the default stream cannot be the origin of a stream-scoped capture; use capture(fn), or another stream",
        where);
  }
  if (options.guard_legacy_stream && !options.live) {
    throw Error(Errc::invalid_value, "capture", "guard_legacy_stream",
                "is for live captures; set CaptureOptions{.live = true} too", where);
  }
  refuse_legacy(core, "capture", where);
  runtime::notice_capture(core, "capture", where);
  // Destroyed after the lock is given back.
  std::shared_ptr<Recording> recording;
  std::shared_ptr<Program> left;
  OrderLock lock(order_mutex());
  runtime::wait_for_calls(lock, core, {});  // a function under way on the origin comes before the capture
  if (runtime::thread_recorder() != nullptr || core.recorder.load() != nullptr) {
    throw Error(Errc::illegal_state, "capture", core.str(),
                runtime::thread_recorder() != nullptr ? "this thread is capturing already; end that capture first"
                                                      : "the stream is capturing already; end that capture first",
                where);
  }
  recording.reset(new Recording(scope, core, options));
  try {
    if (options.live) {
      recording->live_ = core.backend().begin_live({.device = core.device,
                                                    .priority = core.priority,
                                                    .own = scope == Scope::stream ? &core : nullptr,
                                                    .guard_legacy_stream = options.guard_legacy_stream});
    }
    recording->add_lane(core);
  } catch (...) {
    left = recording->give_up("it could not begin");
    throw;
  }
  runtime::add_open_recorder(*recording);
  if (scope == Scope::thread) recording->slot_->store(recording.get(), std::memory_order_release);
  return recording;
}

Recording::Recording(Scope scope, StreamCore& origin, CaptureOptions options)
    : scope_(scope),
      options_(options),
      thread_(std::this_thread::get_id()),
      origin_(origin.shared_from_this()),
      tag_(std::make_shared<CaptureTag>()),
      program_(runtime::own(new Program)) {
  tag_->open = this;
  tag_->holder = "the open capture of " + origin_->str();
  program_->device = origin_->device;
  if (scope_ == Scope::thread) slot_ = runtime::thread_recorder_slot();
}

Recording::~Recording() { discard("its capture object was destroyed before the end"); }

std::string Recording::str() const { return "capture of " + origin_->str() + (is_attached() ? " by other code" : ""); }

bool Recording::is_open() const noexcept {
  const OrderLock lock(order_mutex());
  return open_;
}

bool Recording::spans(Device device) const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.core->device == device; });
}

void Recording::require_open(const char* call, SourceLocation where) const {
  if (open_) return;
  throw Error(Errc::illegal_state, call, str(), "the capture is over: " + gone_ + "; begin another", where);
}

int Recording::add_lane(StreamCore& stream) {
  const int lane = static_cast<int>(lanes_.size());
  if (live_ != nullptr) live_->fork(lane, stream.device, stream.priority, scope_ == Scope::stream ? &stream : nullptr);
  lanes_.push_back({.core = stream.shared_from_this(), .frontier = {}});
  if (is_attached()) stream.expose();  // only CUDA knows when it is free again
  if (stream.is_exposed) watch(lanes_.back());
  lane_numbers_.emplace(&stream, lane);
  program_->lanes.push_back({stream.id, stream.device, stream.priority});
  if (scope_ == Scope::stream) stream.recorder.store(this, std::memory_order_release);
  return lane;
}

void Recording::check_can_join(const StreamCore& stream, const char* call, SourceLocation where) const {
  require_open(call, where);
  if (lane_numbers_.find(&stream) != lane_numbers_.end()) return;
  if (stream.recorder.load(std::memory_order_acquire) != nullptr) {
    throw Error(Errc::capture_merge, call, stream.str(),
                "is a member of another open capture; a stream can be in one capture at a time, so end that one first",
                where);
  }
  refuse_legacy(stream, call, where);
  if (stream.device.kind != origin_->device.kind) {
    throw Error(
        Errc::wrong_device, call, stream.str(),
        "cannot join the " + str() + ": one capture spans devices of one kind; capture the work of each kind by itself",
        where);
  }
}

int Recording::lane_of(StreamCore& stream, const char* call, SourceLocation where) {
  check_can_join(stream, call, where);
  const auto known = lane_numbers_.find(&stream);
  if (known != lane_numbers_.end()) return known->second;
  const int lane = add_lane(stream);
  if (scope_ == Scope::thread) {
    note(DiagnosticKind::forked, Severity::info, {},
         stream.str() + " joined at its first use" + (where.line != 0 ? " at " + where.str() : "") +
             ", forked from the beginning");
  }
  return lane;
}

bool Recording::is_member(const StreamCore& stream) const noexcept {
  return open_ && lane_numbers_.find(&stream) != lane_numbers_.end();
}

void Recording::note(DiagnosticKind kind, Severity severity, std::vector<int> commands, std::string text) {
  program_->diagnostics.push_back({kind, severity, std::move(commands), std::move(text)});
}

void Recording::refuse(const char* call, const std::string& object, SourceLocation where) const {
  throw Error(Errc::capture_unsupported, call, object,
              "cannot be done while the " + str() +
                  " is open, for nothing recorded has run; do it after the capture, "
                  "or on a replay's stream",
              where);
}

cudaStream_t Recording::native(StreamCore& stream, SourceLocation where) {
  if (live_ != nullptr) {
    program_->is_foreign = true;  // what comes is no command
    program_->is_declared = false;
    const int lane = lane_of(stream, "native", where);
    if (scope_ == Scope::stream) stream.expose();
    return live_->native(lane);
  }
  throw Error(Errc::capture_unsupported, "native", stream.str(),
              "is recording, and work that foreign code puts on the native stream would run at once and be missing; "
              "capture with CaptureOptions{.live = true}, or take the handle outside",
              where);
}

std::shared_ptr<void> Recording::stream_destroyed(StreamCore& stream) noexcept {
  if (is_attached()) {
    const bool is_used = std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
      return lane.core.get() != &stream && !lane.core->retired;
    });
    return is_used ? nullptr : leave();
  }
  return &stream == origin_.get() ? give_up("its origin stream was destroyed") : nullptr;
}

void Recording::require_origin(const Stream& stream, SourceLocation where) const {
  const OrderLock lock(order_mutex());
  const StreamCore& core = stream.core(where);
  if (&core == origin_.get()) return;
  if (lane_numbers_.find(&core) == lane_numbers_.end()) {
    throw Error(Errc::illegal_state, "end", core.str(),
                "is not capturing; end the capture on its origin, " + origin_->str(), where);
  }
  throw Error(Errc::capture_unmatched, "end", core.str(),
              "is a member but not the origin of the capture; end it on " + origin_->str(), where);
}

void Recording::watch(Lane& lane) noexcept {
  if (live_ != nullptr || lane.is_watched) return;
  lane.core->native().watch();
  lane.is_watched = true;
}

void Recording::exposed(StreamCore& stream) noexcept {
  const auto known = lane_numbers_.find(&stream);
  if (known != lane_numbers_.end()) watch(lanes_[static_cast<std::size_t>(known->second)]);
}

void Recording::require_none_strayed(SourceLocation where) {
  std::string found;
  for (Lane& lane : lanes_) {
    if (!std::exchange(lane.is_watched, false)) continue;
    const runtime::Strayed strayed = lane.core->native().end_watch();
    if (strayed.broken > 0) {
      note(DiagnosticKind::watch_broken, Severity::warning, {},
           "other code made a device-wide call, or one on the native " + lane.core->str() +
               ", which failed and ended the watch for its work there for a moment");
    }
    if (strayed.names.empty()) continue;
    found += (found.empty() ? "" : "; on ") + lane.core->str() + ": ";
    constexpr std::size_t most = 4;
    for (std::size_t i = 0; i < std::min(strayed.names.size(), most); ++i) {
      found += (i == 0 ? "" : ", ") + strayed.names[i];
    }
    if (strayed.names.size() > most) found += " and " + std::to_string(strayed.names.size() - most) + " more";
    if (!lane.strayed_after.empty()) found += ", first " + lane.strayed_after;
  }
  if (found.empty()) return;
  throw Error(
      Errc::capture_unsupported, "end", str(),
      "other code put work on a native stream that is recorded, where it belongs to no graph and has not run, on " +
          found + "; enqueue it, or capture with CaptureOptions{.live = true}",
      where);
}

void Recording::join_lanes() {
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    if (covers(lanes_[0].frontier.clock, static_cast<int>(i), lanes_[i].length)) continue;
    merge(lanes_[0].frontier.clock, lanes_[i].frontier.clock);
    note(DiagnosticKind::joined, Severity::info, {}, lanes_[i].core->str() + " was joined at the end");
  }
}

void Recording::require_joined(SourceLocation where) {
  std::string streams;
  std::string first;
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    const LaneClock& joined = lanes_[0].frontier.clock;
    if (covers(joined, static_cast<int>(i), lanes_[i].length)) continue;
    streams += (streams.empty() ? "" : ", ") + lanes_[i].core->str();
    const std::uint32_t known = i < joined.size() ? joined[i] : 0;
    for (const Node& node : program_->nodes) {
      if (!first.empty() || node.lane != static_cast<int>(i) || node.position != known + 1) continue;
      first = std::string("'") + node.command.label + "'";
      if (node.command.where.line != 0) first += " at " + node.command.where.str();
    }
  }
  if (streams.empty()) return;
  throw Error(Errc::capture_unjoined, "end", str(),
              "work of " + streams + " was never joined to the origin, first " + first +
                  "; record an event after it and let the origin wait for it, or capture with join_all",
              where);
}

std::shared_ptr<Program> Recording::end(SourceLocation where) {
  runtime::refuse_in_callback("end", where);  // which may be a part of this capture
  if (scope_ == Scope::thread && std::this_thread::get_id() != thread_) {
    throw Error(Errc::capture_wrong_thread, "end", str(),
                "a thread-scoped capture is ended by the thread that began it; end it there", where);
  }
  try {
    OrderLock lock(order_mutex());
    runtime::wait_for_calls(lock, *this);
    require_open("end", where);
    require_none_strayed(where);
    if (scope_ == Scope::thread || options_.join_all) {
      join_lanes();
    } else {
      require_joined(where);
    }
    if (program_->nodes.empty() && !stands_for_a_run_) {
      note(DiagnosticKind::empty_capture, Severity::warning, {}, "nothing was captured; replays do nothing");
      if (options_.strict) {
        throw Error(Errc::illegal_state, "end", str(),
                    "nothing was captured, which strict mode refuses; issue work in it, or capture without strict",
                    where);
      }
    }
    if (pruned_ > 0) {
      note(DiagnosticKind::edges_pruned, Severity::info, {},
           std::to_string(pruned_) + (pruned_ == 1 ? " edge follows" : " edges follow") + " from others and " +
               (pruned_ == 1 ? "was" : "were") + " left out");
    }
    if (live_ != nullptr) {
      program_->live = live_->end(draw_increments(*program_));
      live_.reset();
      origin_->backend().live_ended();
    }
    close(program_->str());
    for (const runtime::BufferRef& buffer : program_->made) buffer->leave_recorder();
    for (const auto& event : program_->events) {  // from now on replays record them
      if (holds(*event)) event->captured.reset();
    }
  } catch (...) {
    discard("its end failed");
    throw;
  }
  for (const Diagnostic& diagnostic : program_->diagnostics) {
    if (diagnostic.severity == Severity::warning) runtime::log(diagnostic);
  }
  return std::exchange(program_, nullptr);
}

void Recording::discard(const std::string& why) noexcept {
  std::shared_ptr<Program> program;  // destroyed after the lock is given back
  OrderLock lock(order_mutex());
  runtime::wait_for_calls(lock, *this);
  program = give_up(why);
}

std::shared_ptr<Program> Recording::give_up(const std::string& why) noexcept {
  if (!open_) return nullptr;
  close("a discarded capture");
  gone_ = why;
  for (const runtime::BufferRef& buffer : program_->made) {
    buffer->leave_recorder();
    buffer->set_state(runtime::Buffer::State::discarded);
  }
  if (live_ != nullptr) {
    live_.reset();  // abandons the native capture before its streams are used again
    origin_->backend().live_ended();
  }
  return std::exchange(program_, nullptr);
}

void Recording::close(std::string holder) noexcept {
  open_ = false;
  gone_ = "it was ended";
  tag_->open = nullptr;
  tag_->holder = std::move(holder);
  for (Lane& lane : lanes_) {
    if (std::exchange(lane.is_watched, false)) lane.core->native().end_watch();
    runtime::Recorder* self = this;
    lane.core->recorder.compare_exchange_strong(self, nullptr);
  }
  if (slot_ != nullptr) slot_->store(nullptr, std::memory_order_release);
  runtime::remove_open_recorder(*this);
}

}  // namespace refrain::graph
