#include "graph/arena.hpp"

#include "runtime/ledger.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/graph.hpp>

#include <algorithm>
#include <array>

namespace refrain {

ArenaPool::ArenaPool() : room_(std::make_shared<graph::ArenaRoom>()) {}

namespace graph {

using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

ArenaBlock::ArenaBlock(std::shared_ptr<const ArenaRoom> room, Device device, std::int64_t size_bytes,
                       SourceLocation where)
    : room_(std::move(room)), device_(device), size_bytes_(size_bytes) {
  StreamCore& service = runtime::service_stream(device);
  const OrderLock lock(order_mutex());
  address_ = runtime::take_memory(service, size_bytes, where);
  allocated_ = {service.slot, service.position};
}

ArenaBlock::~ArenaBlock() {
  const OrderLock lock(order_mutex());
  const std::array users{allocated_, room_->newest()};
  runtime::give_memory(device_, address_, size_bytes_, users);
}

std::shared_ptr<const ArenaBlock> ArenaRoom::take(Device device, std::int64_t bytes, SourceLocation where) {
  std::vector<std::shared_ptr<const ArenaBlock>> held;  // not to be the last to let go of one under the mutex
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [](const auto& block) { return block.expired(); });
  std::shared_ptr<const ArenaBlock> best;
  for (const auto& each : blocks_) {
    std::shared_ptr<const ArenaBlock> block = each.lock();
    if (block == nullptr) continue;
    const bool fits = block->device() == device && block->size_bytes() >= bytes;
    if (fits && (best == nullptr || block->size_bytes() < best->size_bytes())) best = block;
    held.push_back(std::move(block));
  }
  if (best == nullptr) {
    best = std::make_shared<const ArenaBlock>(shared_from_this(), device, bytes, where);
    blocks_.push_back(best);
  }
  return best;
}

void ArenaRoom::enter(StreamCore& stream, const std::shared_ptr<runtime::ReplayMark>& mark) const {
  if (newest_mark_ == nullptr || newest_mark_ == mark) return;  // replays with one mark are in order
  runtime::wait_for_memory(stream, newest_);
}

Arena::Part& Arena::part_on(Device device) {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.device == device; });
  return part != parts_.end() ? *part : parts_.emplace_back(Part{device, 0, nullptr});
}

std::int64_t Arena::reserve(Device device, std::int64_t bytes, std::int64_t at) {
  Part& part = part_on(device);
  const std::int64_t offset = at >= 0 ? at : part.size_bytes;
  const std::int64_t end = offset + (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
  part.size_bytes = std::max(part.size_bytes, end);
  return offset;
}

void Arena::allocate(SourceLocation where) {
  for (Part& part : parts_) {
    if (part.size_bytes > 0) part.block = room_->take(part.device, part.size_bytes, where);
  }
  // The first replay may be on any stream, and launched by foreign code: the blocks are there from now on.
  for (const Part& part : parts_) runtime::synchronize_with(runtime::service_stream(part.device));
}

void* Arena::address(Device device, std::int64_t offset) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.device == device; });
  return static_cast<std::byte*>(part->block->address()) + offset;
}

std::int64_t Arena::size_bytes() const noexcept {
  std::int64_t sum = 0;
  for (const Part& part : parts_) sum += part.size_bytes;
  return sum;
}

std::vector<runtime::PlannedArena> Arena::sizes() const {
  std::vector<runtime::PlannedArena> all;
  for (const Part& part : parts_) all.push_back({part.device, part.size_bytes});
  return all;
}

}  // namespace graph
}  // namespace refrain
