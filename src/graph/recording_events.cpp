#include "graph/recording.hpp"
#include "runtime/event_core.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <utility>

namespace refrain::graph {

using runtime::EventCore;
using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

/// A record inside a capture: what an event waits for there.
class Recording::Point final : public runtime::CapturedPoint {
 public:
  Point(std::shared_ptr<CaptureTag> tag, Frontier frontier, int number)
      : tag(std::move(tag)), frontier(std::move(frontier)), number(number) {}

  runtime::Recorder* recorder() const noexcept override { return tag->open; }
  std::string holder() const override { return tag->holder; }

  const std::shared_ptr<CaptureTag> tag;
  const Frontier frontier;
  const int number;  ///< the live capture's
};

bool Recording::holds(const EventCore& event) const {
  const auto point = std::dynamic_pointer_cast<Point>(event.captured);
  return point != nullptr && point->tag == tag_;
}

void Recording::submit_undeclared(StreamCore& stream, runtime::Payload payload, const char* label,
                                  SourceLocation where) {
  runtime::Command command{stream.device, std::move(payload), {}, label, where};
  command.is_declared = false;
  submit(stream, command);
}

void Recording::record_event(StreamCore& stream, EventCore& event, SourceLocation where) {
  const int lane = lane_of(stream, "record_event", where);
  if (event.is_node()) {
    submit_undeclared(stream, runtime::EventRecordCommand{event.native_for(stream)}, "record_event", where);
    program_->events.push_back(event.shared_from_this());
  }
  // So that other code, which may have the event, can wait for it.
  const bool is_native = event.is_wrapped || (is_attached() && !event.is_node());
  if (live_ != nullptr && is_native) live_->record_event(lane, event.native_for(stream)->native());
  if (stands_for_a_run_ && !event.is_node()) recorded_events_.push_back(event.weak_from_this());
  event.device = stream.device;
  event.captured = std::make_shared<Point>(tag_, lanes_[static_cast<std::size_t>(lane)].frontier,
                                           live_ != nullptr ? live_->record(lane) : 0);
}

void Recording::wait_event(StreamCore& stream, EventCore& event, SourceLocation where) {
  require_open("wait_event", where);
  const auto point = std::dynamic_pointer_cast<Point>(event.captured);
  const bool is_here = point != nullptr && point->tag == tag_;
  if ((event.device || event.is_wrapped) && event.kind() != stream.device.kind) {
    throw Error(Errc::not_supported, "wait_event", stream.str(),
                "cannot wait for an event of " + (event.device ? event.device->str() : "CUDA") +
                    "; synchronize the event before the capture",
                where);
  }
  if (event.flags.external && !is_here) {
    submit_undeclared(stream, runtime::EventWaitCommand{event.native_for(stream)}, "wait_event", where);
    return;
  }
  if (event.captured == nullptr && event.is_wrapped && live_ != nullptr) {
    // Other code may have recorded it in this very capture: CUDA knows.
    live_->wait_event(lane_of(stream, "wait_event", where), event.native->native());
    return;
  }
  if (event.captured == nullptr) {
    if (!event.recorded) {
      if (options_.strict) {
        throw Error(Errc::invalid_value, "wait_event", event.str(),
                    "was never recorded, so " + stream.str() + " would wait for nothing; record it first", where);
      }
      note(DiagnosticKind::unarmed_wait, Severity::warning, {},
           stream.str() + " waits for " + event.str() + (where.line != 0 ? " at " + where.str() : "") +
               ", which was never recorded: nothing is ordered");
      return;
    }
    if (scope_ == Scope::stream) {
      throw Error(Errc::capture_isolation, "wait_event", event.str(),
                  "was recorded outside the " + str() +
                      ", which cannot depend on it; wait for it before the capture, "
                      "record it on a member stream, or use capture(fn)",
                  where);
    }
    lane_of(stream, "wait_event", where);
    wait_outside(event, stream, where);
    return;
  }
  if (point->tag->open == nullptr && is_attached() && point->tag->foreign_id == tag_->foreign_id && !event.is_node()) {
    // Of the same capture, from before all its streams were dropped.
    live_->wait_event(lane_of(stream, "wait_event", where), event.native->native());
    return;
  }
  if (point->tag->open == nullptr) event.refuse_captured("wait_event", where);
  if (!is_here) {
    throw Error(Errc::capture_merge, "wait_event", event.str(),
                "belongs to " + point->holder() + ", and two open captures cannot be joined; end one first", where);
  }
  if (scope_ == Scope::thread && std::this_thread::get_id() != thread_) {
    throw Error(Errc::captured_event, "wait_event", event.str(),
                "is in the thread-scoped " + str() + " of another thread; capture by stream to let other threads join",
                where);
  }
  const int lane_number = lane_of(stream, "wait_event", where);
  Frontier& frontier = lanes_[static_cast<std::size_t>(lane_number)].frontier;
  for (const int node : point->frontier.nodes) {
    if (std::find(frontier.nodes.begin(), frontier.nodes.end(), node) == frontier.nodes.end()) {
      frontier.nodes.push_back(node);
    }
  }
  merge(frontier.clock, point->frontier.clock);
  if (live_ == nullptr) return;
  if (event.is_wrapped) {  // other code may have recorded it later in this very capture
    live_->wait_event(lane_number, event.native->native());
  } else {
    live_->wait(lane_number, point->number);
  }
}

void Recording::expect_outside_wait(const EventCore& event) {
  {
    const OrderLock lock(order_mutex());
    if (!open_ || outside_ || event.captured != nullptr || !event.recorded) return;
  }
  Stream outside(origin_->device);
  const OrderLock lock(order_mutex());
  if (!open_) return;
  program_->outside_waits.push_back(outside);
  outside_ = std::move(outside);
}

void Recording::wait_outside(EventCore& event, const StreamCore& stream, SourceLocation where) {
  if (!outside_) {
    throw Error(Errc::illegal_state, "wait_event", event.str(),
                "was recorded by another thread while this one began to wait for it; order the two threads", where);
  }
  if (stands_for_a_run_) awaited_outside_.push_back({event.weak_from_this(), event.point.slot, event.stream_id});
  StreamCore& outside = outside_->core();
  event.settle_record();
  if (event.native != nullptr) event.native->wait(outside);
  if (!event.is_wrapped) runtime::come_after(outside, event.clock);
  if (!event.is_wrapped) runtime::come_after(outside, event.point);
  note(DiagnosticKind::outside_wait, Severity::info, {},
       stream.str() + " waits for " + event.str() + (where.line != 0 ? " at " + where.str() : "") +
           ", recorded outside the capture: done once, before the first replay");
}

}  // namespace refrain::graph
