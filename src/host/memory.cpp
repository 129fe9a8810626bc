#include "host/memory.hpp"

#include "host/backend.hpp"

#include <refrain/error.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

namespace refrain::host {

namespace {

constexpr std::size_t alignment = 64;
/// How many blocks of a class are looked at, the newest first: enough for the streams of one program.
constexpr std::size_t most_tries = 16;

struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};

/// Four classes to each power of two, so that at most a fifth of a block is waste.
SizeClass size_class(std::int64_t bytes) {
  const auto wanted = std::max<std::size_t>(static_cast<std::size_t>(bytes), 4 * alignment);
  const int top = std::bit_width(wanted - 1) - 1;  // wanted in (2^top, 2^(top + 1)]
  const std::size_t step = std::size_t{1} << (top - 2);
  const std::size_t quarter = (wanted - 1 - (std::size_t{1} << top)) / step;
  return {static_cast<std::size_t>(top) * 4 + quarter, (std::size_t{1} << top) + (quarter + 1) * step};
}

/// Blocks from this size on are of huge pages where the system has them: a first write to 256 MiB takes half the time.
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t huge_from = 4 * huge_page;

/// Null without memory.
void* allocate_block(std::size_t bytes) noexcept {
  if (bytes < huge_from) return std::aligned_alloc(alignment, bytes);
  void* address = std::aligned_alloc(huge_page, bytes);
  if (address != nullptr) madvise(address, bytes, MADV_HUGEPAGE);  // advice: without such pages there are small ones
  return address;
}

bool is_done(runtime::StreamPoint point) noexcept { return stream_reached(point); }

}  // namespace

bool MemoryPool::FreeBlock::usable_by(runtime::Slot slot) const noexcept {
  const auto fine = [&](runtime::StreamPoint point) { return point.slot == slot || is_done(point); };
  return std::all_of(users.begin(), users.begin() + user_count, fine) &&
         std::all_of(more_users.begin(), more_users.end(), fine);
}

bool MemoryPool::FreeBlock::done() const noexcept {
  return std::all_of(users.begin(), users.begin() + user_count, is_done) &&
         std::all_of(more_users.begin(), more_users.end(), is_done);
}

void* MemoryPool::allocate(runtime::Slot slot, std::int64_t bytes) {
  const SizeClass wanted = size_class(bytes);
  auto& blocks = free_[wanted.index];
  const std::size_t tries = std::min(blocks.size(), most_tries);
  for (std::size_t i = 0; i < tries; ++i) {
    FreeBlock& block = blocks[blocks.size() - 1 - i];
    if (!block.usable_by(slot)) continue;
    void* address = block.address;
    if (i != 0) block = std::move(blocks.back());
    blocks.pop_back();
    return address;
  }
  void* address = allocate_block(wanted.bytes);
  if (address == nullptr) {
    trim(0);
    address = allocate_block(wanted.bytes);
  }
  if (address == nullptr) {
    throw Error(Errc::out_of_memory, "allocate", "host memory",
                "the system has no " + std::to_string(wanted.bytes) + " bytes; drop arrays or graphs");
  }
  reserved_ += static_cast<std::int64_t>(wanted.bytes);
  return address;
}

void MemoryPool::free(void* address, std::int64_t bytes, std::span<const runtime::StreamPoint> users) noexcept {
  FreeBlock block;
  block.address = address;
  block.user_count = static_cast<std::uint32_t>(std::min(users.size(), block.users.size()));
  std::copy_n(users.begin(), block.user_count, block.users.begin());
  block.more_users.assign(users.begin() + block.user_count, users.end());
  free_[size_class(bytes).index].push_back(std::move(block));
}

void MemoryPool::trim(std::int64_t keep_bytes) noexcept {
  for (std::size_t index = class_count; index-- > 0;) {
    const std::size_t bytes = (std::size_t{1} << (index / 4)) + (index % 4 + 1) * ((std::size_t{1} << (index / 4)) / 4);
    std::erase_if(free_[index], [&](const FreeBlock& block) {
      if (reserved_ - static_cast<std::int64_t>(bytes) < keep_bytes || !block.done()) return false;
      std::free(block.address);
      reserved_ -= static_cast<std::int64_t>(bytes);
      return true;
    });
  }
}

}  // namespace refrain::host
