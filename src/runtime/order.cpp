#include "runtime/order.hpp"

#include "runtime/buffer.hpp"
#include "runtime/findings.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/error.hpp>
#include <refrain/memory.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

namespace refrain {

namespace {
std::atomic<Hazards> hazards_mode{Hazards::add};
}

void set_hazards(Hazards mode) { hazards_mode.store(mode, std::memory_order_relaxed); }
Hazards hazards() { return hazards_mode.load(std::memory_order_relaxed); }

namespace runtime {

namespace {

/// What the host has seen done, by waiting or asking. Guarded by the order lock.
Clock& host_clock() {
  static Clock& clock = *new Clock;
  return clock;
}

bool is_ordered(const StreamCore& stream, StreamPoint point) noexcept {
  return point.slot == stream.slot || stream.clock.covers(point) || host_clock().covers(point);
}

bool conflicts(const AccessRecord& record, const Access& access) noexcept {
  const std::int64_t origin = access.buffer->history_origin();
  return (record.mode == AccessMode::write || access.mode == AccessMode::write) && access.begin < access.end &&
         record.begin < access.end + origin && access.begin + origin < record.end;
}

/// Whether work up to the point may be left, without asking a device: a stream that is over, or began later, has none.
bool may_be_busy(StreamPoint point) noexcept {
  const StreamCore& stream = stream_at(point.slot);
  return !host_clock().covers(point) && stream.has_native() && point.position > stream.base_position;
}

/// The history of memory that is not Refrain's is never given up with a buffer: what is known to be done goes once
/// there is much of it.
void shorten(AccessHistory& history) {
  constexpr int many = 64;
  if (history.size() < many) return;
  history.drop_if([](const AccessRecord& record) { return record.mark == nullptr && !may_be_busy(record.point); });
}

std::string describe(const char* label, SourceLocation where) {
  std::string text = std::string("'") + label + "'";
  if (where.line != 0) text += " at " + where.str();
  return text;
}

}  // namespace

bool conflict(const Access& a, const Access& b) noexcept {
  if (a.mode == AccessMode::read && b.mode == AccessMode::read) return false;
  if (a.begin >= a.end || b.begin >= b.end) return false;
  if (&a.buffer->history() != &b.buffer->history()) return false;
  const std::int64_t x = a.buffer->history_origin();
  const std::int64_t y = b.buffer->history_origin();
  return a.begin + x < b.end + y && b.begin + y < a.end + x;
}

void host_saw(StreamPoint point, const Clock& before) {
  host_clock().merge(before);
  host_clock().raise(point);
}

namespace {

/// A conflicting access on another kind of device that the host has not seen done.
std::optional<StreamPoint> find_foreign(const StreamCore& stream, std::span<const Access> accesses) {
  for (const Access& access : accesses) {
    if (!access.buffer->crosses_kinds()) continue;
    AccessHistory& history = access.buffer->history();
    for (int i = 0; i < history.size(); ++i) {
      const StreamPoint point = history[i].at();
      if (!conflicts(history[i], access) || host_clock().covers(point)) continue;
      if (stream_at(point.slot).device.kind != stream.device.kind) return point;
    }
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// The stream of the point, if it may have work left up to there. With the order lock held.
std::shared_ptr<StreamCore> busy_stream(StreamPoint point) {
  return may_be_busy(point) ? stream_at(point.slot).shared_from_this() : nullptr;
}

void wait_on_host(OrderLock& lock, StreamPoint point) {
  if (const std::shared_ptr<StreamCore> stream = busy_stream(point)) {
    lock.unlock();
    stream->backend().synchronize(*stream, point.position);
    lock.lock();
  }
  host_saw(point, Clock());
}

}  // namespace

std::vector<std::shared_ptr<StreamCore>> busy_streams(std::span<const StreamPoint> points) {
  std::vector<std::shared_ptr<StreamCore>> busy;
  const OrderLock lock(order_mutex());
  for (const StreamPoint point : points) {
    const std::shared_ptr<StreamCore> stream = busy_stream(point);
    if (stream != nullptr && std::find(busy.begin(), busy.end(), stream) == busy.end()) busy.push_back(stream);
  }
  return busy;
}

void settle(OrderLock& lock, const StreamCore& stream, std::span<const Access> accesses) {
  wait_for_calls(lock, stream, accesses);
  while (const std::optional<StreamPoint> point = find_foreign(stream, accesses)) {
    wait_on_host(lock, *point);
    wait_for_calls(lock, stream, accesses);
  }
}

namespace {

/// A conflicting access that the host has not seen done, on a stream that can be waited for.
std::optional<StreamPoint> find_unseen(std::span<const Access> accesses) {
  for (const Access& access : accesses) {
    AccessHistory& history = access.buffer->history();
    for (int i = 0; i < history.size(); ++i) {
      const StreamPoint point = history[i].at();
      if (!conflicts(history[i], access)) continue;
      const std::shared_ptr<StreamCore> stream = busy_stream(point);
      if (stream != nullptr && !stream->native().is_out_of_reach()) return point;
    }
  }
  return std::nullopt;
}

}  // namespace

void settle_outside(OrderLock& lock, std::span<const Access> accesses) {
  while (const std::optional<StreamPoint> point = find_unseen(accesses)) wait_on_host(lock, *point);
}

bool is_done(StreamPoint point) {
  std::shared_ptr<StreamCore> stream;
  {
    const OrderLock lock(order_mutex());
    stream = busy_stream(point);
  }
  return stream == nullptr || stream->backend().is_complete(*stream, point.position);
}

bool has_unseen_issues(const StreamCore& stream) {
  return stream.position > stream.base_position && !host_clock().covers({stream.slot, stream.position});
}

bool has_unseen_work(const StreamCore& stream) {
  return stream.is_exposed || has_unseen_issues(stream);  // other code may have put some there
}

namespace {

/// A stream that is over, or began after the point, has no work left there.
void wait_in_backend(StreamCore& stream, StreamPoint point) {
  StreamCore& other = stream_at(point.slot);
  if (other.has_native() && point.position > other.base_position) {
    stream.backend().wait(stream, other, point.position);
  }
}

}  // namespace

void wait_for(StreamCore& stream, StreamPoint point) {
  if (is_ordered(stream, point)) return;
  wait_in_backend(stream, point);
  // What the other stream had waited for comes before too only if the wait covers its newest work; the backend may
  // cover less, so only the point is noted.
  come_after(stream, point);
}

void wait_for_memory(StreamCore& stream, StreamPoint point) {
  if (is_ordered(stream, point) || stream.for_memory.covers(point)) return;
  wait_in_backend(stream, point);
  stream.for_memory.raise(point);
}

namespace {

void order_access(StreamCore& stream, const Access& access, const char* label, SourceLocation where, bool report,
                  const ReplayMark* mark) {
  AccessHistory& history = access.buffer->history();
  for (int i = 0; i < history.size(); ++i) {
    AccessRecord& record = history[i];
    if (record.mark == nullptr) {
      if (record.point.slot == stream.slot) continue;  // nearly always
    } else if (record.mark == mark) {
      continue;  // replays of one graph are ordered by their mark
    }
    if (!conflicts(record, access)) continue;
    if (record.mark != nullptr) ++record.mark->generation;
    const StreamPoint point = record.at();
    if (is_ordered(stream, point)) continue;
    if (record.label == allocate_label) {
      wait_for_memory(stream, point);
      continue;
    }
    const bool is_known = stream.in_part.covers(point);
    wait_for(stream, point);
    if (report && !is_known && hazards() == Hazards::add) {
      find_added_order(describe(record.label, record.where), describe(label, where));
    }
  }
}

void note_access(const StreamCore& stream, const Access& access, const char* label, SourceLocation where,
                 ReplayMark* mark) {
  AccessHistory& history = access.buffer->history();
  const std::int64_t origin = access.buffer->history_origin();
  const std::int64_t begin = access.begin + origin;
  const std::int64_t end = access.end + origin;
  const auto is_replaced = [&](const AccessRecord& record) {
    if (record.begin < begin || end < record.end) return false;
    if (record.mark != mark && record.mark != nullptr) return false;  // moves on with each replay
    if (access.mode == AccessMode::write) return true;
    return record.mode == AccessMode::read && record.mark == mark &&
           (mark != nullptr || record.point.slot == stream.slot);
  };
  // The first record that goes makes room for the new one; usually it is the only one that goes.
  AccessRecord* place = nullptr;
  bool are_more_replaced = false;
  for (int i = 0; i < history.size() && !are_more_replaced; ++i) {
    AccessRecord& record = history[i];
    if (!is_replaced(record)) continue;
    are_more_replaced = place != nullptr;
    if (place == nullptr) place = &record;
  }
  if (are_more_replaced) {
    history.drop_if([&](const AccessRecord& record) { return &record != place && is_replaced(record); });
  }
  if (place == nullptr) place = &history.add();
  *place = {.point = {stream.slot, stream.position},
            .mark = mark,
            .begin = begin,
            .end = end,
            .mode = access.mode,
            .label = label,
            .where = where};
}

}  // namespace

void refuse_hazards(StreamCore& stream, std::span<const Access> accesses, const char* label, SourceLocation where) {
  for (const Access& access : accesses) {
    AccessHistory& history = access.buffer->history();
    for (int i = 0; i < history.size(); ++i) {
      const AccessRecord& record = history[i];
      if (!conflicts(record, access) || record.label == allocate_label) continue;
      if (is_ordered(stream, record.at()) || stream.in_part.covers(record.at())) continue;
      throw Error(Errc::illegal_state, label, stream.str(),
                  "touches memory that " + describe(record.label, record.where) +
                      " touches on another stream, and nothing orders the two; let this stream wait_event or "
                      "wait_stream for that work, or use Hazards::add",
                  where);
    }
  }
}

void order_before(StreamCore& stream, std::span<const Access> accesses, const char* label, SourceLocation where,
                  bool report, const ReplayMark* mark) {
  if (report && hazards() == Hazards::error) refuse_hazards(stream, accesses, label, where);
  for (const Access& access : accesses) {
    AccessHistory& history = access.buffer->history();
    if (access.buffer->is_foreign()) shorten(history);
    history.reserve(static_cast<int>(accesses.size()));
    order_access(stream, access, label, where, report, mark);
  }
}

void note_after(const StreamCore& stream, std::span<const Access> accesses, const char* label, SourceLocation where,
                ReplayMark* mark) noexcept {
  for (const Access& access : accesses) note_access(stream, access, label, where, mark);
}

}  // namespace runtime
}  // namespace refrain
