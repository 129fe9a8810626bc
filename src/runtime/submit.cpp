#include "runtime/submit.hpp"

#include "runtime/buffer.hpp"
#include "runtime/debugging.hpp"
#include "runtime/findings.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/error.hpp>
#include <refrain/memory.hpp>

#include <array>
#include <vector>

namespace refrain::runtime {

const char* kind_name(const Payload& payload) noexcept {
  struct Name {
    const char* operator()(const EmptyCommand&) const noexcept { return "empty"; }
    const char* operator()(const ElementwiseCommand&) const noexcept { return "elementwise"; }
    const char* operator()(const ReduceCommand&) const noexcept { return "reduce"; }
    const char* operator()(const MatmulCommand&) const noexcept { return "matmul"; }
    const char* operator()(const FusedCommand&) const noexcept { return "fused"; }
    const char* operator()(const MoveCommand&) const noexcept { return "move"; }
    const char* operator()(const RandomCommand&) const noexcept { return "random"; }
    const char* operator()(const UploadCommand&) const noexcept { return "upload"; }
    const char* operator()(const CopyCommand&) const noexcept { return "copy"; }
    const char* operator()(const KernelCommand&) const noexcept { return "kernel"; }
    const char* operator()(const ForeignCommand&) const noexcept { return "foreign"; }
    const char* operator()(const EventRecordCommand&) const noexcept { return "event_record"; }
    const char* operator()(const EventWaitCommand&) const noexcept { return "event_wait"; }
    const char* operator()(const HostFunctionCommand&) const noexcept { return "host_function"; }
  };
  return std::visit(Name{}, payload);
}

void require_blocks(const StreamCore& stream, const Command& command) {
  for (const Access& access : command.accesses) {
    if (access.buffer->address() != nullptr || access.buffer->size_bytes() == 0) continue;
    throw Error(Errc::illegal_state, command.label, stream.str(),
                "uses an array of a capture that ended meanwhile; end a capture when no thread issues to it",
                command.where);
  }
}

void refuse_write(const Buffer& buffer, const char* call, SourceLocation where) {
  if (!buffer.is_read_only) return;
  throw Error(Errc::not_permitted, call, "an array of read-only memory",
              "may not be written, as the code that gave the memory says; write to a copy of it", where);
}

void refuse_writes(const Command& command) {
  for (const Access& access : command.accesses) {
    if (access.mode == AccessMode::write) refuse_write(*access.buffer, command.label, command.where);
  }
}

namespace {

void run_now(StreamCore& stream, const Command& command) {
  require_blocks(stream, command);
  order_before(stream, command.accesses, command.label, command.where);
  note_submission(stream.device, command.label, command.where);
  std::array<void*, 8> few;
  std::vector<void*> many;
  void** addresses = few.data();
  if (command.accesses.size() > few.size()) {
    many.resize(command.accesses.size());
    addresses = many.data();
  }
  for (std::size_t i = 0; i < command.accesses.size(); ++i) {
    const Access& access = command.accesses[i];
    addresses[i] = access.address(access.buffer->address());
  }
  stream.backend().run(stream, command, addresses);
  note_after(stream, command.accesses, command.label, command.where);
}

}  // namespace

namespace {

/// What submitting has in common: recorded if the stream is, else `run` in issue order; then what waits for a moment
/// without the lock.
template <class Run>
bool issue(StreamCore& stream, const Command& command, Run run) {
  refuse_in_callback(command.label, command.where);
  refuse_writes(command);
  notice_capture(stream, command.label, command.where);
  destroy_retired();
  {
    OrderLock lock(order_mutex());
    settle_before(lock, stream, command.accesses);
    if (Recorder* recorder = recorder_of(stream)) {
      recorder->submit(stream, command);
      return false;
    }
    run();
  }
  if (synchronises_each()) synchronize_with(stream);
  log_findings();
  return true;
}

}  // namespace

bool submit(StreamCore& stream, const Command& command) {
  return issue(stream, command, [&] { run_now(stream, command); });
}

void settle_before(OrderLock& lock, StreamCore& stream, std::span<const Access> accesses) {
  const Recorder* const recorder = idle_recorder_of(lock, stream);
  if (recorder == nullptr) {
    settle(lock, stream, accesses);
  } else if (recorder->is_attached()) {
    settle_outside(lock, accesses);
  }
}

bool may_refuse_order(const StreamCore& stream) noexcept {
  // Of a stream that other code has, `check_order` looks whether that captures it.
  return hazards() == Hazards::error || recorder_of(stream) != nullptr || stream.is_exposed;
}

void check_order(StreamCore& stream, const Command& command) {
  notice_capture(stream, command.label, command.where);
  OrderLock lock(order_mutex());
  if (const Recorder* recorder = recorder_of(stream)) {
    recorder->check_order(stream, command);
  } else if (hazards() == Hazards::error) {
    settle(lock, stream, command.accesses);
    refuse_hazards(stream, command.accesses, command.label, command.where);
  }
}

void submit_draw(StreamCore& stream, Command& command) {
  issue(stream, command, [&] {
    auto& random = std::get<RandomCommand>(command.payload);
    GeneratorPosition& at = random.generator->at;
    random.args.seed = at.seed;
    random.args.offset = at.offset;
    run_now(stream, command);
    at.offset += random.increment;
  });
}

}  // namespace refrain::runtime
