// Captures that stand for a run of their own, which they may make at any time.

#include "graph/exec.hpp"
#include "graph/recording.hpp"
#include "runtime/event_core.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <algorithm>
#include <array>

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

bool Recording::give_memory(runtime::Buffer& alias) {
  const auto is_it = [&](const auto& given) { return given.first.get() == &alias; };
  if (std::any_of(given_memory_.begin(), given_memory_.end(), is_it)) return false;
  if (alias.size_bytes() == 0) return false;
  runtime::Buffer& of = *alias.named();
  const auto& names = histories_[&alias.history()].names;
  const bool is_captured = std::find(names.begin(), names.end(), &of) != names.end();
  if (is_captured) return false;  // the two names must stay one memory
  const runtime::BufferRef memory(runtime::Buffer::like(alias, runtime::service_stream(alias.device()), alias.where()));
  const RecordedHistory& before = histories_[&alias.history()];
  RecordedHistory own;
  if (std::find(before.names.begin(), before.names.end(), &alias) != before.names.end()) own.names.push_back(&alias);
  for (std::size_t i = 0; i < program_->nodes.size(); ++i) {
    for (const runtime::Access& access : program_->nodes[i].accesses) {
      if (access.buffer != &alias) continue;
      own.accesses.push_back({static_cast<int>(i), access.begin, access.end, access.mode});
    }
  }
  given_memory_.emplace_back(&alias, &of);
  alias.rename(*memory.get());
  histories_[&alias.history()] = std::move(own);
  return true;
}

void copy_bytes(runtime::StreamCore& stream, runtime::Buffer& to, std::int64_t to_begin, runtime::Buffer& from,
                std::int64_t from_begin, std::int64_t bytes, SourceLocation where) {
  if (bytes <= 0) return;
  const std::array<runtime::Access, 2> accesses{
      {{.buffer = &to, .begin = to_begin, .end = to_begin + bytes, .mode = runtime::AccessMode::write},
       {.buffer = &from, .begin = from_begin, .end = from_begin + bytes, .mode = runtime::AccessMode::read}}};
  runtime::submit(stream, {stream.device, runtime::CopyCommand{.bytes = bytes, .out_access = 0, .in_access = 1},
                           accesses, "copy", where});
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
  for (const auto& [alias, of] : given_memory_) {
    const Touched bytes = touched(*program, *alias.get());
    copy_bytes(origin, *alias.get(), bytes.begin, *of.get(), bytes.begin, bytes.end - bytes.begin, where);
  }
  if (!program->nodes.empty()) {
    Exec::make(program, {.optimize = Optimize::none}, where)->replay(origin, where);
  }
  for (const auto& [alias, of] : given_memory_) {
    const Touched bytes = touched(*program, *alias.get());
    copy_bytes(origin, *of.get(), bytes.written_begin, *alias.get(), bytes.written_begin,
               bytes.written_end - bytes.written_begin, where);
  }
  std::vector<runtime::BufferRef> memory;  // given back without the lock
  for (const auto& [alias, of] : given_memory_) memory.emplace_back(alias->named());
  // Every stream of the program goes on after all of it.
  const OrderLock lock(order_mutex());
  for (const auto& [alias, of] : given_memory_) alias->rename(*of.get());
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
