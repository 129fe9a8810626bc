#include "runtime/foreign_call.hpp"

#include "runtime/buffer.hpp"
#include "runtime/debugging.hpp"
#include "runtime/findings.hpp"
#include "runtime/host_function.hpp"
#include "runtime/recorder.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <utility>
#include <vector>

namespace refrain::runtime {

/// Guarded by the order lock.
struct CallsUnderWay {
  std::vector<const CallUnderWay*> calls;
  std::condition_variable one_is_over;

  static CallsUnderWay& get() {
    static CallsUnderWay& all = *new CallsUnderWay;
    return all;
  }

  static bool excludes(const CallUnderWay& call, const StreamCore& stream, std::span<const Access> accesses) {
    if (&call.stream_ == &stream) return true;
    return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return std::any_of(call.accesses_.begin(), call.accesses_.end(),
                         [&](const Access& other) { return conflict(access, other); });
    });
  }
  static bool is_part_of(const CallUnderWay& call, const Recorder& recorder) { return call.recorder_ == &recorder; }

  template <class Predicate>
  void wait(OrderLock& lock, Predicate concerns) {
    const auto is_free = [&] {
      return std::none_of(calls.begin(), calls.end(), [&](const CallUnderWay* call) { return concerns(*call); });
    };
    one_is_over.wait(lock, is_free);
  }
};

CallUnderWay::CallUnderWay(const StreamCore& stream, std::span<const Access> accesses, const Recorder* recorder)
    : stream_(stream), accesses_(accesses), recorder_(recorder) {
  CallsUnderWay::get().calls.push_back(this);
}

CallUnderWay::~CallUnderWay() {
  std::erase(CallsUnderWay::get().calls, this);
  CallsUnderWay::get().one_is_over.notify_all();
}

void wait_for_calls(OrderLock& lock, const StreamCore& stream, std::span<const Access> accesses) {
  CallsUnderWay& all = CallsUnderWay::get();
  if (all.calls.empty()) return;  // nearly always
  all.wait(lock, [&](const CallUnderWay& call) { return CallsUnderWay::excludes(call, stream, accesses); });
}

bool has_call_under_way(const StreamCore& stream) noexcept {
  const auto& calls = CallsUnderWay::get().calls;
  return std::any_of(calls.begin(), calls.end(),
                     [&](const CallUnderWay* call) { return CallsUnderWay::excludes(*call, stream, {}); });
}

void wait_for_calls(OrderLock& lock, const Recorder& recorder) {
  CallsUnderWay& all = CallsUnderWay::get();
  if (all.calls.empty()) return;
  all.wait(lock, [&](const CallUnderWay& call) { return CallsUnderWay::is_part_of(call, recorder); });
}

Recorder* idle_recorder_of(OrderLock& lock, const StreamCore& stream) {
  Recorder* recorder = recorder_of(stream);
  while (recorder != nullptr) {
    wait_for_calls(lock, *recorder);
    if (recorder_of(stream) == recorder) break;  // else it is over
    recorder = recorder_of(stream);
  }
  return recorder;
}

namespace {

/// What the function is called with, kept until the command is over.
class Addresses {
 public:
  explicit Addresses(const Command& command) {
    for (const Access& access : command.accesses) held_.emplace_back(access.buffer);
  }
  /// Once all have blocks.
  void* const* get(const Command& command) {
    for (const Access& access : command.accesses) addresses_.push_back(access.address(access.buffer->address()));
    return addresses_.data();
  }

 private:
  std::vector<BufferRef> held_;
  std::vector<void*> addresses_;
};

/// With the order lock held, which is given up for the call.
void call_now(OrderLock& lock, StreamCore& stream, const Command& command, const ForeignCall& call) {
  order_before(stream, command.accesses, command.label, command.where);
  note_submission(stream.device, command.label, command.where);
  std::exception_ptr failure;
  {
    const CallUnderWay under_way(stream, command.accesses, nullptr);
    lock.unlock();
    try {
      const EnqueuedScope scope;
      stream.backend().call(stream, command, call);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
  }
  // A part of its work may be under way even where it failed.
  ++stream.position;
  for (const Access& access : command.accesses) {
    access.buffer->history().reserve(static_cast<int>(command.accesses.size()));
  }
  note_after(stream, command.accesses, command.label, command.where);
  if (failure != nullptr) std::rethrow_exception(failure);
}

/// Takes what the function does on a stream of its own as a command of the capture. The lock is given up for the call.
void record_call(OrderLock& lock, Recorder& recorder, StreamCore& stream, const Command& command, Addresses& addresses,
                 const refrain::detail::StreamFunction& function) {
  recorder.check_order(stream, command);
  const bool is_pinned_now = recorder.pin(command);
  const ForeignCall call{function, addresses.get(command)};
  lock.unlock();
  if (is_pinned_now) synchronize_with(service_stream(stream.device));
  std::shared_ptr<ForeignWork> work;
  {
    const EnqueuedScope scope;
    work = stream.backend().capture_call(stream, command, call);
  }
  lock.lock();
  if (recorder_of(stream) != &recorder) {
    throw Error(Errc::illegal_state, command.label, stream.str(),
                "the capture ended while the function was called; end a capture when no thread issues to it",
                command.where);
  }
  Command recorded = command;
  recorded.payload = ForeignCommand{std::move(work)};
  recorder.submit(stream, recorded);
}

}  // namespace

void submit_call(StreamCore& stream, const Command& command, const refrain::detail::StreamFunction& function) {
  refuse_in_callback(command.label, command.where);
  refuse_writes(command);
  notice_capture(stream, command.label, command.where);
  destroy_retired();
  const std::shared_ptr<StreamCore> held = stream.shared_from_this();
  Addresses addresses(command);
  bool was_run = false;
  {
    OrderLock lock(order_mutex());
    settle_before(lock, stream, command.accesses);
    Recorder* const recorder = recorder_of(stream);
    if (recorder == nullptr) {
      require_blocks(stream, command);
      call_now(lock, stream, command, {function, addresses.get(command)});
      was_run = true;
    } else if (recorder->is_live()) {
      recorder->pin(command);
      recorder->call_live(lock, stream, command, {function, addresses.get(command)});
    } else {
      record_call(lock, *recorder, stream, command, addresses, function);
    }
  }
  if (was_run && synchronises_each()) synchronize_with(stream);
  log_findings();
}

}  // namespace refrain::runtime
