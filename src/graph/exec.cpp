#include "graph/exec.hpp"

#include "graph/dot.hpp"
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
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace refrain::graph {

using runtime::Access;
using runtime::AccessMode;
using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

Exec::State Exec::plan(const std::shared_ptr<Program>& program, InstantiateOptions options, SourceLocation where,
                       const std::shared_ptr<runtime::ReplayMark>& mark, std::shared_ptr<ArenaRoom> room,
                       Bindings bindings, std::span<Buffer* const> names) {
  State state;
  Planner planner(program, std::move(room), names);
  Draft& draft = planner.draft();
  draft.math = options.math;
  if (program->live == nullptr && options.optimize == Optimize::all) {
    for (const Pass& pass : passes()) {
      if (options.passes.*pass.is_on) pass.run(draft);
    }
  }
  state.program = program;
  state.mark = mark;
  state.bindings = std::move(bindings);
  state.diagnostics = std::move(draft.diagnostics);
  state.folded = std::move(draft.folded);
  state.arena_use = graph::arena_use(draft);
  state.plan = std::move(planner).plan(where);
  state.draws.resize(program->generators.size());
  for (runtime::PlannedCommand& planned : state.plan.commands) {
    for (std::size_t i = 0; i < planned.addresses.size(); ++i) {
      const Access& access = planned.command->accesses[i];
      if (!state.bindings.contains(access.buffer)) continue;
      const Access now = bound(state, access);
      planned.addresses[i] = now.address(now.buffer->address());
    }
  }
  for (Buffer* const name : names) state.passed.push_back({name, nullptr, {}, {}});
  find_boundary(state);
  return state;
}

std::shared_ptr<Exec> Exec::make(const std::shared_ptr<Program>& program, InstantiateOptions options,
                                 SourceLocation where) {
  std::shared_ptr<ArenaRoom> pool = options.arena_pool != nullptr ? options.arena_pool->room() : nullptr;
  const std::shared_ptr<ArenaRoom> room = pool != nullptr ? pool : program->room;
  std::shared_ptr<Exec> exec = runtime::own(new Exec(options, std::move(pool)));
  exec->state_ = plan(program, options, where, program->mark, room, {});
  exec->state_.executable = program->live != nullptr ? program->live : lower(exec->state_.plan);
  return exec;
}

std::shared_ptr<runtime::Executable> Exec::lower(const runtime::Plan& plan) {
  return runtime::replays_eagerly() ? make_stepwise(plan) : runtime::backend(plan.device.kind).lower(plan);
}

Exec::Exec(InstantiateOptions options, std::shared_ptr<ArenaRoom> pool)
    : options_{options.optimize, options.passes, options.math, nullptr}, pool_(std::move(pool)) {}

Exec::~Exec() {
  {
    const OrderLock lock(order_mutex());
    leave_all(state_);
  }
  keep_foreign_work(state_);
}

namespace {

/// Foreign work whose runs may be under way: asked for whenever retired things are let go.
struct LeftWork {
  std::vector<std::shared_ptr<const void>> work;
  runtime::StreamPoint newest_run;

  static void let_go(std::unique_ptr<LeftWork> left) noexcept {
    try {
      if (runtime::is_done(left->newest_run)) return;
      runtime::retire(
          std::shared_ptr<LeftWork>(left.release(), [](LeftWork* later) { let_go(std::unique_ptr<LeftWork>(later)); }));
    } catch (...) {
      // A lost device runs nothing any more.
    }
  }
};

}  // namespace

void Exec::keep_foreign_work(const State& state) noexcept {
  auto left = std::make_unique<LeftWork>();
  for (const runtime::PlannedCommand& planned : state.plan.commands) {
    const auto* foreign = std::get_if<runtime::ForeignCommand>(&planned.command->payload);
    if (foreign != nullptr) left->work.push_back(foreign->work);
  }
  if (left->work.empty()) return;
  {
    const OrderLock lock(order_mutex());  // other executables of the graph may run
    if (!state.mark->replayed) return;
    left->newest_run = state.mark->point;
  }
  LeftWork::let_go(std::move(left));
}

int Exec::edge_count() const noexcept {
  int edges = 0;
  for (const runtime::PlannedCommand& command : state_.plan.commands) {
    edges += static_cast<int>(command.dependencies.size());
  }
  return edges;
}

ArenaUse Exec::arena_use() const {
  const OrderLock lock(order_mutex());
  return state_.arena_use;
}

std::string Exec::to_dot() const {
  const OrderLock lock(order_mutex());
  return graph::to_dot(state_.plan, state_.program->str());
}

Access Exec::bound(const State& state, const Access& access) {
  const auto binding = state.bindings.find(access.buffer);
  if (binding == state.bindings.end()) return access;
  const std::int64_t offset = binding->second.offset;
  Access bound = access;
  bound.buffer = binding->second.buffer.get();
  bound.begin += offset;
  bound.end += offset;
  return bound;
}

void Exec::find_boundary(State& state) {
  const Program& program = *state.program;
  const auto passed = [&](const Buffer* buffer) {
    return std::find_if(state.passed.begin(), state.passed.end(),
                        [&](const Passed& each) { return each.name == buffer; });
  };
  state.outside.clear();
  for (const Access& access : boundary_accesses(program)) {
    const auto by_call = passed(access.buffer);
    if (by_call != state.passed.end()) {
      by_call->accesses.push_back(access);
    } else {
      state.outside.push_back(bound(state, access));
    }
  }
  state.crosses_kinds = std::any_of(state.outside.begin(), state.outside.end(),
                                    [](const Access& access) { return access.buffer->crosses_kinds(); });
  state.outputs.clear();
  const auto add = [&](Buffer* buffer) {
    const auto binding = state.bindings.find(buffer);
    state.outputs.push_back(binding == state.bindings.end() ? buffer : binding->second.buffer.get());
  };
  for (const runtime::BufferRef& buffer : program.made) {
    if (is_output(*buffer.get()) && passed(buffer.get()) == state.passed.end()) add(buffer.get());
  }
  for (const Access& access : state.outside) {
    if (access.mode == AccessMode::write) state.outputs.push_back(access.buffer);
  }
}

void Exec::replay(StreamCore& stream, std::span<const PassedBlock> blocks, std::span<const PassedValue> values,
                  SourceLocation where) {
  runtime::refuse_in_callback("replay", where);
  runtime::notice_capture(stream, "replay", where);
  bool is_recorded = false;
  {
    std::optional<runtime::Plan> live;  // its memory is given back without the lock
    OrderLock lock(order_mutex());
    const Program& program = *state_.program;
    if (stream.device.kind != program.device.kind) {
      throw Error(Errc::wrong_device, "replay", stream.str(),
                  "cannot run " + program.str() + ", which was captured on " + program.device.str() +
                      "; replay it on a stream of that kind",
                  where);
    }
    if (!state_.passed.empty() || !values.empty()) pass(stream, blocks, values, where);
    const bool settles = state_.crosses_kinds || runtime::recorder_of(stream) != nullptr ||
                         std::any_of(blocks.begin(), blocks.end(),
                                     [](const PassedBlock& block) { return block.buffer->crosses_kinds(); });
    for (const std::vector<Access>* accesses : {&state_.passing, &state_.outside}) {
      // With none at all it still waits for its stream.
      if (accesses->empty() && (accesses == &state_.passing || !state_.passing.empty())) continue;
      if (settles) {
        runtime::settle_before(lock, stream, *accesses);
      } else {
        runtime::wait_for_calls(lock, stream, *accesses);
      }
    }
    is_recorded = runtime::recorder_of(stream) != nullptr && record(stream, lock, live, where);
    if (!is_recorded) issue(stream, where);
  }
  if (!is_recorded && runtime::synchronises_each()) runtime::synchronize_with(stream);
  runtime::log_findings();
  runtime::destroy_retired();
}

bool Exec::record(StreamCore& stream, OrderLock& lock, std::optional<runtime::Plan>& live, SourceLocation where) {
  const auto recording = [&] { return static_cast<Recording*>(runtime::recorder_of(stream)); };
  if (recording()->is_live() && !state_.program->is_foreign) {
    const auto mark = recording()->mark();
    const std::shared_ptr<Program> program = state_.program;
    lock.unlock();  // memory is taken for this occurrence
    live = Planner(program, std::make_shared<ArenaRoom>(mark)).plan(where);
    lock.lock();
  }
  if (runtime::idle_recorder_of(lock, stream) == nullptr) return false;
  recording()->add_graph(stream, state_.program, live ? &*live : nullptr, where);
  return true;
}

void Exec::issue(StreamCore& stream, SourceLocation where) {
  runtime::ReplayMark& mark = *state_.mark;
  const Program& program = *state_.program;
  const bool is_new = mark.point.slot != stream.slot || state_.prepared_at != mark.generation;
  if (is_new) prepare(stream, where);
  if (!state_.passing.empty()) runtime::order_before(stream, state_.passing, "replay", where, true, &mark);
  if (pool_ != nullptr) pool_->enter(stream, state_.mark);
  for (std::size_t i = 0; i < state_.draws.size(); ++i) {
    state_.draws[i] = program.generators[i].generator->at;
  }
  runtime::note_submission(stream.device, "replay", where, program.id);
  const runtime::StreamPoint before{stream.slot, stream.position};
  try {
    state_.executable->launch(stream, state_.draws);
  } catch (...) {
    // A part of it may be under way.
    mark.point = {stream.slot, stream.position};
    if (pool_ != nullptr) pool_->leave(state_.mark, mark.point);
    runtime::note_after(stream, state_.outside, "replay", where, &mark);
    runtime::note_after(stream, state_.passing, "replay", where);
    ++mark.generation;
    throw;
  }
  // Not by the mark, for which the blocks would have to stay.
  if (!state_.passing.empty()) runtime::note_after(stream, state_.passing, "replay", where);
  mark.point = {stream.slot, stream.position};
  if (pool_ != nullptr) pool_->leave(state_.mark, mark.point);
  mark.replayed = true;
  if (is_new) {
    runtime::note_after(stream, state_.outside, "replay", where, &mark);
    for (Buffer* buffer : state_.outputs) buffer->set_state(Buffer::State::ready);
    state_.prepared_at = mark.generation;
  }
  for (const auto& event : program.events) event->note_replay(stream, before, state_.executable->events_cover_runs());
  if (!state_.draws.empty() || program.reseeded) advance_generators();
}

void Exec::prepare(StreamCore& stream, SourceLocation where) {
  for (const Buffer* recorded : state_.program->reads) {
    const auto binding = state_.bindings.find(recorded);
    const Buffer* const buffer = binding == state_.bindings.end() ? recorded : binding->second.buffer.get();
    if (buffer->state() == Buffer::State::ready) continue;
    throw Error(Errc::illegal_state, "replay", state_.program->str(),
                "reads an array of another graph" +
                    (buffer->where().line != 0 ? ", made at " + buffer->where().str() : std::string()) +
                    ", that has no values yet; replay that graph first",
                where);
  }
  if (!state_.bindings.empty()) refuse_shared_elements(where);
  runtime::ReplayMark& mark = *state_.mark;
  if (mark.replayed) runtime::wait_for(stream, mark.point);
  for (const runtime::StreamPoint point : state_.after) runtime::wait_for(stream, point);
  for (const Stream& waits : state_.program->outside_waits) {
    const StreamCore& outside = waits.core();
    runtime::wait_for(stream, {outside.slot, outside.position});
    runtime::come_after(stream, outside.clock);
  }
  runtime::order_before(stream, state_.outside, "replay", where, true, &mark);
}

void Exec::refuse_shared_elements(SourceLocation where) const {
  // The graph's order knows its arrays by the names of the recording.
  const std::vector<Access> recorded = boundary_accesses(*state_.program);
  const auto distance = [](const Access& a, const Access& b) {
    return a.begin + a.buffer->history_origin() - b.begin - b.buffer->history_origin();
  };
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    for (std::size_t k = i + 1; k < recorded.size(); ++k) {
      if (recorded[i].buffer == recorded[k].buffer) continue;
      if (!runtime::conflict(state_.outside[i], state_.outside[k])) continue;
      // They were recorded so: order and copies of what overlaps are right for as long as they lie alike.
      const bool lie_as_recorded = distance(recorded[i], recorded[k]) == distance(state_.outside[i], state_.outside[k]);
      if (lie_as_recorded && runtime::conflict(recorded[i], recorded[k])) continue;
      throw Error(
          Errc::illegal_state, "replay", state_.program->str(),
          "has two arrays bound to the same elements, of which it writes one, and its order takes them for two; "
          "bind another array to one of them",
          where);
    }
  }
}

void Exec::advance_generators() {
  const Program& program = *state_.program;
  if (program.reseeded) runtime::seed_generators(*program.reseeded);
  for (const GeneratorUse& use : program.generators) {
    runtime::GeneratorPosition& at = use.generator->at;
    if (use.at.seed) at = {*use.at.seed, 0};
    at.offset += use.at.offset;
  }
}

}  // namespace refrain::graph
