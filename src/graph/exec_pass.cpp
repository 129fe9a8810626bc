// Executables whose replays are each passed blocks of memory.

#include "graph/exec.hpp"
#include "runtime/host_function.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <utility>

namespace refrain::graph {

using runtime::Access;
using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;

void Exec::put(State& state, std::span<const PassedBlock> blocks) {
  state.moved.clear();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Passed& passed = state.passed[i];
    std::byte* const address = blocks[i].address();
    if (address == passed.address) continue;
    passed.address = address;
    for (const auto& [command, k] : passed.uses) {
      runtime::PlannedCommand& planned = state.plan.commands[command];
      planned.addresses[k] = planned.command->accesses[k].address(address);
      state.moved.push_back(command);
    }
  }
  std::sort(state.moved.begin(), state.moved.end());
  state.moved.erase(std::unique(state.moved.begin(), state.moved.end()), state.moved.end());
}

std::shared_ptr<Exec> Exec::make_passing(const std::shared_ptr<Program>& program, const InstantiateOptions& options,
                                         std::span<Buffer* const> names, std::span<const PassedBlock> blocks,
                                         SourceLocation where) {
  std::shared_ptr<ArenaRoom> pool = options.arena_pool != nullptr ? options.arena_pool->room() : nullptr;
  const std::shared_ptr<ArenaRoom> room = pool != nullptr ? pool : program->room;
  std::shared_ptr<Exec> exec = runtime::own(new Exec(options, std::move(pool)));
  exec->state_ = plan(program, options, where, program->mark, room, {}, names);
  State& state = exec->state_;
  for (std::size_t i = 0; i < state.plan.commands.size(); ++i) {
    const runtime::Command& command = *state.plan.commands[i].command;
    for (std::size_t k = 0; k < command.accesses.size(); ++k) {
      for (Passed& passed : state.passed) {
        if (passed.name == command.accesses[k].buffer) passed.uses.emplace_back(i, k);
      }
    }
  }
  for (std::size_t i = 0; i < state.passed.size(); ++i) {
    for (const Access& access : state.passed[i].accesses) {
      state.passing.push_back(access);
      state.passing_from.emplace_back(i, access.begin);
    }
  }
  put(state, blocks);
  state.executable = lower(state.plan);
  return exec;
}

std::shared_ptr<Exec> Exec::sibling(std::span<const PassedBlock> blocks, SourceLocation /*where*/) {
  const std::lock_guard one(changes_);
  std::shared_ptr<Exec> copy = runtime::own(new Exec(options_, pool_));
  State& next = copy->state_;
  next.program = state_.program;
  next.mark = state_.mark;
  next.plan = state_.plan;
  next.diagnostics = state_.diagnostics;
  next.folded = state_.folded;
  next.arena_use = state_.arena_use;
  next.outside = state_.outside;
  next.crosses_kinds = state_.crosses_kinds;
  next.outputs = state_.outputs;
  next.draws.resize(state_.draws.size());
  next.passed = state_.passed;
  next.passing = state_.passing;
  next.passing_from = state_.passing_from;
  for (const auto& [command, changed] : state_.changed) {
    next.plan.commands[command].command = changed->recorded;
    copy->copy_change(command, *changed);
  }
  put(next, blocks);
  next.plan.like = state_.executable;
  next.executable = lower(next.plan);
  next.plan.like = nullptr;
  return copy;
}

void Exec::pass(const runtime::StreamCore& stream, std::span<const PassedBlock> blocks,
                std::span<const PassedValue> values, SourceLocation where) {
  if (runtime::recorder_of(stream) != nullptr) {
    throw Error(Errc::capture_merge, "replay", stream.str(),
                "joined a capture while a graph was about to be replayed on it; order the two threads", where);
  }
  for (std::size_t k = 0; k < state_.passing.size(); ++k) {
    const auto [block, begin] = state_.passing_from[k];
    Access& now = state_.passing[k];
    const std::int64_t bytes = now.end - now.begin;
    now.buffer = blocks[block].buffer;
    now.begin = begin + blocks[block].offset;
    now.end = now.begin + bytes;
  }
  const bool has_moved = !has(blocks);
  if (!has_moved && values.empty()) return;
  // All are converted before anything changes.
  for (const PassedValue& each : values) convert(uses_of(*each.parameter), each.value, where);
  std::vector<std::size_t>& changed = state_.changed_now;
  changed.clear();
  for (const PassedValue& each : values) take_value(uses_of(*each.parameter), each.value);
  if (has_moved) put(state_, blocks);
  try {
    for (const std::size_t command : changed) apply(command);
    if (!has_moved) return;
    for (const std::size_t command : state_.moved) {
      if (std::find(changed.begin(), changed.end(), command) != changed.end()) continue;  // which moved it too
      state_.executable->move(command, state_.plan.commands[command]);
    }
  } catch (...) {
    // Which of them have moved nobody knows: all do before the next replay.
    for (Passed& passed : state_.passed) passed.address = nullptr;
    throw;
  }
}

bool Exec::has(std::span<const PassedBlock> blocks) const noexcept {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (state_.passed[i].address != blocks[i].address()) return false;
  }
  return true;
}

namespace {

runtime::StreamPoint newest(const runtime::ReplayMark& mark) {
  const OrderLock lock(order_mutex());
  return mark.replayed ? mark.point : runtime::StreamPoint{};
}

}  // namespace

bool Exec::is_idle() const { return runtime::is_done(newest(*state_.mark)); }

void Exec::synchronize() const {
  const runtime::StreamPoint point = newest(*state_.mark);
  for (const auto& stream : runtime::busy_streams({&point, 1})) stream->backend().synchronize(*stream, point.position);
}

}  // namespace refrain::graph
