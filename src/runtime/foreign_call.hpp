#pragma once

#include "runtime/command.hpp"
#include "runtime/order.hpp"

#include <refrain/enqueue.hpp>

#include <memory>
#include <span>

namespace refrain::runtime {

class Recorder;
class StreamCore;

/// A function of the user's with its addresses: puts work on a native stream.
struct ForeignCall {
  const refrain::detail::StreamFunction& function;
  void* const* addresses;

  void operator()(cudaStream_t native) const { function(native, addresses); }
};

/// Such a call is under way until the end of the scope, without the order lock: nobody else's command that conflicts
/// with it, or goes to its stream, is issued meanwhile, so that it is one command for all. Made and destroyed with the
/// order lock held.
class CallUnderWay {
 public:
  /// `recorder`: the live capture that it is a part of, or null.
  CallUnderWay(const StreamCore& stream, std::span<const Access> accesses, const Recorder* recorder);
  ~CallUnderWay();
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;

 private:
  friend struct CallsUnderWay;
  const StreamCore& stream_;
  std::span<const Access> accesses_;
  const Recorder* recorder_;
};

/// Waits for such calls that use the stream or conflict with the accesses. With the order lock held, which is given up
/// while waiting.
void wait_for_calls(OrderLock& lock, const StreamCore& stream, std::span<const Access> accesses);
/// Whether such a call puts work on the stream. With the order lock held.
bool has_call_under_way(const StreamCore& stream) noexcept;
/// Waits for such calls into a live capture.
void wait_for_calls(OrderLock& lock, const Recorder& recorder);
/// Who records the stream, once no such call into that capture is under way: its commands come one after another.
Recorder* idle_recorder_of(OrderLock& lock, const StreamCore& stream);

/// Calls the function in issue order, or lets the capture that records the stream take what it does.
/// @throws what the function throws; Error, as Stream::enqueue
void submit_call(StreamCore& stream, const Command& command, const refrain::detail::StreamFunction& function);

}  // namespace refrain::runtime
