// Executables of other graphs, and second ones of the same.

#include "graph/exec.hpp"
#include "runtime/buffer.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>
#include <refrain/launch.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace refrain::graph {

using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;
using runtime::PlannedCommand;

namespace {

bool same_attributes(const runtime::Command& a, const runtime::Command& b) {
  const auto* kernel = std::get_if<runtime::KernelCommand>(&a.payload);
  if (kernel == nullptr) return true;
  const LaunchConfig& x = kernel->get().config();
  const LaunchConfig& y = std::get<runtime::KernelCommand>(b.payload).get().config();
  const bool same_cluster =
      x.cluster.has_value() == y.cluster.has_value() &&
      (!x.cluster || (x.cluster->x == y.cluster->x && x.cluster->y == y.cluster->y && x.cluster->z == y.cluster->z));
  return same_cluster && x.cooperative == y.cooperative && x.priority == y.priority;
}

bool has_memory(const runtime::Command& command) {
  const auto* foreign = std::get_if<runtime::ForeignCommand>(&command.payload);
  return foreign != nullptr && foreign->work != nullptr && foreign->work->has_memory();
}

/// The first command of `b` that is not of the form of that of `a`; empty when all are.
std::string difference(const runtime::Plan& a, const runtime::Plan& b) {
  const std::size_t count = std::min(a.commands.size(), b.commands.size());
  for (std::size_t i = 0; i < count; ++i) {
    const PlannedCommand& x = a.commands[i];
    const PlannedCommand& y = b.commands[i];
    const std::string number = "command " + std::to_string(i) + ", " + place(*y.command) + ", ";
    if (x.command->payload.index() != y.command->payload.index()) {
      return number + "is a " + runtime::kind_name(y.command->payload) + " where " + place(*x.command) + " is a " +
             runtime::kind_name(x.command->payload);
    }
    if (x.command->device != y.command->device) return number + "is on " + y.command->device.str();
    if (x.dependencies != y.dependencies || x.is_programmatic != y.is_programmatic) {
      return number + "waits for other commands";
    }
    if (!same_attributes(*x.command, *y.command)) return number + "has another cluster, cooperation or priority";
    // No device changes such work in place, and preparing an update would use it up.
    if (has_memory(*x.command) || has_memory(*y.command)) return number + "takes memory in stream order";
  }
  if (a.commands.size() == b.commands.size()) return {};
  const auto& longer = a.commands.size() > count ? a : b;
  return "command " + std::to_string(count) + ", " + place(*longer.commands[count].command) +
         ", is in one of them only";
}

/// What foreign work has the addresses of.
std::unordered_set<const Buffer*> pinned_by_foreign_work(const runtime::Plan& plan) {
  std::unordered_set<const Buffer*> pinned;
  for (const PlannedCommand& planned : plan.commands) {
    if (!std::holds_alternative<runtime::ForeignCommand>(planned.command->payload)) continue;
    for (const runtime::Access& access : planned.command->accesses) pinned.insert(access.buffer);
  }
  return pinned;
}

/// A block like that one, of the same array.
runtime::BufferRef block_like(const Buffer& buffer, SourceLocation where) {
  runtime::StreamCore& stream = runtime::service_stream(buffer.device());
  const OrderLock lock(order_mutex());
  runtime::BufferRef block(Buffer::like(buffer, stream, where));
  if (buffer.size_bytes() > 0) block->set_state(Buffer::State::recorded);
  return block;
}

}  // namespace

GraphUpdate Exec::update(const std::shared_ptr<Program>& program, SourceLocation where) {
  State next;
  std::shared_ptr<runtime::PreparedUpdate> prepared;  // in the end what was before: destroyed without the order lock
  const std::lock_guard one(changes_);
  require_changeable("update", where);
  if (program->live != nullptr) {
    throw Error(Errc::not_supported, "update", program->str(),
                "was captured live and has an executable of its own; instantiate it", where);
  }
  if (program->device.kind != state_.program->device.kind) {
    throw Error(Errc::wrong_device, "update", program->str(),
                "was captured on " + program->device.str() + ", and this executable is of " +
                    state_.program->device.str() + "; instantiate it",
                where);
  }
  next = plan(program, options_, where, program->mark, pool_ != nullptr ? pool_ : program->room, {});
  GraphUpdate result{true, difference(state_.plan, next.plan)};
  if (result.difference.empty()) {
    prepared = state_.executable->prepare_update(next.plan);
    const OrderLock lock(order_mutex());
    result.difference = state_.executable->update(prepared);
    if (result.difference.empty()) {
      for (const auto& [command, changed] : state_.changed) {  // CUDA's nodes stay as they are in that
        if (!changed->is_enabled) state_.executable->enable(command, true);
      }
      next.executable = state_.executable;
      take_over(next);
    }
  }
  if (next.executable == nullptr) {
    result.in_place = false;
    next.executable = lower(next.plan);
    const OrderLock lock(order_mutex());
    take_over(next);
  }
  keep_foreign_work(next);  // what was before
  return result;
}

void Exec::take_over(State& next) {
  // What ran before comes before what runs from now on, for they are runs of one executable.
  next.after = state_.after;
  if (next.mark != state_.mark && state_.mark->replayed) next.after.push_back(state_.mark->point);
  leave_all(state_);
  std::swap(state_, next);
}

void Exec::copy_change(std::size_t command, const Changed& changed) {
  Changed& own = own_command(command);
  own.command.payload = changed.command.payload;
  if (changed.call == nullptr) return;
  own.call = changed.call->clone();
  std::get<runtime::KernelCommand>(own.command.payload).owned = own.call;
}

std::shared_ptr<Exec> Exec::clone(SourceLocation where) {
  const std::lock_guard one(changes_);
  require_changeable("clone", where);
  const std::shared_ptr<Program> program = state_.program;
  std::shared_ptr<Exec> copy = runtime::own(new Exec(options_, nullptr));
  const auto pinned = pinned_by_foreign_work(state_.plan);
  Bindings bindings = state_.bindings;
  for (const runtime::BufferRef& buffer : program->made) {
    if (is_output(*buffer.get()) && !pinned.contains(buffer.get())) {
      bindings[buffer.get()] = {block_like(*buffer.get(), where), 0};
    }
  }
  for (const auto& [recorded, binding] : bindings) {
    if (binding.buffer->size_bytes() > 0) runtime::synchronize_with(runtime::service_stream(binding.buffer->device()));
  }
  const auto mark = std::make_shared<runtime::ReplayMark>();
  copy->state_ = plan(program, options_, where, mark, std::make_shared<ArenaRoom>(mark), std::move(bindings));
  for (const auto& [command, changed] : state_.changed) {
    copy->copy_change(command, *changed);
  }
  copy->state_.executable = lower(copy->state_.plan);
  const OrderLock lock(order_mutex());
  for (const auto& [command, changed] : state_.changed) {
    if (changed->is_enabled) continue;
    copy->state_.executable->enable(command, false);
    copy->own_command(command).is_enabled = false;
  }
  return copy;
}

}  // namespace refrain::graph
