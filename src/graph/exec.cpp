#include "graph/exec.hpp"

#include "graph/passes/passes.hpp"
#include "graph/planner.hpp"
#include "graph/recording.hpp"
#include "graph/stepwise.hpp"
#include "runtime/debugging.hpp"
#include "runtime/event_core.hpp"
#include "runtime/findings.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/generator.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <optional>

namespace refrain::graph {

using runtime::Access;
using runtime::AccessMode;
using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

std::shared_ptr<Exec> Exec::make(const std::shared_ptr<Program>& program, InstantiateOptions options,
                                 SourceLocation where) {
  std::shared_ptr<Exec> exec = runtime::own(new Exec(program, options));
  Planner planner(program, program->mark, where);
  std::vector<Diagnostic> diagnostics = planner.diagnostics();
  Draft draft{*program, std::move(planner).plan(), std::move(diagnostics)};
  exec->outside_accesses_ = boundary_accesses(*program);
  exec->crosses_kinds_ = std::any_of(exec->outside_accesses_.begin(), exec->outside_accesses_.end(),
                                     [](const Access& access) { return access.buffer->crosses_kinds(); });
  for (const runtime::BufferRef& buffer : program->made) {
    if (is_output(*buffer.get())) exec->outputs_.push_back(buffer.get());
  }
  for (const Access& access : exec->outside_accesses_) {
    if (access.mode == AccessMode::write) exec->outputs_.push_back(access.buffer);
  }
  if (program->live != nullptr) {
    exec->executable_ = program->live;
  } else {
    if (options.optimize == Optimize::all) {
      for (const Pass& pass : passes()) pass.run(draft);
    }
    exec->executable_ = runtime::replays_eagerly() ? make_stepwise(draft.plan)
                                                   : runtime::backend(program->device.kind).lower(draft.plan);
  }
  exec->diagnostics_ = std::move(draft.diagnostics);
  exec->node_count_ = static_cast<int>(draft.plan.commands.size());
  for (const runtime::PlannedCommand& command : draft.plan.commands) {
    exec->edge_count_ += static_cast<int>(command.dependencies.size());
  }
  exec->draws_.resize(program->draw_increments.size());
  return exec;
}

void Exec::replay(StreamCore& stream, SourceLocation where) {
  runtime::refuse_in_callback("replay", where);
  if (stream.device.kind != program_->device.kind) {
    throw Error(Errc::wrong_device, "replay", stream.str(),
                "cannot run " + program_->str() + ", which was captured on " + program_->device.str() +
                    "; replay it on a stream of that kind",
                where);
  }
  bool is_recorded = false;
  {
    std::optional<runtime::Plan> live;  // its memory is given back without the lock
    OrderLock lock(order_mutex());
    if (runtime::recorder_of(stream) == nullptr) {
      crosses_kinds_ ? runtime::settle(lock, stream, outside_accesses_)
                     : runtime::wait_for_calls(lock, stream, outside_accesses_);
    }
    is_recorded = record(stream, lock, live, where);
    if (!is_recorded) issue(stream, where);
  }
  if (!is_recorded && runtime::synchronises_each()) runtime::synchronize_with(stream);
  runtime::log_findings();
  runtime::destroy_retired();
}

bool Exec::record(StreamCore& stream, OrderLock& lock, std::optional<runtime::Plan>& live, SourceLocation where) {
  const auto recording = [&] { return static_cast<Recording*>(runtime::recorder_of(stream)); };
  if (recording() == nullptr) return false;
  if (recording()->is_live()) {
    const auto mark = recording()->mark();
    lock.unlock();  // memory is taken for this occurrence
    live = Planner(program_, mark, where).plan();
    lock.lock();
    if (recording() == nullptr) return false;
  }
  recording()->add_graph(stream, program_, live ? &*live : nullptr, where);
  return true;
}

void Exec::issue(StreamCore& stream, SourceLocation where) {
  runtime::ReplayMark& mark = *program_->mark;
  const bool is_new = mark.touched || mark.point.slot != stream.slot || !prepared_;
  if (is_new) prepare(stream, where);
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    draws_[i] = runtime::generator({stream.device.kind, static_cast<int>(i)});
  }
  runtime::note_submission(stream.device, "replay", where, program_->id);
  const runtime::StreamPoint before{stream.slot, stream.position};
  try {
    executable_->launch(stream, draws_);
  } catch (...) {
    // A part of it may be under way.
    mark.point = {stream.slot, stream.position};
    runtime::note_after(stream, outside_accesses_, "replay", where, &mark);
    mark.touched = true;
    throw;
  }
  mark.point = {stream.slot, stream.position};
  mark.replayed = true;
  if (is_new) {
    runtime::note_after(stream, outside_accesses_, "replay", where, &mark);
    for (Buffer* buffer : outputs_) buffer->set_state(Buffer::State::ready);
    mark.touched = false;
    prepared_ = true;
  }
  for (const auto& event : program_->events) event->note_replay(stream, before, executable_->events_cover_runs());
  if (!draws_.empty() || program_->reseeded) advance_generators();
}

void Exec::prepare(StreamCore& stream, SourceLocation where) {
  for (const Buffer* buffer : program_->reads) {
    if (buffer->state() == Buffer::State::ready) continue;
    throw Error(Errc::illegal_state, "replay", program_->str(),
                "reads an array of another graph" +
                    (buffer->where().line != 0 ? ", made at " + buffer->where().str() : std::string()) +
                    ", that has no values yet; replay that graph first",
                where);
  }
  runtime::ReplayMark& mark = *program_->mark;
  if (mark.replayed) runtime::wait_for(stream, mark.point);
  for (const Stream& waits : program_->outside_waits) {
    const StreamCore& outside = waits.core();
    runtime::wait_for(stream, {outside.slot, outside.position});
    runtime::come_after(stream, outside.clock);
  }
  runtime::order_before(stream, outside_accesses_, "replay", where, true, &mark);
}

void Exec::advance_generators() {
  if (program_->reseeded) runtime::seed_generators(*program_->reseeded);
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    runtime::generator({program_->device.kind, static_cast<int>(i)}).offset += program_->draw_increments[i];
  }
}

}  // namespace refrain::graph
