#pragma once

#include "runtime/access_history.hpp"
#include "runtime/clock.hpp"
#include "runtime/command.hpp"

#include <refrain/source_location.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace refrain::runtime {

class Buffer;
class StreamCore;

/// Guards what order is made of: positions, clocks, histories, replay marks, generators. Held while a backend
/// enqueues, so that issue order is one order; never while user code runs, and the host waits under it only where a
/// live capture begins or ends, and for a stream that has nothing but allocations.
inline std::mutex& order_mutex() noexcept {
  static constinit std::mutex mutex;
  return mutex;
}
using OrderLock = std::unique_lock<std::mutex>;

/// @throws Error(Errc::illegal_state) when a command with these accesses would need an order that nobody asked for.
/// With
///         the order lock held.
void refuse_hazards(StreamCore& stream, std::span<const Access> accesses, const char* label, SourceLocation where);

/// Orders a command about to be issued on `stream` after every earlier command that conflicts with one of its
/// accesses. Added orders are findings if `report`. `mark`: the command is a replay of the graph that owns the mark.
/// With the order lock held.
/// @throws Error(Errc::illegal_state) under Hazards::error, before anything changed
void order_before(StreamCore& stream, std::span<const Access> accesses, const char* label, SourceLocation where,
                  bool report = true, const ReplayMark* mark = nullptr);
/// Notes the accesses of the command just issued, so that later ones are ordered after it. Cannot fail: `order_before`
/// has made room. With the order lock held.
void note_after(const StreamCore& stream, std::span<const Access> accesses, const char* label, SourceLocation where,
                ReplayMark* mark = nullptr) noexcept;

/// The host has seen everything up to this point done, and so what comes before it.
void host_saw(StreamPoint point, const Clock& before);

/// Whether the two touch the same bytes and one writes them.
bool conflict(const Access& a, const Access& b) noexcept;

/// Whether work was issued on the stream that the host has not seen done. With the order lock held, as the next.
bool has_unseen_issues(const StreamCore& stream);
/// The same, where work of other code's counts too, of which nothing is known.
bool has_unseen_work(const StreamCore& stream);

/// Waits on the host for what a command with these accesses must come after and no device can wait for: work on the
/// other kind of device that conflicts, which is rare and costs a look at each block; and calls of foreign code under
/// way. With the order lock held, which is given up while waiting.
void settle(OrderLock& lock, const StreamCore& stream, std::span<const Access> accesses);

/// Waits on the host for what a command recorded in a capture of other code's must come after and is no part of it:
/// whoever launches that graph waits for nothing. What the capturing stream itself was given before is left to them.
/// With the order lock held, which is given up while waiting.
void settle_outside(OrderLock& lock, std::span<const Access> accesses);

/// The streams that may have work left up to these points, without asking a device. Without the order lock.
std::vector<std::shared_ptr<StreamCore>> busy_streams(std::span<const StreamPoint> points);

/// Whether what was issued up to the point is done. Without the order lock.
bool is_done(StreamPoint point);

/// Waits for `point` unless it is known to come before.
void wait_for(StreamCore& stream, StreamPoint point);
/// The same where nothing but memory is passed on: not noted as an order of the program, which would hide a wait that
/// was forgotten.
void wait_for_memory(StreamCore& stream, StreamPoint point);

}  // namespace refrain::runtime
