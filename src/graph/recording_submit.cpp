#include "graph/planner.hpp"
#include "graph/recording.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>
#include <refrain/launch.hpp>
#include <refrain/memory.hpp>

#include <algorithm>
#include <deque>
#include <functional>

namespace refrain::graph {

using runtime::Access;
using runtime::AccessMode;
using runtime::Buffer;
using runtime::Command;
using runtime::OrderLock;
using runtime::StreamCore;

namespace {

/// Whether the command, the first one to touch the buffer, needs its values: it reads some or leaves some as they are.
bool needs_values(const Node& node, const Buffer& buffer) {
  if (node.child != nullptr) {
    const auto& reads = node.child->reads;
    return std::find(reads.begin(), reads.end(), &buffer) != reads.end();
  }
  return std::any_of(node.accesses.begin(), node.accesses.end(), [&](const Access& access) {
    const bool is_overwritten =
        access.mode == AccessMode::write && !access.has_gaps && access.end - access.begin == buffer.size_bytes();
    return access.buffer == &buffer && !is_overwritten;
  });
}

}  // namespace

Buffer* Recording::allocate(StreamCore& stream, Device device, std::int64_t bytes, SourceLocation where) {
  lane_of(stream, "allocate", where);
  runtime::Backend* const pinned_by = device.kind != stream.device.kind ? &stream.backend() : nullptr;
  Buffer* buffer = Buffer::record(*this, device, pinned_by, bytes, where);
  program_->made.emplace_back(buffer);
  if (live_ != nullptr) materialize(*buffer);
  return buffer;
}

void Recording::materialize(Buffer& buffer) {
  if (!is_attached() || buffer.crosses_kinds() || buffer.address() != nullptr) return buffer.materialize();
  // Whoever launches the graph waits for nothing, so that the block must be there from now on.
  StreamCore& stream = runtime::memory_stream(buffer.device());
  buffer.materialize(stream);
  stream.backend().synchronize(stream, stream.position);
  runtime::host_saw({stream.slot, stream.position}, {});
}

void Recording::check_buffers(const Command& command) const {
  for (const Access& access : command.accesses) {
    const Buffer& buffer = *access.buffer;
    if (buffer.state() == Buffer::State::discarded) {
      throw Error(Errc::illegal_state, command.label, "an array of a discarded capture",
                  "has no values and never will; make it again", command.where);
    }
    if (buffer.recorder() != nullptr && buffer.recorder() != this) {
      throw Error(Errc::capture_merge, command.label, "an array of another open capture",
                  "cannot be used in the " + str() + "; end the other capture first", command.where);
    }
  }
}

std::vector<int> Recording::find_hazards(const StreamCore& stream, const Command& command, LaneClock& clock) const {
  std::vector<int> conflicting;
  for (const Access& access : command.accesses) {
    const auto history = histories_.find(&access.buffer->history());
    if (history == histories_.end()) continue;
    const std::int64_t origin = access.buffer->history_origin();
    for (const RecordedAccess& earlier : history->second.accesses) {
      if (access.begin >= access.end) continue;
      if (earlier.begin >= access.end + origin || access.begin + origin >= earlier.end) continue;
      if (earlier.mode == AccessMode::read && access.mode == AccessMode::read) continue;
      const Node& node = program_->nodes[static_cast<std::size_t>(earlier.node)];
      if (!covers(clock, node.lane, node.position)) conflicting.push_back(earlier.node);
    }
  }
  // The newest first: what comes before it needs no edge of its own.
  std::sort(conflicting.begin(), conflicting.end(), std::greater<>());
  std::vector<int> hazards;
  for (const int id : conflicting) {
    const Node& node = program_->nodes[static_cast<std::size_t>(id)];
    if (covers(clock, node.lane, node.position)) continue;
    if (refrain::hazards() == Hazards::error || (options_.strict && refrain::hazards() == Hazards::add)) {
      throw Error(Errc::illegal_state, command.label, stream.str(),
                  "touches memory that " + place(node.command) +
                      " touches on another stream, and nothing orders the "
                      "two; let this stream wait_event or wait_stream for that work, or use Hazards::add",
                  command.where);
    }
    merge(clock, node.clock);
    hazards.push_back(id);
  }
  return hazards;
}

void Recording::check_order(const StreamCore& stream, const Command& command) const {
  refuse_draws(std::holds_alternative<runtime::RandomCommand>(command.payload), command.label, stream, command.where);
  check_buffers(command);
  check_can_join(stream, command.label, command.where);
  LaneClock clock = clock_of(stream);
  find_hazards(stream, command, clock);
}

LaneClock Recording::clock_of(const StreamCore& stream) const {
  const auto known = lane_numbers_.find(&stream);
  return known == lane_numbers_.end() ? LaneClock() : lanes_[static_cast<std::size_t>(known->second)].frontier.clock;
}

Recording::Added Recording::add_node(StreamCore& stream, const Command& command,
                                     const std::shared_ptr<Program>& child) {
  // Everything that may be refused comes before the stream joins.
  const bool draws = child != nullptr ? !child->generators.empty() || child->reseeded.has_value()
                                      : std::holds_alternative<runtime::RandomCommand>(command.payload);
  refuse_draws(draws, command.label, stream, command.where);
  check_buffers(command);
  check_can_join(stream, command.label, command.where);
  LaneClock clock = clock_of(stream);
  std::vector<int> hazards = find_hazards(stream, command, clock);
  const int lane_number = lane_of(stream, command.label, command.where);
  Lane& lane = lanes_[static_cast<std::size_t>(lane_number)];
  if (lane.is_watched && lane.strayed_after.empty() && lane.core->native().has_strayed()) {
    lane.strayed_after = "before " + place(command);
    if (!lane.frontier.nodes.empty()) {
      const Node& last = program_->nodes[static_cast<std::size_t>(lane.frontier.nodes.back())];
      lane.strayed_after = "after " + place(last.command) + " and " + lane.strayed_after;
    }
  }

  std::shared_ptr<const std::vector<std::byte>> bytes;
  if (const auto* upload = std::get_if<runtime::UploadCommand>(&command.payload)) {
    bytes = std::make_shared<const std::vector<std::byte>>(upload->bytes.begin(), upload->bytes.end());
  }
  std::shared_ptr<const detail::KernelCall> call;
  if (const auto* kernel = std::get_if<runtime::KernelCommand>(&command.payload)) call = kernel->get().clone();
  const int id = static_cast<int>(program_->nodes.size());
  std::vector<int> candidates = lane.frontier.nodes;
  candidates.insert(candidates.end(), hazards.begin(), hazards.end());
  const auto follows = [&](int candidate) {
    const Node& node = program_->nodes[static_cast<std::size_t>(candidate)];
    return std::any_of(candidates.begin(), candidates.end(), [&](int other) {
      return other != candidate &&
             covers(program_->nodes[static_cast<std::size_t>(other)].clock, node.lane, node.position);
    });
  };
  std::vector<int> dependencies;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(dependencies),
               [&](int candidate) { return !follows(candidate); });
  std::sort(dependencies.begin(), dependencies.end());
  pruned_ += static_cast<int>(candidates.size() - dependencies.size());

  if (clock.size() < lanes_.size()) clock.resize(lanes_.size(), 0);
  clock[static_cast<std::size_t>(lane_number)] = lane.length + 1;

  Node& node = program_->nodes.emplace_back();
  for (const Access& access : command.accesses) node.accesses.push_back(own_access(access));
  node.parameters.assign(command.parameters.begin(), command.parameters.end());
  for (const auto& use : node.parameters) node.held_parameters.push_back(use.state->shared_from_this());
  node.command = command;
  node.command.accesses = node.accesses;
  node.command.parameters = node.parameters;
  node.lane = lane_number;
  node.position = ++lane.length;
  node.dependencies = std::move(dependencies);
  node.clock = clock;
  if (child != nullptr) place_child(node, child);
  if (auto* draw = std::get_if<runtime::RandomCommand>(&node.command.payload)) place_draw(*draw);
  if (auto* upload = std::get_if<runtime::UploadCommand>(&node.command.payload)) {
    upload->owned = std::move(bytes);
    upload->bytes = {};
  }
  if (auto* kernel = std::get_if<runtime::KernelCommand>(&node.command.payload)) {
    kernel->owned = std::move(call);
    kernel->call = nullptr;
  }
  for (const int hazard : hazards) {
    if (refrain::hazards() == Hazards::add) {
      note(DiagnosticKind::edge_added, Severity::warning, {hazard, id},
           place(command) + " touches the memory of " +
               place(program_->nodes[static_cast<std::size_t>(hazard)].command) +
               " on another stream and nothing ordered the two; the edge was added");
    }
  }
  lane.frontier = {{id}, std::move(clock)};
  keep(node, id);
  if (!command.is_declared) note_undeclared(node, id);
  return {lane_number, &node, std::move(hazards), id};
}

void Recording::note_undeclared(const Node& node, int id) {
  program_->is_declared = false;
  const bool is_foreign = std::holds_alternative<runtime::ForeignCommand>(node.command.payload) ||
                          std::holds_alternative<runtime::KernelCommand>(node.command.payload);
  if (!is_foreign) return;
  note(DiagnosticKind::foreign_undeclared, Severity::info, {id},
       place(node.command) +
           " does not say what it touches, so it keeps its place among all commands; declare it with read, "
           "write or readwrite");
}

template <class Run>
void Recording::put_live(const Added& added, Run run) {
  if (live_ == nullptr) return;
  try {
    for (const int hazard : added.hazards) live_->depend(added.lane, hazard);
    run();
  } catch (...) {
    if (is_attached()) {
      keep_attached(added);
      throw;
    }
    // CUDA's capture and this one no longer agree.
    given_up_ = give_up(std::string("'") + added.node->command.label + "' failed in it");
    throw;
  }
}

void Recording::submit(StreamCore& stream, const Command& command) {
  const Added added = add_node(stream, command, nullptr);
  put_live(added, [&] { run_live(added, nullptr); });
}

bool Recording::pin(const Command& command) {
  bool is_new = false;
  for (const Access& access : command.accesses) {
    if (stands_for_a_run_ && access.buffer->named() != nullptr) is_new = give_memory(*access.buffer) || is_new;
    if (access.buffer->address() != nullptr || access.buffer->size_bytes() == 0) continue;
    materialize(*access.buffer);
    is_new = true;
  }
  return is_new;
}

void Recording::call_live(OrderLock& lock, StreamCore& stream, const Command& command,
                          const runtime::ForeignCall& call) {
  const Added added = add_node(stream, command, nullptr);
  program_->is_foreign = true;
  put_live(added, [&] {
    const runtime::CallUnderWay under_way(stream, added.node->accesses, this);
    lock.unlock();
    try {
      const runtime::EnqueuedScope scope;
      live_->call(added.lane, command, call);
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
    try {
      live_->run(added.lane, added.id, {});
    } catch (const Error& error) {
      throw Error(error.code(), command.label, stream.str(),
                  std::string("did what no capture allows: it synchronised, allocated otherwise than in stream order "
                              "or used the legacy stream, and ") +
                      (is_attached() ? "the other code's capture is broken; end that"
                                     : "the live capture is over; capture without live to keep the rest of it"),
                  command.where);
    }
  });
}

void Recording::run_live(const Added& added, const runtime::Plan* child) {
  const Node& node = *added.node;
  if (child != nullptr) {
    // One after another on the lane: a valid order, if not the child's own branches.
    program_->kept.push_back(child->keep_alive);
    std::vector<runtime::PlannedCommand> commands = child->commands;
    std::deque<Command> moved;
    for (runtime::PlannedCommand& planned : commands) {
      if (auto draw = moved_draw(*planned.command, node.child_draws)) {
        planned.command = &moved.emplace_back(std::move(*draw));
      }
    }
    live_->run(added.lane, added.id, commands);
    return;
  }
  runtime::PlannedCommand planned;
  planned.command = &node.command;
  pin(node.command);  // an array of a graph that was never made ready has no block
  for (const Access& access : node.accesses) {
    planned.addresses.push_back(access.address(access.buffer->address()));
  }
  live_->run(added.lane, added.id, {&planned, 1});
}

void Recording::add_graph(StreamCore& stream, const std::shared_ptr<Program>& program, const runtime::Plan* live,
                          SourceLocation where) {
  const bool is_elsewhere = std::any_of(program->lanes.begin(), program->lanes.end(),
                                        [&](const LaneInfo& lane) { return lane.device != stream.device; });
  if (is_elsewhere && stream.device.kind == DeviceKind::cuda) {
    throw Error(Errc::not_supported, "replay", stream.str(),
                "a graph with work on another GPU cannot be replayed into a capture yet; call its program there",
                where);
  }
  const std::vector<Access> accesses = boundary_accesses(*program);
  if (program->is_foreign) {
    add_native_graph(stream, program, accesses, where);
    return;
  }
  Command command{stream.device, runtime::EmptyCommand{}, accesses, "graph", where};
  command.is_declared = program->is_declared;
  const Added added = add_node(stream, command, program);
  put_live(added, [&] { run_live(added, live); });
}

void Recording::add_native_graph(StreamCore& stream, const std::shared_ptr<Program>& program,
                                 std::span<const Access> accesses, SourceLocation where) {
  if (!program->generators.empty()) {
    throw Error(Errc::not_supported, "replay", program->str(),
                "has random numbers and work that other code put there, which only CUDA knows, so that its numbers "
                "cannot go on in another graph; capture it without live, with enqueue",
                where);
  }
  Command command{stream.device, runtime::ForeignCommand{}, accesses, "graph", where};
  command.payload = runtime::ForeignCommand{stream.backend().copy_graph(program->live->native_graph(), command)};
  command.is_declared = false;
  submit(stream, command);
  program_->kept.push_back(program);
  program_->events.insert(program_->events.end(), program->events.begin(), program->events.end());
  program_->outside_waits.insert(program_->outside_waits.end(), program->outside_waits.begin(),
                                 program->outside_waits.end());
}

void Recording::place_child(Node& node, const std::shared_ptr<Program>& child) {
  node.child = child;
  place_child_draws(node, *child);
  program_->events.insert(program_->events.end(), child->events.begin(), child->events.end());
  program_->outside_waits.insert(program_->outside_waits.end(), child->outside_waits.begin(),
                                 child->outside_waits.end());
}

Access Recording::own_access(const Access& access) {
  if (!access.buffer->is_foreign()) return access;
  Access own = access;
  // An array with a deleter is kept for its own sake.
  const Buffer* const owner = access.buffer->has_deleter() || access.buffer->is_array ? access.buffer : nullptr;
  const std::tuple key(access.buffer->address(), access.buffer->size_bytes(), owner);
  const auto [known, is_new] = foreign_.try_emplace(key, access.buffer);
  if (is_new) program_->outside.emplace_back(access.buffer);
  own.buffer = known->second.get();
  return own;
}

void Recording::keep(const Node& node, int id) {
  for (const Access& access : node.accesses) {
    auto& [earlier, names] = histories_[&access.buffer->history()];
    const bool is_from_outside = access.buffer->recorder() != this && !access.buffer->is_foreign();
    if (is_from_outside && std::find(names.begin(), names.end(), access.buffer) == names.end()) {
      names.push_back(access.buffer);
      program_->outside.emplace_back(access.buffer);
      if (access.buffer->state() == Buffer::State::recorded) access.buffer->share();
      if (needs_values(node, *access.buffer)) program_->reads.push_back(access.buffer);
    }
    const std::int64_t origin = access.buffer->history_origin();
    const std::int64_t begin = access.begin + origin;
    const std::int64_t end = access.end + origin;
    std::erase_if(earlier, [&](const RecordedAccess& old) {
      const bool covered = begin <= old.begin && old.end <= end;
      if (access.mode == AccessMode::write) return covered;
      return covered && old.mode == AccessMode::read &&
             program_->nodes[static_cast<std::size_t>(old.node)].lane == node.lane;
    });
    earlier.push_back({id, begin, end, access.mode});
  }
}

}  // namespace refrain::graph
