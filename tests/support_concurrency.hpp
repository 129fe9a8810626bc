#pragma once

#include "support.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <iosfwd>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

// Work that cannot go on until a test says so, and calls that may not wait for each other.

namespace refrain::test {

/// Holds a stream back: what is issued to it from now on runs once the gate is open. It opens by itself after 20 s, so
/// that a call which waits for the stream fails its test and does not hang it.
class Gate {
 public:
  explicit Gate(const Stream& stream);
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Opens it; whether it had held until now.
  bool open();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// True once `condition` holds. Synchronises the device and asks again, on another thread, for 10 s at most: what
/// functions of the user's held is let go of behind the program's back.
bool eventually(const std::function<bool()>& condition, SourceLocation where = SourceLocation::current());

/// Does a little of everything on streams of its own (memory, ops, events, functions, a capture, a replay, drops); true
/// if the numbers are right. With `waits` off nothing is waited for and no number is read.
bool use_everything(bool waits = true);

/// Whether 20 s were enough. If not, says where, and ends the process: somebody waits under a lock that others need,
/// and nothing could go on.
void require_in_time(bool is_ready, SourceLocation where);

/// Runs `fn` on another thread; its result or exception is handed back. See require_in_time.
template <class Fn>
auto without_deadlock(Fn&& fn, SourceLocation where = SourceLocation::current()) {
  std::packaged_task<std::invoke_result_t<Fn&>()> task(std::forward<Fn>(fn));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  require_in_time(result.wait_for(std::chrono::seconds(20)) == std::future_status::ready, where);
  thread.join();
  return result.get();
}

/// Every kind of capture.
struct CaptureKind {
  bool by_stream;
  bool live;
};
inline constexpr CaptureKind capture_kinds[] = {{false, false}, {false, true}, {true, false}, {true, true}};
std::ostream& operator<<(std::ostream& out, CaptureKind kind);

/// A capture of this kind, with `origin` as its origin if that is by stream.
template <class Body>
auto capture_as(CaptureKind kind, const Stream& origin, Body&& body) {
  return kind.by_stream ? capture(origin, body, {.live = kind.live}) : capture(body, {.live = kind.live});
}

/// Captures a program with numbers that follow from `first`, in place and on a forked stream, and replays it; true if
/// all of them are right.
bool capture_and_replay(CaptureKind kind, int first);

/// Calls `fn(i)` on threads 0 to count - 1 at once; true if all of them said so.
bool on_threads(int count, const std::function<bool(int)>& fn);

}  // namespace refrain::test
