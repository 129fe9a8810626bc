#include "graph/arena.hpp"

#include "runtime/ledger.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <algorithm>
#include <array>

namespace refrain::graph {

using runtime::order_mutex;
using runtime::OrderLock;
using runtime::StreamCore;

Arena::~Arena() {
  const OrderLock lock(order_mutex());
  for (const Block& block : blocks_) {
    if (block.address == nullptr) continue;
    const std::array users{block.allocated, mark_->point};
    runtime::give_memory(block.device, block.address, block.size_bytes, users);
  }
}

std::int64_t Arena::reserve(Device device, std::int64_t bytes, std::int64_t at) {
  auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.device == device; });
  if (block == blocks_.end()) block = blocks_.insert(blocks_.end(), {device, 0, nullptr, {}});
  const std::int64_t offset = at >= 0 ? at : block->size_bytes;
  const std::int64_t end = offset + (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
  block->size_bytes = std::max(block->size_bytes, end);
  return offset;
}

void Arena::allocate(SourceLocation where) {
  for (Block& block : blocks_) {
    if (block.size_bytes == 0) continue;
    StreamCore& service = runtime::service_stream(block.device);
    const OrderLock lock(order_mutex());
    block.address = runtime::take_memory(service, block.size_bytes, where);
    block.allocated = {service.slot, service.position};
  }
  // The first replay may be on any stream, and launched by foreign code: the blocks are there from now on.
  for (const Block& block : blocks_) runtime::synchronize_with(runtime::service_stream(block.device));
}

void* Arena::address(Device device, std::int64_t offset) const {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.device == device; });
  return static_cast<std::byte*>(block->address) + offset;
}

}  // namespace refrain::graph
