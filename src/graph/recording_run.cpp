// Captures that stand for a run of their own, which they may make at any time.

#include "graph/exec.hpp"
#include "graph/recording.hpp"
#include "runtime/event_core.hpp"
#include "runtime/order.hpp"

#include <algorithm>

namespace refrain::graph {

using runtime::order_mutex;
using runtime::OrderLock;

std::vector<std::shared_ptr<runtime::EventCore>> Recording::recorded_events() const {
  std::vector<std::shared_ptr<runtime::EventCore>> events;
  for (const auto& weak : recorded_events_) {
    const auto event = weak.lock();
    if (event == nullptr || !holds(*event)) continue;
    if (std::find(events.begin(), events.end(), event) == events.end()) events.push_back(event);
  }
  return events;
}

bool Recording::run_so_far(const char* call, SourceLocation where) {
  if (!may_run_ || options_.strict || !ran_for_.empty()) return false;
  std::vector<std::shared_ptr<runtime::StreamCore>> streams;
  std::vector<std::shared_ptr<runtime::EventCore>> events;
  {
    const OrderLock lock(order_mutex());
    for (const Lane& lane : lanes_) streams.push_back(lane.core);
    events = recorded_events();
  }
  ran_for_ = std::string(call) + (where.line != 0 ? " at " + where.str() : "");
  const std::shared_ptr<Program> program = end(where);
  runtime::StreamCore& origin = *streams.front();
  if (!program->nodes.empty()) {
    Exec::make(program, {.optimize = Optimize::none}, where)->replay(origin, where);
  }
  // Every stream of the program goes on after all of it.
  const OrderLock lock(order_mutex());
  for (const auto& stream : streams) {
    if (stream.get() != &origin) runtime::wait_for(*stream, {origin.slot, origin.position});
  }
  for (const auto& event : events) {
    const auto on = std::find_if(streams.begin(), streams.end(),
                                 [&](const auto& stream) { return event->device == stream->device; });
    event->record_eagerly(on != streams.end() ? **on : origin, where);
  }
  return true;
}

}  // namespace refrain::graph
