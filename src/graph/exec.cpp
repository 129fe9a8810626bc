#include "graph/exec.hpp"

#include "graph/passes/passes.hpp"
#include "runtime/event_core.hpp"
#include "runtime/findings.hpp"
#include "runtime/generator.hpp"
#include "runtime/ledger.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <algorithm>

namespace refrain::graph {

using runtime::Access;
using runtime::AccessMode;
using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

namespace {

constexpr std::int64_t arena_alignment = 256;

}  // namespace

Arena::~Arena() {
  const OrderLock lock(order_mutex());
  for (const Block& block : blocks_) {
    if (block.address == nullptr) continue;
    const std::array users{block.allocated, program_->mark.point};
    runtime::give_memory(block.device, block.address, block.size_bytes, users);
  }
}

std::int64_t Arena::reserve(Device device, std::int64_t bytes) {
  auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.device == device; });
  if (block == blocks_.end()) block = blocks_.insert(blocks_.end(), {device, 0, nullptr, {}});
  const std::int64_t offset = block->size_bytes;
  block->size_bytes += (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
  return offset;
}

void Arena::allocate() {
  for (Block& block : blocks_) {
    if (block.size_bytes == 0) continue;
    StreamCore& service = runtime::service_stream(block.device);
    const OrderLock lock(order_mutex());
    block.address = runtime::take_memory(service, block.size_bytes, {});
    block.allocated = {service.slot, service.position};
  }
  // The first replay may be on any stream, and launched by foreign code: the blocks are there from now on.
  for (const Block& block : blocks_) runtime::synchronize_with(runtime::service_stream(block.device));
}

void* Arena::address(Device device, std::int64_t offset) const {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.device == device; });
  return static_cast<std::byte*>(block->address) + offset;
}

std::int64_t Arena::size_bytes() const noexcept {
  std::int64_t total = 0;
  for (const Block& block : blocks_) total += block.size_bytes;
  return total;
}

std::shared_ptr<Exec> Exec::make(const std::shared_ptr<Program>& program, InstantiateOptions options) {
  std::shared_ptr<Exec> exec(new Exec(program, options));
  exec->place_memory();
  Draft draft{*program, exec->plan(), {}};
  if (program->live != nullptr) {
    exec->executable_ = program->live;
  } else {
    if (options.optimize == Optimize::all) {
      for (const Pass& pass : passes()) pass.run(draft);
    }
    exec->executable_ = runtime::backend(program->device.kind).lower(draft.plan);
    std::move(draft.diagnostics.begin(), draft.diagnostics.end(), std::back_inserter(exec->diagnostics_));
  }
  exec->node_count_ = static_cast<int>(draft.plan.commands.size());
  for (const runtime::PlannedCommand& command : draft.plan.commands) {
    exec->edge_count_ += static_cast<int>(command.dependencies.size());
  }
  exec->draws_.resize(program->draw_increments.size());
  return exec;
}

void Exec::place_memory() {
  arena_ = std::make_shared<Arena>(program_);
  std::vector<std::pair<const Buffer*, std::int64_t>> temporaries;
  bool materialized = false;
  const auto own_block = [&](Buffer& buffer) {
    const OrderLock lock(order_mutex());
    if (buffer.address() == nullptr && buffer.size_bytes() > 0) {
      buffer.materialize(runtime::service_stream(buffer.device()));
      materialized = true;
    }
    addresses_.emplace(&buffer, buffer.address());
  };
  for (const runtime::BufferRef& buffer : program_->outside) own_block(*buffer.get());
  for (const runtime::BufferRef& buffer : program_->made) {
    if (buffer->handles() > 0 || buffer->address() != nullptr) {
      own_block(*buffer.get());
      const SourceLocation where = buffer->where();
      diagnostics_.push_back({DiagnosticKind::output_kept,
                              Severity::info,
                              {},
                              std::to_string(buffer->size_bytes()) + " bytes" +
                                  (where.line != 0 ? " made at " + where.str() : "") +
                                  " keep a block of their own: the program's user holds the array"});
    } else {
      temporaries.emplace_back(buffer.get(), arena_->reserve(buffer->device(), buffer->size_bytes()));
    }
  }
  arena_->allocate();
  if (materialized) runtime::synchronize_with(runtime::service_stream(program_->device));
  for (const auto& [buffer, offset] : temporaries) {
    addresses_.emplace(buffer, buffer->size_bytes() == 0 ? nullptr : arena_->address(buffer->device(), offset));
  }
  std::unordered_map<const Buffer*, std::size_t> merged;
  for (const Node& node : program_->nodes) {
    for (const Access& access : node.accesses) {
      if (access.buffer->address() == nullptr) continue;
      const auto [known, is_new] = merged.try_emplace(access.buffer, outside_accesses_.size());
      if (is_new) {
        outside_accesses_.push_back(access);
        continue;
      }
      Access& all = outside_accesses_[known->second];
      all.begin = std::min(all.begin, access.begin);
      all.end = std::max(all.end, access.end);
      if (access.mode == AccessMode::write) all.mode = AccessMode::write;
    }
  }
}

runtime::Plan Exec::plan() {
  struct Memory {
    std::shared_ptr<Program> program;
    std::shared_ptr<Arena> arena;
  };
  runtime::Plan plan;
  plan.device = program_->device;
  plan.draw_increments = program_->draw_increments;
  plan.keep_alive = std::make_shared<Memory>(Memory{program_, arena_});
  for (const LaneInfo& lane : program_->lanes) plan.lanes.push_back({lane.device, lane.priority});
  for (const Node& node : program_->nodes) {
    runtime::PlannedCommand& planned = plan.commands.emplace_back();
    planned.command = &node.command;
    planned.dependencies = node.dependencies;
    planned.lane = node.lane;
    for (const Access& access : node.accesses) planned.addresses.push_back(addresses_.at(access.buffer));
  }
  if (options_.optimize == Optimize::none) plan.steps = program_->steps;
  return plan;
}

void Exec::replay(StreamCore& stream, SourceLocation where) {
  if (stream.device.kind != program_->device.kind) {
    throw Error(Errc::wrong_device, "replay", stream.str(),
                "cannot run " + program_->str() + ", which was captured on " + program_->device.str() +
                    "; replay it on a stream of that kind",
                where);
  }
  {
    const OrderLock lock(order_mutex());
    issue(stream, where);
  }
  runtime::log_findings();
}

void Exec::issue(StreamCore& stream, SourceLocation where) {
  if (runtime::recorder_of(stream) != nullptr) {
    throw Error(Errc::not_supported, "replay", stream.str(),
                "a graph cannot be replayed into a capture yet; call the program itself in the capture", where);
  }
  runtime::ReplayMark& mark = program_->mark;
  if (mark.touched || mark.point.slot != stream.slot || !prepared_) prepare(stream, where);
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    draws_[i] = runtime::generator({stream.device.kind, static_cast<int>(i)});
  }
  executable_->launch(stream, draws_);
  mark.point = {stream.slot, stream.position};
  mark.replayed = true;
  for (const auto& event : program_->events) event->note_record(stream);
  if (!draws_.empty() || program_->reseeded) advance_generators();
}

void Exec::prepare(StreamCore& stream, SourceLocation where) {
  for (const runtime::BufferRef& buffer : program_->outside) {
    if (buffer->state() == Buffer::State::ready) continue;
    throw Error(Errc::illegal_state, "replay", program_->str(),
                "reads an array of another graph" +
                    (buffer->where().line != 0 ? ", made at " + buffer->where().str() : std::string()) +
                    ", that has no values yet; replay that graph first",
                where);
  }
  runtime::ReplayMark& mark = program_->mark;
  if (mark.replayed) runtime::wait_for(stream, mark.point);
  if (program_->outside_waits) {
    const StreamCore& outside = program_->outside_waits->core();
    runtime::wait_for(stream, {outside.slot, outside.position});
    runtime::come_after(stream, outside.clock);
  }
  runtime::order_command(stream, outside_accesses_, "replay", where, true, &mark);
  for (const runtime::BufferRef& buffer : program_->made) {
    if (buffer->address() != nullptr) buffer->set_state(Buffer::State::ready);
  }
  mark.touched = false;
  prepared_ = true;
}

void Exec::advance_generators() {
  if (program_->reseeded) runtime::seed_generators(*program_->reseeded);
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    runtime::generator({program_->device.kind, static_cast<int>(i)}).offset += program_->draw_increments[i];
  }
}

}  // namespace refrain::graph
